// Puts an HTTP endpoint together from its options, whatever runtime its requests come from.
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import type { ServerCore } from "../server/core.js";
import { coreOf, type Server } from "../server/server.js";
import type { AloneCarrier, ReplyMode } from "../transport/http/replies.js";
import { type EventStore, MemoryEventStore } from "../transport/http/resumable-stream.js";
import {
  type Authenticate,
  FrontDoor,
  type HttpPage,
  type HttpRoute,
  HttpSite,
  PageRoute,
  Turns,
} from "../transport/http/http-site.js";
import {
  DEFAULT_HTTP_LIMITS,
  DEFAULT_PINGS,
  DEFAULT_SESSION_LIMITS,
  type HttpLimits,
  type PingLimits,
  type SessionLimits,
  withLimits,
} from "../transport/http/http-limits.js";
import { KeepAlive, StreamKeeper } from "../transport/http/event-stream.js";
import { RateGate, type RateOptions } from "../transport/http/rate-gate.js";
import { StreamableHttp } from "../transport/http/streamable-http.js";
import { SseEndpoint, type SseOptions } from "../transport/sse/sse-endpoint.js";
import { type AuthorizationHooks, authorizationHooks, type HttpAuthorization } from "./http-authorization.js";
import { Call, type Caller, NO_LOGS } from "../endpoint/call.js";
import {
  assumedRevision,
  claimOf,
  claimsStateless,
  codecFor,
  missingEnvelope,
  namesStateless,
  openSession,
  readEnvelope,
} from "../era/select.js";
import type { Carrier } from "../jsonrpc/transport.js";
import {
  failureText,
  isJsonObject,
  type JsonObject,
  type NotificationMessage,
  type RequestId,
  type RequestMessage,
} from "../jsonrpc/message.js";
import {
  Connection,
  type ConnectionHandler,
  IncomingTable,
  withinGrace,
  type WireRules,
} from "../jsonrpc/connection.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { ServerConversation } from "../server/conversation.js";
import type { HttpConversation, HttpService } from "../transport/http/http-session.js";
import {
  methodHeaderFault,
  type MirroredParam,
  mirroredParams,
  mismatch,
  paramHeaderFault,
  versionHeaderFault,
} from "../era/stateless/headers.js";
import { classify, ParseFault } from "../jsonrpc/parse.js";
import { levelIndex } from "../protocol/features/logging.js";
import { META } from "../protocol/meta.js";
import type { Tool } from "../protocol/features/tools.js";
import type { GoneListener } from "../transport/http/exchange.js";

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
  const core = coreOf(server);
  const limits = withLimits(DEFAULT_HTTP_LIMITS, options.limits);
  const sessionLimits = withLimits(
    DEFAULT_SESSION_LIMITS,
    typeof options.sessions === "object" ? options.sessions : undefined,
  );
  const { allowedHosts: hosts = defaults.hosts, allowedOrigins = [], originOption } = options;
  const door = new FrontDoor({ hosts, origins: [...defaults.origins, ...allowedOrigins], originOption });
  const keeper = new StreamKeeper(limits);
  const { authenticate, permits } = hooks(options, core);
  const service = new ServerOverHttp(core, limits);
  const { answers = "auto", eventStore: store = new MemoryEventStore(sessionLimits) } = options;
  const sessions = options.sessions === false ? undefined : { limits: sessionLimits, store, keeper, answers };
  const common = { service, door, keeper, permits, pinger: pingerOf(options, core) };
  const streamable = new StreamableHttp({ ...common, answers, sessions });
  const sse = sseOf(options, { ...common, limits: sessionLimits });
  const site = new HttpSite({
    door,
    routes: routes(options, streamable, sse),
    cors: options.cors === true,
    authenticate,
    rate: options.rate && new RateGate(options.rate),
    turns: new Turns(limits.turns),
    onError: (error) => core.report("error", "authenticate failed", { error }),
  });
  const close = async (): Promise<void> => {
    site.closing = true;
    const { drainMs } = limits;
    await Promise.all([streamable.close(drainMs), sse?.close(drainMs), service.close(drainMs)]);
    await core.tasks.close();
    await keeper.flush(FLUSH_MS);
  };
  const load = (): HttpLoad => ({ sessions: streamable.sessions + (sse?.sessions ?? 0), streams: keeper.size });
  return { site, limits, load, close };
}

/** Milliseconds readers get to take the last answers before their streams are cut. */
const FLUSH_MS = 2_000;

function hooks({ authenticate, authorization }: HttpOptions, core: ServerCore): AuthorizationHooks {
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

// Serves the handshake era without sessions: each message by itself, in the revision its header names.

/** One for an endpoint: it keeps nothing of any request. */
class AloneService implements ConnectionHandler {
  readonly #core: ServerCore;
  readonly #desk: HttpDesk;
  readonly #connection: Connection<Call>;
  readonly #callers = new Map<Revision, Caller>();
  #rules: WireRules = { batches: true, unreadableId: "null" };

  constructor(core: ServerCore, desk: HttpDesk) {
    this.#core = core;
    this.#desk = desk;
    this.#connection = new Connection(this, core.limits);
  }

  serve(value: unknown, carrier: Carrier): void {
    // Read by the connection before `deliver` returns, so one field serves all.
    this.#rules = assumedRevision(carrier.header("mcp-protocol-version"))?.rules ?? this.#rules;
    this.#connection.deliver(value, carrier);
  }

  rules(): WireRules {
    return this.#rules;
  }

  batchElement(message: RequestMessage | NotificationMessage): RpcError | undefined {
    if (message.method !== "initialize") return undefined;
    return new RpcError(ErrorCode.InvalidRequest, "initialize must not be part of a batch");
  }

  request(message: RequestMessage, carrier: Carrier): void {
    if (message.method === "initialize") return this.#initialize(message, carrier);
    const revision = assumedRevision(carrier.header("mcp-protocol-version"));
    if (revision !== undefined) this.#desk.serve(message, this.#callerOf(revision), carrier);
  }

  notification(message: NotificationMessage, carrier: Carrier): void {
    this.#core.notified(message, carrier);
  }

  #initialize(message: RequestMessage, carrier: Carrier): void {
    const params: JsonObject = message.params ?? {};
    const { codec } = this.#callerOf(openSession({}).revision);
    const fault = codec.revision.methods.get("initialize")?.check(params);
    if (fault === undefined) {
      this.#desk.serve(message, this.#callerOf(openSession(params).revision), carrier);
      return;
    }
    const { path, constraint } = fault;
    const error = { code: ErrorCode.InvalidParams, message: fault.message, data: { path, constraint } };
    void carrier.write(failureText(message.id, error), "response", error.code);
  }

  /** Without a session nothing is known of the caller: it can be asked nothing and wants no logs. */
  #callerOf(revision: Revision): Caller {
    let caller = this.#callers.get(revision);
    if (caller === undefined) {
      caller = Object.freeze({ codec: codecFor(revision), capabilities: {}, client: undefined, logLevel: NO_LOGS });
      this.#callers.set(revision, caller);
    }
    return caller;
  }
}

// Serves requests outside of conversations: counted, bounded, cancelled with their connection where the era says so.

/** Nobody can be asked outside a conversation, so nothing ever arrives here. */
const NOBODY: ConnectionHandler = {
  rules: () => ({ batches: false, unreadableId: "absent" }),
  request: () => undefined,
  notification: () => undefined,
};

const LISTEN = "subscriptions/listen";

class HttpDesk {
  readonly #core: ServerCore;
  readonly #limits: HttpLimits;
  /** Of all requests but listens. */
  readonly #connection: Connection<Call>;
  /** What is refused for its number is counted by `busy`. */
  readonly #calls = new IncomingTable<Call>(Number.POSITIVE_INFINITY);
  #listens = 0;
  readonly #done = (call: Call): void => {
    if (this.#calls.release(call) && call.method === LISTEN) this.#listens--;
  };

  constructor(core: ServerCore, limits: HttpLimits) {
    this.#core = core;
    this.#limits = limits;
    this.#connection = new Connection(NOBODY, core.limits);
  }

  /** Requests being served now. */
  get active(): number {
    return this.#calls.size;
  }

  /** Whether there are as many requests as there may be; listens are counted apart. */
  get busy(): boolean {
    return this.#calls.size - this.#listens >= this.#limits.inFlight;
  }

  /** Serves a request. Returns its call while it is still running. */
  serve(message: RequestMessage, caller: Caller, carrier: Carrier): Call | undefined {
    const listens = message.method === LISTEN;
    if (listens ? this.#listens >= this.#limits.listens : this.busy) {
      const error = busy();
      void carrier.write(failureText(message.id, error.toObject()), "response", error.code);
      return undefined;
    }
    // Subscriptions are counted by connection, and each listen request stands for itself here.
    const connection = listens ? new Connection<Call>(NOBODY, this.#core.limits) : this.#connection;
    const call = new Call(message, caller, carrier, connection);
    this.#core.dispatcher.serve(call, this.#done);
    if (call.ended) return undefined;
    this.#calls.add(call);
    if (listens) this.#listens++;
    return call;
  }

  /** Gives a request up: nobody waits for its answer. */
  cancel(call: Call): void {
    this.#core.dispatcher.cancel(call, { reason: "The client closed the connection", answered: false });
  }

  /** Ends listens with their answer, waits for the rest, and cancels what has not finished after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    for (const { connection } of this.#calls.all()) this.#core.subscribers.endAll(connection);
    await withinGrace(this.#calls.whenIdle(), graceMs);
    for (const call of this.#calls.all()) this.cancel(call);
  }
}

/** The error for what has to come again later. */
function busy(): RpcError {
  return new RpcError(ErrorCode.InternalError, "The server is busy: try again later");
}

// Joins a server to the HTTP transports: conversations for sessions, the ladder for the stateless era.

class SessionConversation implements HttpConversation {
  readonly #conversation: ServerConversation;
  readonly #standing: Carrier;

  constructor(core: ServerCore, standing: Carrier) {
    this.#standing = standing;
    this.#conversation = new ServerConversation(core, standing);
    core.conversations.add(this.#conversation);
  }

  get polling(): boolean {
    return this.#conversation.revision?.rules.polling === true;
  }

  get active(): number {
    return this.#conversation.active;
  }

  deliver(value: unknown, carrier: Carrier): void {
    this.#conversation.connection.deliver(value, carrier);
  }

  async ping(timeoutMs: number): Promise<boolean> {
    try {
      const { connection } = this.#conversation;
      await connection.ask(connection.newId(), undefined, { method: "ping", timeoutMs, carrier: this.#standing });
      return true;
    } catch (error) {
      // Whoever answers with an error is there.
      return error instanceof RpcError;
    }
  }

  close(graceMs: number): Promise<void> {
    return this.#conversation.close(graceMs);
  }
}

/** A server as an HTTP endpoint needs it. */
class ServerOverHttp implements HttpService {
  readonly limits: JsonRpcLimits;
  readonly #core: ServerCore;
  readonly #desk: HttpDesk;
  readonly #ladder: StatelessLadder;
  readonly #alone: AloneService;

  constructor(core: ServerCore, limits: HttpLimits) {
    this.#core = core;
    this.limits = core.limits;
    this.#desk = new HttpDesk(core, limits);
    this.#ladder = new StatelessLadder(core, this.#desk);
    this.#alone = new AloneService(core, this.#desk);
  }

  converse(standing: Carrier): HttpConversation {
    return new SessionConversation(this.#core, standing);
  }

  isStateless(value: unknown, version: string | undefined): boolean {
    if (version !== undefined && namesStateless(version.trim())) return true;
    if (Array.isArray(value)) return value.some(claims);
    return claims(value);
  }

  serveStateless(value: unknown, carrier: AloneCarrier): void {
    this.#ladder.serve(value, carrier);
  }

  serveAlone(value: unknown, carrier: AloneCarrier): void {
    this.#alone.serve(value, carrier);
  }

  hasSessions(version: string): boolean {
    return assumedRevision(version.trim()) !== undefined;
  }

  close(graceMs: number): Promise<void> {
    return this.#desk.close(graceMs);
  }
}

function claims(value: unknown): boolean {
  return (
    isJsonObject(value) && isJsonObject(value["params"]) && claimsStateless(value as unknown as NotificationMessage)
  );
}

// The ladder a POST of the stateless era climbs: envelope, headers, version, method, mirrored arguments, then service.

/** Seconds: what keeps a server busy is over soon. */
const RETRY_AFTER = ["retry-after", "1"];

const NOT_MIRRORED: readonly MirroredParam[] = [];

class StatelessLadder {
  readonly #core: ServerCore;
  readonly #desk: HttpDesk;
  readonly #mirrored = new WeakMap<Tool, readonly MirroredParam[]>();

  constructor(core: ServerCore, desk: HttpDesk) {
    this.#core = core;
    this.#desk = desk;
  }

  serve(value: unknown, carrier: AloneCarrier): void {
    if (value instanceof ParseFault) return refuse(carrier, value.id, value);
    if (Array.isArray(value))
      return refuse(carrier, undefined, invalid("Send one message at a time: there are no batches"));
    const kind = classify(value);
    if (kind === "request") return this.#request(value as RequestMessage, carrier);
    if (kind instanceof ParseFault) return refuse(carrier, kind.id, kind);
    if (kind !== "notification") return refuse(carrier, undefined, invalid("Responses must not be sent here"));
    this.#core.notified(value as NotificationMessage, carrier);
    carrier.abandon();
  }

  #request(message: RequestMessage, carrier: AloneCarrier): void {
    const claim = claimOf(message.params);
    if (claim === undefined) return refuse(carrier, message.id, unclaimed(message));
    const fault = headerFault(claim, carrier);
    if (fault !== undefined) return refuse(carrier, message.id, fault);
    const envelope = readEnvelope(claim);
    if (envelope instanceof RpcError) return refuse(carrier, message.id, envelope);
    const mismatched = methodHeaderFault(message, carrier) ?? this.#paramFault(message, carrier);
    if (mismatched !== undefined) return refuse(carrier, message.id, mismatched);
    if (this.#desk.busy) return carrier.refuse(503, failureText(message.id, busy().toObject()), RETRY_AFTER);
    const { revision, capabilities, client, logLevel } = envelope;
    const level = logLevel === undefined ? NO_LOGS : levelIndex(logLevel);
    const caller = { codec: codecFor(revision), capabilities, client, logLevel: level };
    const call = this.#desk.serve(message, caller, carrier);
    if (call !== undefined) carrier.onGone = new Waited(this.#desk, call);
  }

  #paramFault({ method, params }: RequestMessage, carrier: AloneCarrier): RpcError | undefined {
    if (method !== "tools/call") return undefined;
    const entry = this.#core.tools.get(params?.["name"] as string);
    if (entry === undefined) return undefined;
    const mirrored = this.#mirroredOf(entry.tool);
    return mirrored.length === 0 ? undefined : paramHeaderFault(mirrored, params?.["arguments"], carrier);
  }

  #mirroredOf(tool: Tool): readonly MirroredParam[] {
    let mirrored = this.#mirrored.get(tool);
    if (mirrored === undefined) {
      const found = mirroredParams(tool.inputSchema);
      // Clients drop a tool whose wishes are invalid, so none of them is expected of the few that do not.
      mirrored = typeof found === "string" ? NOT_MIRRORED : found;
      this.#mirrored.set(tool, mirrored);
    }
    return mirrored;
  }
}

/** A call whose client goes away is given up. */
class Waited implements GoneListener {
  readonly #desk: HttpDesk;
  readonly #call: Call;

  constructor(desk: HttpDesk, call: Call) {
    this.#desk = desk;
    this.#call = call;
  }

  gone(): void {
    this.#desk.cancel(this.#call);
  }
}

/** A version that is no text is the envelope's fault; any other must first be the header's. */
function headerFault(claim: JsonObject, carrier: AloneCarrier): RpcError | undefined {
  return typeof claim[META.protocolVersion] === "string" ? versionHeaderFault(claim, carrier) : undefined;
}

/** The header names this era, the body does not. */
function unclaimed(message: RequestMessage): RpcError {
  return message.method === "initialize"
    ? mismatch("MCP-Protocol-Version names a revision without initialize")
    : missingEnvelope();
}

function invalid(what: string): RpcError {
  return new RpcError(ErrorCode.InvalidRequest, what);
}

function refuse(carrier: AloneCarrier, id: RequestId | undefined, error: RpcError | ParseFault): void {
  const data = error instanceof RpcError ? error.data : undefined;
  const { code, message } = error;
  carrier.refuse(400, failureText(id, data === undefined ? { code, message } : { code, message, data }));
}
