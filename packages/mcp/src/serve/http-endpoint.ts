// Puts an HTTP endpoint together from its options, whatever runtime its requests come from.
import { LocalError } from "../jsonrpc/local-error.js";
import type { ServerCore } from "../server/core.js";
import { roleOf, type Server } from "../server/server.js";
import type { Answers } from "../transport/http/alone-carrier.js";
import { type EventStore, MemoryEventStore } from "../transport/http/event-store.js";
import { FrontDoor } from "../transport/http/front-door.js";
import {
  DEFAULT_HTTP_LIMITS,
  DEFAULT_PINGS,
  DEFAULT_SESSION_LIMITS,
  type HttpLimits,
  type PingLimits,
  type SessionLimits,
  withLimits,
} from "../transport/http/http-limits.js";
import { type Authenticate, type HttpRoute, HttpSite } from "../transport/http/http-site.js";
import { type HttpPage, PageRoute } from "../transport/http/page-route.js";
import { Pinger } from "../transport/http/pinger.js";
import { RateGate, type RateOptions } from "../transport/http/rate-gate.js";
import { StreamKeeper } from "../transport/http/stream-keeper.js";
import { StreamableHttp } from "../transport/http/streamable-http.js";
import { Turns } from "../transport/http/turns.js";
import { SseEndpoint, type SseOptions } from "../transport/sse/sse-endpoint.js";
import { type AuthorizationHooks, authorizationHooks, type HttpAuthorization } from "./http-authorization.js";
import { ServerOverHttp } from "./http-service.js";

/** How a server is served over HTTP, on whatever runtime. */
export interface HttpOptions {
  /** The one path of Streamable HTTP. Default `/mcp`. */
  readonly path?: string;
  /** Sessions for revisions up to 2025-11-25: limits, or false to serve every message by itself. Default true. */
  readonly sessions?: boolean | Partial<SessionLimits>;
  /**
   * JSON unless something must be streamed before the answer (`auto`, the default), always JSON, or always a stream.
   * Only what was streamed can be resumed: a client of a session that leaves before anything was sent has no event to
   * name, so an answer in JSON is lost with its connection although its request runs to the end. Choose `sse` where that
   * matters; a tool that takes long can also report progress early, or be a task.
   */
  readonly answers?: Answers;
  /** Exact values of the Host header that are served, port included. */
  readonly allowedHosts?: readonly string[];
  /** Exact origins of web pages that may call, such as `https://app.example.com`; our own may in any case. */
  readonly allowedOrigins?: readonly string[];
  /** What a refusal calls the place to name an origin in, where that is not `allowedOrigins`: an option of the program's own. */
  readonly originOption?: string;
  /** Answers preflights and lets pages of allowed origins read the replies. Default false. */
  readonly cors?: boolean;
  /** The two paths of HTTP+SSE (2024-11-05). Default false; true is `/sse` and `/messages`. */
  readonly sse?: boolean | { readonly path?: string; readonly messages?: string };
  readonly limits?: Partial<HttpLimits>;
  /** Answers 429 to senders of too many requests: by principal, or by address where nobody is known. Default: no limit. */
  readonly rate?: RateOptions;
  /** Pings clients with an open stream, reports who does not answer, and ends the session of who never does. Default false. */
  readonly pings?: boolean | Partial<PingLimits>;
  /**
   * A scheme of one's own: says who is asking. A session belongs to who opened it; handlers find the name in
   * `ctx.principal`, and in `ctx.identity` what else was said.
   */
  readonly authenticate?: Authenticate;
  /** Tokens and scopes, as in the entry `/auth`. Instead of `authenticate`. */
  readonly authorization?: HttpAuthorization;
  /** Where sent events are kept for resumption. Default: in memory, bounded by the session limits. */
  readonly eventStore?: EventStore;
  /** Documents on the same listener by path, such as `/healthz`. */
  readonly pages?: Readonly<Record<string, HttpPage>>;
}

/** What an endpoint has open now. */
export interface HttpLoad {
  readonly sessions: number;
  /** Replies without end: server-sent events. */
  readonly streams: number;
}

export interface HttpEndpoint {
  readonly site: HttpSite;
  readonly limits: HttpLimits;
  load(): HttpLoad;
  /** Refuses what is new, lets what runs finish within the limit `drainMs`, then ends all, the server's tasks too. */
  close(): Promise<void>;
}

/**
 * `hosts` are used where the options name none (undefined: any), `origins` beside those they name. Throws BAD_PATH, BAD_OPTIONS and
 * RangeError.
 */
export function httpEndpoint(
  server: Server,
  options: HttpOptions,
  defaults: { readonly hosts: readonly string[] | undefined; readonly origins: readonly string[] },
): HttpEndpoint {
  const role = roleOf(server);
  const limits = withLimits(DEFAULT_HTTP_LIMITS, options.limits);
  const sessionLimits = withLimits(
    DEFAULT_SESSION_LIMITS,
    typeof options.sessions === "object" ? options.sessions : undefined,
  );
  const { allowedHosts: hosts = defaults.hosts, allowedOrigins = [], originOption } = options;
  const door = new FrontDoor({ hosts, origins: [...defaults.origins, ...allowedOrigins], originOption });
  const keeper = new StreamKeeper(limits);
  const { authenticate, permits } = hooks(options, (error) => role.core.report("error", "onRefused failed", { error }));
  const service = new ServerOverHttp(role, limits);
  const { answers = "auto", eventStore: store = new MemoryEventStore(sessionLimits) } = options;
  const sessions = options.sessions === false ? undefined : { limits: sessionLimits, store, keeper, answers };
  const common = { service, door, keeper, permits, pinger: pingerOf(options, role.core) };
  const streamable = new StreamableHttp({ ...common, answers, sessions });
  const sse = sseOf(options, { ...common, limits: sessionLimits });
  const site = new HttpSite({
    door,
    routes: routes(options, streamable, sse),
    cors: options.cors === true,
    authenticate,
    rate: options.rate && new RateGate(options.rate),
    turns: new Turns(limits.turns),
    onError: (error) => role.core.report("error", "authenticate failed", { error }),
  });
  const close = async (): Promise<void> => {
    site.closing = true;
    const { drainMs } = limits;
    await Promise.all([streamable.close(drainMs), sse?.close(drainMs), service.close(drainMs)]);
    await role.tasks.close();
    await keeper.flush(FLUSH_MS);
  };
  const load = (): HttpLoad => ({ sessions: streamable.sessions + (sse?.sessions ?? 0), streams: keeper.size });
  return { site, limits, load, close };
}

/** Milliseconds readers get to take the last answers before their streams are cut. */
const FLUSH_MS = 2_000;

function hooks({ authenticate, authorization }: HttpOptions, onError: (error: unknown) => void): AuthorizationHooks {
  if (authorization === undefined) return { authenticate, permits: undefined };
  if (authenticate === undefined) return authorizationHooks(authorization, onError);
  throw new LocalError("BAD_OPTIONS", "Give authenticate or authorization, not both: only one can say who is asking");
}

function pingerOf({ pings = false }: HttpOptions, { report }: ServerCore): Pinger | undefined {
  if (pings === false) return undefined;
  const limits = withLimits(DEFAULT_PINGS, pings === true ? {} : pings);
  return new Pinger(limits, (message) => report("warning", message));
}

function sseOf({ sse }: HttpOptions, common: Omit<SseOptions, "path" | "messages">): SseEndpoint | undefined {
  if (sse === undefined || sse === false) return undefined;
  const { path = "/sse", messages = "/messages" } = sse === true ? {} : sse;
  return new SseEndpoint({ ...common, path, messages });
}

function routes(
  { path = "/mcp", pages = {} }: HttpOptions,
  streamable: HttpRoute,
  sse: SseEndpoint | undefined,
): ReadonlyMap<string, HttpRoute> {
  const all: [string, HttpRoute][] = [[path, streamable]];
  for (const [each, page] of Object.entries(pages)) all.push([each, new PageRoute(page)]);
  if (sse !== undefined) all.push([sse.path, sse.stream], [sse.messages, sse.post]);
  for (const [each] of all) {
    if (!/^\/[!-~]*$/.test(each) || /[?#]/.test(each)) {
      throw new LocalError("BAD_PATH", `"${each}" is no path: write it as "/mcp"`);
    }
  }
  if (new Set(all.map(([each]) => each)).size < all.length) {
    throw new LocalError("BAD_PATH", "Streamable HTTP, HTTP+SSE and pages need paths of their own");
  }
  return new Map(all);
}
