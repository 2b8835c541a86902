// The public surface for HTTP on Node.
export type { ReplyMode } from "../http/server/reply.js";
export type { StoredEvent } from "../http/server/exchange.js";
export type { EventStore } from "../http/server/resumable-stream.js";
export type { HttpRequestHead, Share } from "../http/server/exchange.js";
export {
  DEFAULT_HTTP_LIMITS,
  DEFAULT_PINGS,
  DEFAULT_RATE,
  DEFAULT_SESSION_LIMITS,
  type HttpLimits,
  type PingLimits,
  type RateLimits,
  type SessionLimits,
} from "../http/server/http-limits.js";
export type { Identity } from "./types.js";
export { anonymous, type Authenticate, type Entrance, type HttpAdmission } from "../http/server/http-site.js";
export type { RateOptions } from "../http/server/http-site.js";
export type { HttpRefusal } from "../http/server/reply.js";
export type { HttpAuthorization, RefusedRequest } from "../http/server/http-site.js";
export type { HttpPage, HttpPageReply } from "../http/server/http-site.js";
export type { HttpOptions } from "../http/server/http-endpoint.js";
export {
  type NodeHandler,
  type NodeHandlerOptions,
  toNodeHandler,
  type HttpServing,
  type HttpStats,
  serveHttp,
  type ServeHttpOptions,
} from "../serve/http.js";
export type { HttpTraffic } from "../node/http-listener.js";
export type { NodeRequest, NodeResponse } from "../node/node-exchange.js";
