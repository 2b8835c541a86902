// Puts an HTTP endpoint together from its options, whatever runtime its requests come from.
import { Later } from "../../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import { withLimits } from "../../jsonrpc/limits.js";
import { type Awaitable, isJsonObject, isThenable, type JsonObject } from "../../jsonrpc/message.js";
import { isSpecifiedMethod } from "../../protocol/revisions/newest.js";
import { type ServerCore, unreachable } from "../../server/core.js";
import { type MembersOf, shownValue, valueFault } from "../../schema/schema.js";
import { coreOf, type LeanServer } from "../../server/lean-server.js";
import { StreamKeeper } from "./event-stream.js";
import type { ClusterMember, HttpExchange } from "./exchange.js";
import {
  DEFAULT_HTTP_LIMITS,
  DEFAULT_PINGS,
  DEFAULT_RATE,
  DEFAULT_SESSION_LIMITS,
  type HttpLimits,
  type PingLimits,
  type SessionLimits,
} from "./http-limits.js";
import {
  type Authenticate,
  FrontDoor,
  type HttpAuthorization,
  type HttpPage,
  type HttpRoute,
  HttpSite,
  type Permits,
  type RateOptions,
  serveLater,
} from "./http-site.js";
import { failRequest, type ReplyMode } from "./reply.js";
import type { Whose } from "./http-session.js";
import type { EventStore } from "./resumable-stream.js";
import { SessionlessRequests } from "./sessionless-requests.js";
import type { SseEndpoint, SseOptions } from "./sse-endpoint.js";
import type { OtherProcesses } from "./guest-sessions.js";
import type { GuardOptions, Rate } from "./guard.js";
import type { Closable } from "./ending.js";
import type { EndpointParts, GuardCode, HandshakeOptions, HandshakeRequests } from "./handshake-requests.js";
import { StreamableHttp } from "./streamable-http.js";

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
  readonly answers?: ReplyMode;
  /** Exact values of the Host header that are served, port included. */
  readonly allowedHosts?: readonly string[];
  /** Exact origins of web pages that may call, such as `https://app.example.com`; our own may in any case. */
  readonly allowedOrigins?: readonly string[];
  /** What a refusal calls the place to name an origin in, where that is not `allowedOrigins`: an option of the program's own. */
  readonly originOption?: string;
  /** What a refusal of a host says to do, where that is not to add it to `allowedHosts`. */
  readonly hostAdvice?: string;
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
  /**
   * Further servers on the same listener by path, such as `/mcp/work`: behind the same door, with sessions of their own. Not for
   * servers that share with other processes.
   */
  readonly servers?: Readonly<Record<string, LeanServer>>;
  /** Documents on the same listener by path, such as `/healthz`. */
  readonly pages?: Readonly<Record<string, HttpPage>>;
}

/** The members of `HttpOptions`. */
export const HTTP_MEMBERS: MembersOf<HttpOptions> = {
  path: "text",
  sessions: ["flag", DEFAULT_SESSION_LIMITS],
  answers: ["=auto", "=json", "=sse"],
  allowedHosts: "texts",
  allowedOrigins: "texts",
  originOption: "text",
  hostAdvice: "text",
  cors: "flag",
  sse: ["flag", { path: "text", messages: "text" }],
  limits: DEFAULT_HTTP_LIMITS,
  rate: { ...DEFAULT_RATE, address: "function" },
  pings: ["flag", DEFAULT_PINGS],
  authenticate: "any",
  authorization: { authenticator: "any", scopes: "any", onRefused: "function" },
  eventStore: "append() after() forget()",
  servers: "object",
  pages: "object",
};

/** What an endpoint has open now. */
export interface HttpLoad {
  readonly sessions: number;
  /** Replies without end: server-sent events. */
  readonly streams: number;
}

export interface HttpEndpoint {
  readonly site: HttpSite;
  readonly limits: HttpLimits;
  readonly core: ServerCore;
  readonly handshake: Later<HandshakeRequests>;
  /** Its open streams. */
  readonly keeper: StreamKeeper;
  readonly open: readonly Holder[];
  /** What serves requests outside of sessions. */
  readonly alone: readonly SessionlessRequests[];
  /**
   * Lets what has begun go on as ever, and has what is new go to other processes, or refuses it where that is `alone`: until nothing
   * runs, no task either, and nobody is waited for, or most of the limit `drainMs` is over; then it ends the tasks that still run.
   * Resolves with the milliseconds it took.
   */
  settle(alone: () => boolean): Promise<number>;
  /**
   * Refuses what is new, lets what runs finish within the limit `drainMs`, less what was spent of it to settle, then ends all, the
   * server's tasks too. `spentMs`: default, it settles before.
   */
  close(spentMs?: number): Promise<void>;
}

interface EndpointDefaults {
  readonly hosts: readonly string[] | undefined;
  readonly origins: readonly string[];
  /** Serves the handshake era: at hand, or loaded for the first request that needs it. */
  readonly parts: EndpointParts;
  /** Where the server may have other processes. */
  readonly processes?: OtherProcesses;
}

/**
 * `hosts` are used where the options name none (undefined: any), `origins` beside those they name. Throws BAD_PATH, BAD_OPTIONS and
 * RangeError.
 */
export function httpEndpoint(
  server: LeanServer,
  options: HttpOptions,
  defaults: EndpointDefaults,
  cluster?: ClusterMember,
): HttpEndpoint {
  const core = coreOf(server);
  if (cluster !== undefined) core.join(cluster);
  const limits = withLimits(DEFAULT_HTTP_LIMITS, options.limits);
  const sessionLimits = sessionLimitsOf(options);
  const { answers = "auto" } = options;
  const door = doorOf(options, defaults);
  const keeper = new StreamKeeper(limits);
  const guards = guardsOf(defaults.parts);
  const permits = permitsOf(options, core, guards);
  const kept = { limits: sessionLimits, own: options.eventStore, store: undefined, keeper, answers };
  const sessions = options.sessions === false ? undefined : kept;
  const sessionless = new SessionlessRequests({ core, limits, keeper, answers });
  const pings = pingsOf(options);
  const { parts, processes } = defaults;
  const common = { core, door, permits, cluster };
  const handshake = laterHandshake(parts, { core, sessionless, pings, cluster, processes, sessions });
  const elsewhere = cluster && processes?.serveWhere(cluster);
  const both = { sessionless, handshake, sessions: sessions !== undefined };
  const streamable = new StreamableHttp({ ...common, ...both, elsewhere });
  const others = furtherServers(options, { door, sessions, cluster, parts, sessionless: { limits, keeper, answers } });
  const sse = sseOf(options, parts, { ...common, pings, keeper, limits: sessionLimits });
  const onError = (error: unknown): void => core.report("error", "authenticate failed", { error });
  const failed = failing(core);
  const pages = new Later(() => guards(core, ({ servePage }) => servePage));
  const guard = guardOf(options, guards, () => ({ site, core, turns: limits.turns, cluster, onError, failed }));
  const site: HttpSite = new HttpSite({
    door,
    routes: routes(options, streamable, { core, sse, others, pages }),
    guard,
    failed,
  });
  const waits = [guard, pages, permits.judge, handshake, sse?.part, ...others.flatMap((other) => other.waits)];
  const ending = (): readonly (Closable | undefined)[] => [handshake.there, sse?.part.there, sessionless];
  const ends = new Later(() => reported(parts.ending(), core));
  const ended = { site, limits, core, permits, keeper, waits, ending, others };
  const settle: HttpEndpoint["settle"] = async (alone) => ends.use((code) => code.settle(ended, alone));
  const close: HttpEndpoint["close"] = async (spentMs) => {
    site.passes.drains = true;
    await ends.use((code) => code.end(ended, spentMs));
  };
  const open = [handshake, ...others.map((other) => other.handshake), sse?.part];
  const alone = [sessionless, ...others.map((other) => other.sessionless)];
  return { site, limits, core, handshake, keeper, open, alone, settle, close };
}

function doorOf(options: HttpOptions, defaults: EndpointDefaults): FrontDoor {
  const { allowedHosts: hosts = defaults.hosts, allowedOrigins = [] } = options;
  return new FrontDoor({ ...options, hosts, origins: [...defaults.origins, ...allowedOrigins] });
}

function sessionLimitsOf({ sessions }: HttpOptions): SessionLimits {
  return withLimits(DEFAULT_SESSION_LIMITS, typeof sessions === "object" ? sessions : undefined);
}

/** Makes what serves the handshake era; a failure is reported, and the next request tries again. */
function laterHandshake(parts: EndpointParts, options: HandshakeOptions): Later<HandshakeRequests> {
  return new Later(() => reported(parts.handshake(options), options.core));
}

function reported<Part>(made: Awaitable<Part>, { report }: ServerCore): Awaitable<Part> {
  if (!isThenable(made)) return made;
  return Promise.resolve(made).catch((error: unknown) => {
    report("error", "A part of the server could not be loaded", { error });
    throw error;
  });
}

/** What has sessions, once anything has needed it. */
type Holder = Later<{ readonly sessions: number; endOf(whose: Whose): Promise<void> }> | undefined;

/** A server beside the one of the endpoint. */
interface FurtherServer extends Closable {
  readonly path: string;
  readonly core: ServerCore;
  readonly streamable: StreamableHttp;
  readonly handshake: Later<HandshakeRequests>;
  readonly sessionless: SessionlessRequests;
  /** What its requests may have to wait for. */
  readonly waits: readonly Later<unknown>[];
}

function furtherServers(
  options: HttpOptions,
  given: Pick<HandshakeOptions, "sessions" | "cluster"> & {
    readonly door: FrontDoor;
    readonly parts: EndpointParts;
    readonly sessionless: Omit<ConstructorParameters<typeof SessionlessRequests>[0], "core">;
  },
): readonly FurtherServer[] {
  const entries = Object.entries(options.servers ?? {});
  const { door, sessions, cluster } = given;
  if (entries.length > 0 && cluster !== undefined)
    throw new LocalError("BAD_OPTIONS", "A server that shares with other processes has its listener for itself");
  return entries.map(([path, server]) => {
    const core = coreOf(server);
    const sessionless = new SessionlessRequests({ ...given.sessionless, core });
    const permits = permitsOf(options, core, guardsOf(given.parts));
    const pings = pingsOf(options);
    const handshake = laterHandshake(given.parts, { core, sessionless, pings, sessions });
    const streamable = new StreamableHttp({
      ...{ core, door, permits, sessionless, handshake },
      sessions: sessions !== undefined,
    });
    const close = async (drainMs: number): Promise<void> => {
      core.unasked.delete(permits);
      await Promise.all([handshake.there?.close(drainMs), sessionless.close(drainMs)]);
      await core.tasks?.close();
    };
    return { path, core, streamable, handshake, sessionless, waits: [permits.judge, handshake], close };
  });
}

/** Answers a request that something of the program's own threw at, with an id under which the log has what it was. */
function failing({ report }: ServerCore): GuardOptions["failed"] {
  return (exchange, error) => failRequest(exchange, error, report);
}

/** Who may call is never left open by a mistake in how it was said. */
function checkAsking({ authenticate, authorization }: HttpOptions): void {
  if (authenticate !== undefined && typeof authenticate !== "function") {
    throw new LocalError(
      "BAD_OPTIONS",
      '"authenticate" is a function of the request that returns the name of the user',
    );
  }
  const given: unknown = (authorization as Partial<HttpAuthorization> | undefined | null)?.authenticator?.authenticate;
  if (authorization !== undefined && typeof given !== "function") {
    const what = '"authorization" is an object whose "authenticator" says who is asking';
    throw new LocalError("BAD_OPTIONS", `${what}: { authenticator: jwtAuthenticator({ ... }) }`);
  }
  const scopes: unknown = authorization?.scopes;
  if (scopes !== undefined && valueFault("scopes", scopes, "check()") !== undefined) {
    const what = `in "authorization" "scopes" is what scopeRules makes, not ${shownValue(scopes)}`;
    throw new LocalError("BAD_OPTIONS", `${what}: write scopes: scopeRules({ tools: { NAME: ["..."] } })`);
  }
}

/** Says what may be served. Throws BAD_SCOPES for rules of what is not there, and scopes that nobody could have. */
function permitsOf(options: HttpOptions, core: ServerCore, guards: Guards): Permits {
  checkAsking(options);
  const { authenticate, authorization } = options;
  if (authorization !== undefined && authenticate !== undefined)
    throw new LocalError("BAD_OPTIONS", "Give authenticate or authorization, not both: only one can say who is asking");
  checkNames(authorization?.scopes, core);
  const asks = authorization !== undefined || authenticate !== undefined;
  if (!asks) checkReachable(core);
  const judge = new Later(() => guards(core, ({ judgeOf }) => judgeOf(authorization, core)));
  // One for all: a function made for each request would keep it until the next full collection of garbage, as V8 has it, and half
  // of what a busy server makes with it.
  const lacking: HttpExchange["lacking"] = (exchange, method, params) => {
    const refusal = judge.there === undefined ? unmet(core, method, params) : judge.there(exchange, { method, params });
    return refusal && new RpcError(ErrorCode.InvalidRequest, refusal.text ?? "A scope is missing");
  };
  const restricted = (message: unknown): boolean => {
    if (!isJsonObject(message)) return false;
    const { method, params } = message;
    return typeof method === "string" && isJsonObject(params) && core.scopesFor(method, params) !== undefined;
  };
  const concerns: Permits["concerns"] = ({ identity }, value) =>
    identity !== undefined || (Array.isArray(value) ? value.some(restricted) : restricted(value));
  const permits = { concerns, judge, lacking };
  if (!asks) core.unasked.add(permits);
  return permits;
}

/** What nobody has of whom nothing is known. */
function unmet(core: ServerCore, method: string, params: object): { readonly text?: string } | undefined {
  const scopes = core.scopesFor(method, params as JsonObject);
  return scopes && { text: `This needs the scopes ${scopes.join(" ")}` };
}

/** Makes something of the code that asks and judges callers: at once where it is at hand; a failure to load it is reported. */
type Guards = <Made>(core: ServerCore, make: (code: GuardCode) => Made) => Awaitable<Made>;

function guardsOf({ guard }: EndpointParts): Guards {
  return (core, make) => {
    const code = reported(guard(), core);
    return isThenable(code) ? Promise.resolve(code).then(make) : make(code);
  };
}

/** Throws RangeError for a limit that is not a positive integer. */
function rateOf({ address, ...limits }: RateOptions): Rate {
  return { ...withLimits(DEFAULT_RATE, limits), address };
}

/** Undefined where nobody is asked, nothing counted and no web page answered. */
function guardOf(
  { cors = false, authenticate, authorization, rate }: HttpOptions,
  guards: Guards,
  rest: () => Omit<GuardOptions, "cors" | "authenticate" | "authorization" | "rate">,
): Later<InstanceType<GuardCode["Guard"]>> | undefined {
  const counted = rate && rateOf(rate);
  if (!cors && authenticate === undefined && authorization === undefined && rate === undefined) return undefined;
  return new Later(() => {
    const given = { ...rest(), cors, authenticate, authorization, rate: counted };
    return guards(given.core, ({ Guard }) => new Guard(given));
  });
}

/** How clients with an open stream are pinged; undefined where they are not. */
function pingsOf({ pings = false }: HttpOptions): PingLimits | undefined {
  return pings === false ? undefined : withLimits(DEFAULT_PINGS, pings === true ? {} : pings);
}

/** HTTP+SSE, where it is wanted: its two paths, and what serves them. */
interface LaterSse {
  readonly routes: readonly [string, HttpRoute][];
  readonly part: Later<SseEndpoint>;
}

function sseOf(
  { sse }: HttpOptions,
  parts: EndpointParts,
  common: Omit<SseOptions, "path" | "messages">,
): LaterSse | undefined {
  if (sse === undefined || sse === false) return undefined;
  const { path = "/sse", messages = "/messages" } = sse === true ? {} : sse;
  const part = new Later(() => reported(parts.sse({ ...common, path, messages }), common.core));
  const stream: HttpRoute = { serve: (exchange) => serveLater(part, exchange, (made) => made.open(exchange)) };
  const post: HttpRoute = { serve: (exchange) => serveLater(part, exchange, (made) => made.post(exchange)) };
  return {
    part,
    routes: [
      [path, stream],
      [messages, post],
    ],
  };
}

/** What further routes are made of. */
interface Routed {
  readonly core: ServerCore;
  readonly sse: LaterSse | undefined;
  readonly others: readonly FurtherServer[];
  readonly pages: Later<GuardCode["servePage"]>;
}

function routes(
  options: HttpOptions,
  streamable: HttpRoute,
  { core, sse, others, pages }: Routed,
): ReadonlyMap<string, HttpRoute> {
  const all: [string, HttpRoute][] = [[options.path ?? "/mcp", streamable]];
  for (const other of others) all.push([other.path, other.streamable]);
  for (const [each, page] of Object.entries(options.pages ?? {})) {
    const fault =
      valueFault(each, page, PAGE_MEMBERS) ?? (page?.respond === undefined ? `"${each}" needs "respond"` : undefined);
    if (fault !== undefined) throw new LocalError("BAD_OPTIONS", `in "pages" ${fault}`);
    all.push([each, pageRoute(page, core, pages)]);
  }
  all.push(...(sse?.routes ?? []));
  for (const [each] of all) {
    if (!/^\/[!-~]*$/.test(each) || /[?#]/.test(each)) {
      throw new LocalError("BAD_PATH", `"${each}" is no path: write it as "/mcp"`);
    }
  }
  if (new Set(all.map(([each]) => each)).size < all.length) {
    throw new LocalError("BAD_PATH", "Servers, HTTP+SSE and pages need own paths");
  }
  return new Map(all);
}

/** The members of `HttpPage`. */
const PAGE_MEMBERS: MembersOf<HttpPage> = { respond: "function", open: "flag" };

/** A document beside the endpoint: most have none. */
function pageRoute(page: HttpPage, core: ServerCore, part: Routed["pages"]): HttpRoute {
  const failed = failing(core);
  const answer = (exchange: HttpExchange, servePage: GuardCode["servePage"]): void => {
    try {
      servePage(exchange, page, failed);
    } catch (error) {
      failed(exchange, error);
    }
  };
  return {
    open: page.open === true,
    serve: (exchange) => serveLater(part, exchange, (servePage) => answer(exchange, servePage)),
  };
}

/** A name nobody registered is misspelt, and the tool it was meant for would stand open. */
function checkNames(rules: HttpAuthorization["scopes"], { tools, custom }: ServerCore): void {
  const named = rules?.named;
  if (named === undefined) return;
  const isMethod = (name: string): boolean =>
    custom.has(name) || name.startsWith("notifications/") || isSpecifiedMethod(name);
  const unknown =
    named.tools.find((name) => tools.get(name) === undefined) ?? named.methods.find((name) => !isMethod(name));
  if (unknown === undefined) return;
  const what = `The scope rules name ${JSON.stringify(unknown)}, which this server does not have`;
  throw new LocalError("BAD_SCOPES", `${what}: mend the name, or say { later: true } if it is registered later`);
}

function checkReachable({ tools, prompts, resources, templates }: ServerCore): void {
  for (const registry of [tools, prompts, resources, templates]) {
    for (const key of registry.keys()) {
      if (registry.get(key)?.scopes !== undefined) throw unreachable(key);
    }
  }
}
