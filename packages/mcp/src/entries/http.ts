// The public surface for HTTP on Node.
export type { ReplyMode } from "../transport/http/replies.js";
export type { EventStore, StoredEvent } from "../transport/http/resumable-stream.js";
export type { HttpRequestHead } from "../transport/http/exchange.js";
export {
  DEFAULT_HTTP_LIMITS,
  DEFAULT_PINGS,
  DEFAULT_RATE,
  DEFAULT_SESSION_LIMITS,
  type HttpLimits,
  type PingLimits,
  type RateLimits,
  type SessionLimits,
} from "../transport/http/http-limits.js";
export type { Identity } from "../jsonrpc/transport.js";
export { anonymous, type Authenticate, type Entrance, type HttpAdmission } from "../transport/http/http-site.js";
export type { RateOptions } from "../transport/http/rate-gate.js";
export type { HttpRefusal } from "../transport/http/replies.js";
export type { HttpAuthorization, RefusedRequest } from "../serve/http-authorization.js";
export type { HttpPage, HttpPageReply } from "../transport/http/http-site.js";
export type { HttpOptions } from "../serve/http-endpoint.js";
export { type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "../serve/to-node-handler.js";
export type { NodeRequest, NodeResponse } from "../node/node-exchange.js";
export { type HttpServing, type HttpStats, serveHttp, type ServeHttpOptions } from "../serve/http.js";
