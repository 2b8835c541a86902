// Puts an HTTP endpoint together from its options, whatever runtime its requests come from.
import { type Authenticator, type AuthOutcome, checkVerdict, type Refusal } from "../../auth/authenticator.js";
import { authRequest, gateRefusal, type RequestHead } from "../../auth/resource-metadata.js";
import { type ScopeRules, scopeRules } from "../../auth/scopes.js";
import { Later } from "../../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import { withLimits } from "../../jsonrpc/limits.js";
import { type Awaitable, isJsonObject, isThenable, type JsonObject } from "../../jsonrpc/message.js";
import type { Identity } from "../../jsonrpc/transport.js";
import { isSpecifiedMethod } from "../../protocol/revisions/newest.js";
import type { ServerCore } from "../../server/core.js";
import { type MembersOf, shownValue, valueFault } from "../../schema/schema.js";
import { coreOf, type LeanServer } from "../../server/lean-server.js";
import { noSuchTask } from "../../server/tasks/task-store.js";
import { KeepAlive, StreamKeeper } from "./event-stream.js";
import type { ClusterMember, HttpExchange, HttpRequestHead, LocalEnd } from "./exchange.js";
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
  type HttpAdmission,
  type HttpRoute,
  HttpSite,
  type HttpSiteOptions,
  type Permits,
  RateGate,
  type RateOptions,
  serveLater,
  Turns,
} from "./http-site.js";
import { failRequest, headersFault, type HttpRefusal, type ReplyMode, headerList, replyFault } from "./reply.js";
import type { Whose } from "./http-session.js";
import type { EventStore } from "./resumable-stream.js";
import { SessionlessRequests } from "./sessionless-requests.js";
import type { SseEndpoint, SseOptions } from "./sse-endpoint.js";
import type { MakeGuests } from "./guest-sessions.js";
import type { EndpointParts, HandshakeOptions, HandshakeRequests } from "./handshake-requests.js";
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
  /** The end that the other processes of the server reach. */
  readonly local: LocalEnd;
  load(): HttpLoad;
  /** Ends what some principals have open at once, and cancels what they have running. */
  endOf(whose: Whose): Promise<void>;
  /**
   * Refuses what is new, lets what runs finish within the limit `drainMs`, less what was spent of it before, then ends all, the
   * server's tasks too.
   */
  close(spentMs?: number): Promise<void>;
}

interface EndpointDefaults {
  readonly hosts: readonly string[] | undefined;
  readonly origins: readonly string[];
  /** Serves the handshake era: at hand, or loaded for the first request that needs it. */
  readonly parts: EndpointParts;
  /** Makes what serves the sessions of other processes, where there are others. */
  readonly guests?: MakeGuests;
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
  const { authenticate, permits } = hooks(options, core);
  const kept = { limits: sessionLimits, store: guardedStore(options.eventStore, core), keeper, answers };
  const sessions = options.sessions === false ? undefined : kept;
  const sessionless = new SessionlessRequests({ core, limits, keeper, answers });
  const pinger = pingerOf(options, core);
  const { parts, guests } = defaults;
  const common = { core, door, permits, cluster };
  const handshake = laterHandshake(parts, { core, sessionless, pinger, cluster, guests, sessions });
  const streamable = new StreamableHttp({ ...common, sessionless, handshake, sessions: sessions !== undefined });
  const others = furtherServers(options, { door, sessions, cluster, parts, sessionless: { limits, keeper, answers } });
  const sse = sseOf(options, parts, { ...common, pinger, keeper, limits: sessionLimits });
  const site = new HttpSite({
    door,
    routes: routes(options, streamable, { sse, others, failed: failing(core) }),
    cors: options.cors === true,
    authenticate,
    rate: options.rate && new RateGate(options.rate, cluster),
    turns: new Turns(limits.turns),
    onError: (error) => core.report("error", "authenticate failed", { error }),
    failed: failing(core),
  });
  const close = async (spentMs = 0): Promise<void> => {
    site.passes.closing = true;
    const drainMs = limits.drainMs - spentMs;
    await Promise.all([handshake.there, sse?.part.there, sessionless].map(async (each) => await each?.close(drainMs)));
    await Promise.all(others.map((other) => other.close(drainMs)));
    await core.tasks?.close();
    await keeper.flush(FLUSH_MS);
  };
  const open = [handshake, ...others.map((other) => other.handshake), sse?.part];
  const alone = [sessionless, ...others.map((other) => other.sessionless)];
  const endOf = (whose: Whose): Promise<void> => endAll(whose, { passes: site.passes, alone, open });
  const local = localEnd(core, site, handshake);
  return { site, limits, local, load: () => loadOf(keeper, open), endOf, close };
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

function loadOf(keeper: StreamKeeper, holders: readonly Holder[]): HttpLoad {
  return { sessions: holders.reduce((sum, holder) => sum + (holder?.there?.sessions ?? 0), 0), streams: keeper.size };
}

/** Ends what is in some table; what is not yet holds a pass, which is taken back. */
async function endAll(whose: Whose, { passes, alone, open }: EndedAtOnce): Promise<void> {
  passes.revoke(whose);
  for (const each of alone) each.endOf(whose);
  await Promise.all(open.map(async (each) => await each?.there?.endOf(whose)));
}

interface EndedAtOnce {
  readonly passes: Pick<HttpSite["passes"], "revoke">;
  readonly alone: readonly SessionlessRequests[];
  readonly open: readonly Holder[];
}

/** A server beside the one of the endpoint. */
interface FurtherServer {
  readonly path: string;
  readonly streamable: StreamableHttp;
  readonly handshake: Later<HandshakeRequests>;
  readonly sessionless: SessionlessRequests;
  close(drainMs: number): Promise<void>;
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
    const { permits } = hooks(options, core);
    const pinger = pingerOf(options, core);
    const handshake = laterHandshake(given.parts, { core, sessionless, pinger, sessions });
    const streamable = new StreamableHttp({
      ...{ core, door, permits, sessionless, handshake },
      sessions: sessions !== undefined,
    });
    const close = async (drainMs: number): Promise<void> => {
      await Promise.all([handshake.there?.close(drainMs), sessionless.close(drainMs)]);
      await core.tasks?.close();
    };
    return { path, streamable, handshake, sessionless, close };
  });
}

function localEnd(core: ServerCore, site: HttpSite, handshake: Later<HandshakeRequests>): LocalEnd {
  return {
    serve: (exchange) => site.relayed(exchange),
    adopt: (id, principal, facts) => void handshake.use((requests) => requests.adopt(id, principal, facts)),
    holds: (id) => handshake.there?.holds(id) === true,
    release: (id) => handshake.there?.release(id),
    keep: (id) => handshake.there?.keep(id),
    hear(news) {
      handshake.there?.guests?.hear(news);
      if (!("session" in news)) core.hear(news);
    },
    // A process that made the task may be back under its name as one without tasks.
    errand: (errand) => core.tasks?.errand(errand) ?? Promise.reject(noSuchTask()),
    report: core.report,
  };
}

/** Answers a request that something of the program's own threw at, with an id under which the log has what it was. */
function failing({ report }: ServerCore): (exchange: HttpExchange, error: unknown) => void {
  return (exchange, error) => failRequest(exchange, error, report);
}

/** A store of somebody's own: what it throws costs the event, not the process. */
function guardedStore(store: EventStore | undefined, core: ServerCore): EventStore | undefined {
  if (store === undefined) return undefined;
  return {
    append: (...event) => core.guarded("append of eventStore", () => store.append(...event)),
    after: async (...place) => {
      const kept: unknown = await store.after(...place);
      return Array.isArray(kept) ? (kept as Awaited<ReturnType<EventStore["after"]>>) : [];
    },
    forget: (session) => core.guarded("forget of eventStore", () => store.forget(session)),
  };
}

/** Milliseconds readers get to take the last answers before their streams are cut. */
const FLUSH_MS = 2_000;

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

function hooks(options: HttpOptions, core: ServerCore): AuthorizationHooks {
  checkAsking(options);
  const { authenticate, authorization } = options;
  if (authorization === undefined || authenticate === undefined) {
    return authorizationHooks({ authorization, authenticate, core });
  }
  throw new LocalError("BAD_OPTIONS", "Give authenticate or authorization, not both: only one can say who is asking");
}

function pingerOf({ pings = false }: HttpOptions, { report }: ServerCore): KeepAlive | undefined {
  if (pings === false) return undefined;
  const limits = withLimits(DEFAULT_PINGS, pings === true ? {} : pings);
  return new KeepAlive(limits, (message) => report("warning", message));
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

function routes(
  { path = "/mcp", pages = {} }: HttpOptions,
  streamable: HttpRoute,
  {
    sse,
    others,
    failed,
  }: {
    readonly sse: LaterSse | undefined;
    readonly others: readonly FurtherServer[];
    readonly failed: ReturnType<typeof failing>;
  },
): ReadonlyMap<string, HttpRoute> {
  const all: [string, HttpRoute][] = [[path, streamable]];
  for (const other of others) all.push([other.path, other.streamable]);
  for (const [each, page] of Object.entries(pages)) {
    const fault =
      valueFault(each, page, PAGE_MEMBERS) ?? (page?.respond === undefined ? `"${each}" needs "respond"` : undefined);
    if (fault !== undefined) throw new LocalError("BAD_OPTIONS", `in "pages" ${fault}`);
    all.push([each, new PageRoute(page, failed)]);
  }
  all.push(...(sse?.routes ?? []));
  for (const [each] of all) {
    if (!/^\/[!-~]*$/.test(each) || /[?#]/.test(each)) {
      throw new LocalError("BAD_PATH", `"${each}" is no path: write it as "/mcp"`);
    }
  }
  if (new Set(all.map(([each]) => each)).size < all.length) {
    throw new LocalError("BAD_PATH", "Servers, HTTP+SSE and pages need paths of their own");
  }
  return new Map(all);
}

// Small documents beside the endpoint, such as health or metadata: whole replies, made on demand.

/** A whole reply to a request for a page: the status, headers by lower-case name, and the text. */
export interface HttpPageReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A document of one path. Only the front door and, unless it is open, `authenticate` stand before it. */
export interface HttpPage {
  /** True: served to whoever asks. Default: `authenticate` decides as for the endpoint. */
  readonly open?: boolean;
  /** Called for GET and HEAD. Must neither throw nor reject. */
  respond(request: HttpRequestHead): Awaitable<HttpPageReply>;
}

/** The members of `HttpPage`. */
const PAGE_MEMBERS: MembersOf<HttpPage> = { respond: "function", open: "flag" };

const NOT_ALLOWED: HttpPageReply = { status: 405, headers: { allow: "GET, HEAD" } };

class PageRoute implements HttpRoute {
  readonly open: boolean;
  readonly #page: HttpPage;
  readonly #failed: HttpSiteOptions["failed"];

  constructor(page: HttpPage, failed: HttpSiteOptions["failed"]) {
    this.#page = page;
    this.#failed = failed;
    this.open = page.open === true;
  }

  serve(exchange: HttpExchange): void {
    const { method } = exchange;
    const reply = method === "GET" || method === "HEAD" ? this.#page.respond(exchange) : NOT_ALLOWED;
    if (!isThenable(reply)) return send(exchange, reply);
    Promise.resolve(reply)
      .then((late) => send(exchange, late))
      .catch((error: unknown) => this.#failed(exchange, error));
  }
}

function send(exchange: HttpExchange, { status, headers, body }: HttpPageReply): void {
  const fault = replyFault({ status, headers, text: body });
  if (fault !== undefined)
    throw new TypeError(`A page of "pages" gave a reply that cannot be sent: ${fault.replace('"text"', '"body"')}`);
  exchange.reply(status, headerList(headers), exchange.method === "HEAD" ? "" : body);
}

// Joins authorization to the endpoint: tokens at the door, scopes once a message is read, and word of each refusal.

/** A request that was refused, as far as it had been read. Holds nothing of its token. */
export interface RefusedRequest {
  readonly path: string;
  /** Undefined when nobody knows whose the request is. */
  readonly principal: string | undefined;
  /** The MCP method that needs more scopes; undefined when the request was refused at the door. */
  readonly method: string | undefined;
  /** The tool, where it is the call of one. */
  readonly tool: string | undefined;
}

/** Who may call, and what. */
export interface HttpAuthorization {
  /** Decides who sent a request. Handlers find the outcome in `ctx.identity`, middleware in `call.identity`. */
  readonly authenticator: Authenticator;
  /** Scopes by method and tool, checked for every message. A batch is refused as a whole. Default: nothing more is needed. */
  readonly scopes?: ScopeRules;
  /** Told once of every refused request, for an audit record: bound what you keep, since anybody can cause it. */
  readonly onRefused?: (refusal: Refusal, request: RefusedRequest) => void;
}

/** The two hooks of an endpoint. */
interface AuthorizationHooks {
  readonly authenticate: Authenticate | undefined;
  readonly permits: Permits;
}

interface Gate {
  readonly authorization: HttpAuthorization | undefined;
  readonly authenticate: Authenticate | undefined;
  readonly core: ServerCore;
}

/** Nobody of whom scopes are known. */
const STRANGER: Identity = { principal: "", scopes: [] };

/** Whether rules refuse. Throws a TypeError where those of somebody's own say neither yes nor no. */
function isRefusal(said: unknown): said is Refusal {
  if (said === undefined) return false;
  const { status } = Object(said) as { readonly status?: unknown };
  if (typeof status === "number") return true;
  throw new TypeError(`"scopes" of "authorization" returned ${shownValue(said)}: check gives undefined or a refusal`);
}

/** Throws a TypeError for what nobody could send. */
function sendable(refusal: Refusal): HttpRefusal {
  const told = gateRefusal(refusal);
  const fault = headersFault(refusal.headers) ?? replyFault(told);
  if (fault === undefined) return told;
  throw new TypeError(`"authorization" refused with what cannot be sent: ${fault}`);
}

/** The hooks of an endpoint. Throws BAD_SCOPES for rules of what is not there, and scopes that nobody could have. */
function authorizationHooks({ authorization, authenticate, core }: Gate): AuthorizationHooks {
  const { scopes: rules = scopeRules({}), onRefused, authenticator } = authorization ?? {};
  checkNames(rules, core);
  if (authorization === undefined && authenticate === undefined) checkReachable(core);
  const refused = (refusal: Refusal, request: RefusedRequest): HttpRefusal => {
    if (onRefused !== undefined) core.guarded("onRefused", () => onRefused(refusal, request));
    return sendable(refusal);
  };
  const judge = (exchange: HttpExchange, message: unknown): HttpRefusal | undefined => {
    // What is no request or notification needs no scope: it is refused or matched to a question, and does nothing else.
    if (!isJsonObject(message)) return undefined;
    const { method, params } = message;
    if (typeof method !== "string") return undefined;
    const { identity, path } = exchange;
    const more = isJsonObject(params) ? core.scopesFor(method, params) : undefined;
    if (more === undefined && identity === undefined) return undefined;
    const tool = toolOf(message);
    const refusal = rules.check(identity ?? STRANGER, method, tool, more);
    if (!isRefusal(refusal)) return undefined;
    return refused(refusal, { path, principal: exchange.principal, method, tool });
  };
  // One for all: a function made for each request would keep it until the next full collection of garbage, as V8 has it, and half
  // of what a busy server makes with it.
  const lacking: HttpExchange["lacking"] = (exchange, method, params) => {
    const refusal = judge(exchange, { method, params });
    return refusal && new RpcError(ErrorCode.InvalidRequest, refusal.text ?? "A scope is missing");
  };
  const permits = (exchange: HttpExchange, value: unknown): HttpRefusal | undefined => {
    exchange.lacking = lacking;
    if (!Array.isArray(value)) return judge(exchange, value);
    for (const message of value) {
      const refusal = judge(exchange, message);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  if (authenticator === undefined) return { authenticate, permits };
  const entrance = (head: RequestHead, outcome: AuthOutcome): HttpAdmission | HttpRefusal => {
    checkVerdict("authenticate", outcome);
    return outcome.ok
      ? outcome
      : refused(outcome, { path: head.path, principal: undefined, method: undefined, tool: undefined });
  };
  const admit: Authenticate = (head) => {
    const outcome = authenticator.authenticate(authRequest(head));
    return isThenable(outcome)
      ? Promise.resolve(outcome).then((later) => entrance(head, later))
      : entrance(head, outcome);
  };
  return { authenticate: admit, permits };
}

/** A name nobody registered is misspelt, and the tool it was meant for would stand open. */
function checkNames({ named }: ScopeRules, { tools, custom }: ServerCore): void {
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
      if (registry.get(key)?.scopes === undefined) continue;
      const what = `${JSON.stringify(key)} needs scopes, but nobody says who is asking over HTTP`;
      const mend = `give "authorization", or an "authenticate" that returns an identity`;
      throw new LocalError("BAD_SCOPES", `${what}: ${mend}`);
    }
  }
}

function toolOf({ method, params }: JsonObject): string | undefined {
  const name = method === "tools/call" && isJsonObject(params) ? params["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}
