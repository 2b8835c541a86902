// The public surface for runtimes that speak fetch.
export type { ReplyMode } from "../http/server/reply.js";
export type { StoredEvent } from "../http/server/exchange.js";
export type { EventStore } from "../http/server/resumable-stream.js";
export type { HttpRequestHead } from "../http/server/exchange.js";
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
export type { HttpOptions } from "../http/server/http-endpoint.js";
export { type FetchContext, type FetchHandler, toFetch } from "../http/server/to-fetch.js";
