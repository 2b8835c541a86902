// Streamable HTTP (basic/transports): which POST, GET and DELETE belongs to a session, which is served by itself, what is refused.
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import { isJsonObject, type NotificationMessage, quotedWords } from "../../jsonrpc/message.js";
import { classify, ParseFault, parseJson } from "../../jsonrpc/parse.js";
import { assumedRevision, claimsStateless, namesStateless } from "../../era/select.js";
import { ServerConversation } from "../../server/conversation.js";
import type { ServerCore } from "../../server/core.js";
import type { News } from "../../server/subscription.js";
import type { KeepAlive } from "./event-stream.js";
import type {
  BodyFault,
  BodyReceiver,
  HeaderList,
  HttpCluster,
  HttpExchange,
  Named,
  SessionFacts,
} from "./exchange.js";
import { answeredNode, type GuestSessions, type MakeGuests } from "./guest-sessions.js";
import { HttpSession, newSessionId, type SessionSettings, SessionTable, type Whose } from "./http-session.js";
import { type FrontDoor, type HttpRoute, type Permits, turnedAway } from "./http-site.js";
import { readsStreams, refuse, refuseAs, refuseMessage, Reply, turnAway, turnAwayForNow } from "./reply.js";
import {
  type Asked,
  missedOf,
  readEventId,
  replay,
  type ResumableStream,
  type StreamPosition,
} from "./resumable-stream.js";
import type { SessionlessRequests } from "./sessionless-requests.js";

interface StreamableHttpOptions {
  readonly core: ServerCore;
  readonly door: FrontDoor;
  /** Serves what belongs to no session. */
  readonly sessionless: SessionlessRequests;
  readonly permits: Permits | undefined;
  readonly pinger: KeepAlive | undefined;
  /** The other processes of the server. */
  readonly cluster?: HttpCluster | undefined;
  /** Makes what serves their sessions. */
  readonly guests?: MakeGuests | undefined;
  /** Undefined: no sessions, every message is served alone. */
  readonly sessions: SessionSettings | undefined;
}

const ALL_METHODS = ["allow", "GET, POST, DELETE"];
const POST_ONLY = ["allow", "POST"];
const RETRY_AFTER = ["retry-after", "60"];
const SOON = ["retry-after", "1"];
const MANY_STREAMS = "This session has as many streams open as it may have";

export class StreamableHttp implements HttpRoute, BodyReceiver {
  readonly #options: StreamableHttpOptions;
  readonly #table: SessionTable | undefined;
  /** Sessions of other processes. */
  readonly #guests: GuestSessions | undefined;

  constructor(options: StreamableHttpOptions) {
    this.#options = options;
    const { core, sessions, cluster, pinger, guests } = options;
    this.#table = sessions && new SessionTable(sessions.limits, pinger, cluster);
    this.#guests = sessions && cluster && guests?.(core, cluster, sessions);
  }

  /** Sessions open now. */
  get sessions(): number {
    return this.#table?.size ?? 0;
  }

  serve(exchange: HttpExchange): void {
    const named = exchange.method === "POST" ? undefined : this.#namedBy(exchange);
    if (named === undefined) this.#serve(exchange);
    else this.#options.cluster?.bring(exchange, named, () => this.#brought(exchange, named));
  }

  /** Whoever has a session replays its streams whose process has ended. */
  #brought(exchange: HttpExchange, { kind }: Named): void {
    const id = kind === "stream" ? this.#elsewhere(exchange) : undefined;
    if (id === undefined) this.#serve(exchange);
    else this.#options.cluster?.bring(exchange, { kind: "session", id }, () => this.#serve(exchange));
  }

  /** What another process told. */
  hear(news: News): void {
    this.#guests?.hear(news);
  }

  /** What a GET or DELETE names that may be another process's. */
  #namedBy(exchange: HttpExchange): Named | undefined {
    const { cluster } = this.#options;
    const node = cluster && exchange.relayed !== true ? streamOf(exchange)?.node : undefined;
    if (node !== undefined && node !== cluster?.node) return { kind: "stream", id: `${node}.` };
    if (node !== undefined && this.#guestOf(exchange) !== undefined) return undefined;
    const id = this.#elsewhere(exchange);
    return id === undefined ? undefined : { kind: "session", id };
  }

  /** Goes on with a session whose process has ended. `moved`: how often it has changed its process. */
  adopt(
    id: string,
    principal: string | undefined,
    { moved, ...facts }: SessionFacts & { readonly moved: number },
  ): void {
    const { sessions } = this.#options;
    if (sessions === undefined || this.#table === undefined || this.#table.has(id) || !this.#table.reserve()) return;
    const session = new HttpSession(id, principal, sessions, { moved, cluster: this.#options.cluster });
    this.#converse(session).restore(facts);
    this.#table.add(session);
    this.#keep(session, facts.params);
  }

  /** Whether a session is open here. */
  holds(id: string): boolean {
    return this.#table?.has(id) === true;
  }

  /** Another process goes on with a session. */
  release(id: string): void {
    this.#table?.handOver(id);
  }

  #serve(exchange: HttpExchange): void {
    switch (exchange.method) {
      case "POST":
        return this.#post(exchange);
      case "GET":
        return this.#get(exchange);
      case "DELETE":
        return this.#delete(exchange);
      default:
        return turnAway(exchange, 405, "Use POST", this.#table === undefined ? POST_ONLY : ALL_METHODS);
    }
  }

  body(exchange: HttpExchange, text: string): void {
    if (turnedAway(exchange)) return;
    const value = parseJson(text, this.#options.core.limits);
    const { cluster } = this.#options;
    if (cluster === undefined || exchange.relayed === true) return this.#take(exchange, value);
    const session = exchange.header("mcp-session-id");
    if (session !== undefined) {
      this.#guests?.said(exchange, session, value);
      const node = answeredNode(value);
      const here = (): void => this.#take(exchange, value);
      if (node === cluster.node) return here();
      if (node !== undefined) return cluster.bring(exchange, { kind: "call", id: `${node}.`, body: text }, here);
    }
    const id = this.#elsewhere(exchange);
    if (id === undefined) return this.#read(exchange, value, text);
    const there = (): void =>
      cluster.bring(exchange, { kind: "session", id, body: text }, () => this.#read(exchange, value, text));
    if (this.#guests?.serves(exchange, value) !== true) return there();
    this.#guests.open(exchange, id, { here: () => this.#take(exchange, value), there });
  }

  /** The session a request names that may be another process's; undefined for a request that is for this one. */
  #elsewhere(exchange: HttpExchange): string | undefined {
    const { cluster } = this.#options;
    if (cluster === undefined || exchange.relayed === true) return undefined;
    const id = exchange.header("mcp-session-id");
    if (id === undefined || this.#table === undefined) return undefined;
    if (this.#table.has(id) && !cluster.lapsed) return undefined;
    return isStateless(undefined, exchange.header("mcp-protocol-version")) ? undefined : id;
  }

  #read(exchange: HttpExchange, value: unknown, text: string): void {
    const { cluster } = this.#options;
    const mayBeAway = cluster !== undefined && exchange.relayed !== true;
    const stateless = mayBeAway && isStateless(value, exchange.header("mcp-protocol-version"));
    const named = stateless ? namedIn(value) : undefined;
    if (named === undefined) this.#take(exchange, value);
    else cluster?.bring(exchange, { ...named, body: text }, () => this.#take(exchange, value));
  }

  #take(exchange: HttpExchange, value: unknown): void {
    if (turnedAway(exchange)) return;
    const refusal = this.#options.permits?.(exchange, value);
    if (refusal !== undefined) return refuseAs(exchange, refusal);
    if (isStateless(value, exchange.header("mcp-protocol-version"))) {
      this.#options.sessionless.serveStateless(value, exchange);
    } else if (this.#table === undefined) {
      this.#serveByItself(exchange, value);
    } else {
      this.#serveSession(exchange, value, this.#table);
    }
  }

  bodyFault(exchange: HttpExchange, fault: BodyFault): void {
    if (fault === "too-long") return turnAway(exchange, 413, "The body is too long");
    if (fault === "no-room") return turnAwayForNow(exchange);
    refuseMessage(exchange, 400, new RpcError(ErrorCode.ParseError, "Parse error: the body is not UTF-8"));
  }

  /** Ends the sessions of some principals at once: what they have running is cancelled. */
  async endOf(whose: Whose): Promise<void> {
    await Promise.all([this.#table?.endOf(whose), this.#guests?.endOf(whose)]);
  }

  /** Ends all sessions: what runs in them may finish within `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([this.#table?.endAll(graceMs), this.#guests?.close(graceMs)]);
  }

  #post(exchange: HttpExchange): void {
    const limit = this.#options.core.limits.messageBytes;
    const refusal = this.#options.door.bodyRefusal(exchange, limit);
    if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text);
    else exchange.readBody(limit, this);
  }

  #serveByItself(exchange: HttpExchange, value: unknown): void {
    if (isInitialize(value) || this.#knowsVersion(exchange)) this.#options.sessionless.serve(value, exchange);
  }

  #serveSession(exchange: HttpExchange, value: unknown, table: SessionTable): void {
    const id = exchange.header("mcp-session-id");
    if (id === undefined) {
      if (isInitialize(value)) this.#open(exchange, value, table);
      else this.#withoutSession(exchange, value);
      return;
    }
    const session = this.#find(id, exchange.principal, answeredNode(value));
    if (session === undefined) return unknownSession(exchange, value);
    if (!this.#knowsVersion(exchange)) return undefined;
    session.used = performance.now();
    const reply = new Reply(exchange, session);
    reply.asked = askedIn(value);
    session.conversation.connection.deliver(value, reply);
    reply.linger();
  }

  /** The session of an id, or the guest; `node`: the process whose guest is meant. */
  #find(id: string, principal: string | undefined, node?: string): HttpSession | undefined {
    if (node !== undefined) return this.#guests?.find(id, principal);
    return this.#table?.find(id, principal) ?? this.#guests?.find(id, principal);
  }

  #open(exchange: HttpExchange, value: unknown, table: SessionTable): void {
    const { sessions, cluster } = this.#options;
    if (sessions === undefined || !table.reserve()) {
      return refuse(exchange, 503, "There are too many sessions: try again later", RETRY_AFTER);
    }
    const session = new HttpSession(newSessionId(cluster?.node), exchange.principal, sessions, {
      moved: cluster && 0,
      cluster,
    });
    const conversation = this.#converse(session);
    // A successful answer makes the session real and tells the client its id, so the reply cannot begin before it is there.
    const opening = (succeeded: boolean): HeaderList => {
      if (succeeded && !exchange.over && exchange.pass?.refusal(exchange) === undefined) {
        table.add(session);
        this.#keep(session, (value as { readonly params: SessionFacts["params"] }).params);
        return session.headers;
      }
      table.release();
      queueMicrotask(() => void session.close(0));
      return [];
    };
    conversation.connection.deliver(value, new Reply(exchange, session, opening));
  }

  #converse(session: HttpSession): ServerConversation {
    const { core } = this.#options;
    const conversation = new ServerConversation(core, session);
    session.conversation = conversation;
    core.conversations.add(conversation);
    return conversation;
  }

  /** Lets another process go on with the session should this one end. */
  #keep(session: HttpSession, params: SessionFacts["params"]): void {
    const { cluster } = this.#options;
    if (cluster === undefined) return;
    const keep = (): void => {
      const facts = session.conversation.facts(keep);
      if (!session.closed) cluster.keepSession(session.id, session.principal, { params, ...facts });
    };
    keep();
  }

  /** A ping and what is no message at all are answered; everything else needs the session it forgot to name. */
  #withoutSession(exchange: HttpExchange, value: unknown): void {
    const isPing = isJsonObject(value) && value["method"] === "ping";
    if (value instanceof ParseFault || isPing || classify(value) instanceof ParseFault) {
      if (!Array.isArray(value)) return this.#serveByItself(exchange, value);
    }
    const what = 'Server not initialized: send "initialize" first, then its Mcp-Session-Id with every request';
    refuseMessage(exchange, 400, new RpcError(ErrorCode.InvalidRequest, what), { id: idOf(value) });
  }

  #get(exchange: HttpExchange): void {
    if (turnedAway(exchange)) return;
    const session = this.#session(exchange);
    if (session === undefined) return;
    if (!readsStreams(exchange)) return refuse(exchange, 406, "Send Accept: text/event-stream");
    session.used = performance.now();
    const last = exchange.header("last-event-id");
    if (last !== undefined && last !== "") return this.#resume(exchange, session, last);
    if (!session.listen(exchange)) refuse(exchange, 409, MANY_STREAMS);
  }

  #resume(exchange: HttpExchange, session: HttpSession, last: string): void {
    const position = readEventId(last);
    const found = position && session.stream(position.stream);
    const stream = found?.tag === position?.tag ? found : undefined;
    if (stream === undefined && position !== undefined && position.tag !== "") {
      return void this.#replay(exchange, session, position);
    }
    if (position === undefined || stream === undefined) return lost(exchange);
    const restart = (): void => this.#restart(exchange, session, stream);
    stream.resume(exchange, position.sequence).then((resumed) => {
      if (!resumed) restart();
    }, restart);
  }

  /** Its process has ended, or has forgotten it: what all processes keep of it goes on here. */
  async #replay(exchange: HttpExchange, session: HttpSession, position: StreamPosition): Promise<void> {
    const missed = await missedOf(session, position).catch((error: unknown) => {
      this.#options.core.report("warning", "What is kept of a stream could not be read", { error });
      return "unknown" as const;
    });
    if (exchange.over || turnedAway(exchange)) return;
    if (position.standing) {
      // Unsolicited messages go on, though some may be lost.
      const earlier = missed === "unknown" ? undefined : missed?.text;
      if (!session.listen(exchange, earlier)) refuse(exchange, 409, MANY_STREAMS);
    } else if (missed === "unknown") {
      refuse(exchange, 503, "What was kept of this stream cannot be read now: try again", SOON);
    } else if (missed === undefined) {
      // Of an answer that is lost the client has to know.
      unknownSession(exchange, undefined);
    } else replay(exchange, session, missed);
  }

  /** What cannot be resumed without a loss is refused, but for unsolicited messages: the next ones are worth having. */
  #restart(exchange: HttpExchange, session: HttpSession, stream: ResumableStream): void {
    if (exchange.over || turnedAway(exchange)) return;
    if (session.listens(stream) && session.listen(exchange)) return;
    if (stream.tag === "") lost(exchange);
    else unknownSession(exchange, undefined);
  }

  #delete(exchange: HttpExchange): void {
    const session = this.#session(exchange);
    if (session === undefined) return;
    void this.#table?.end(session).then(() => exchange.reply(204, []));
  }

  /** The session a GET or DELETE names; undefined when it was refused. */
  #session(exchange: HttpExchange): HttpSession | undefined {
    const version = exchange.header("mcp-protocol-version");
    if (this.#table === undefined || isStateless(undefined, version)) {
      refuse(exchange, 405, "Use POST", POST_ONLY);
      return undefined;
    }
    const id = exchange.header("mcp-session-id");
    if (id === undefined) {
      refuse(exchange, 400, "Send the Mcp-Session-Id that initialize was answered with");
      return undefined;
    }
    const session = this.#guestOf(exchange) ?? this.#table.find(id, exchange.principal);
    if (session === undefined) unknownSession(exchange, undefined);
    else if (this.#knowsVersion(exchange)) return session;
    return undefined;
  }

  /** The session of another process whose stream a reader comes back to here. */
  #guestOf(exchange: HttpExchange): HttpSession | undefined {
    const node = streamOf(exchange)?.node;
    if (node === undefined || node !== this.#options.cluster?.node) return undefined;
    return this.#guests?.find(exchange.header("mcp-session-id") ?? "", exchange.principal);
  }

  /** Whether MCP-Protocol-Version is absent or names a revision with sessions; refuses the request otherwise. */
  #knowsVersion(exchange: HttpExchange): boolean {
    const version = exchange.header("mcp-protocol-version");
    if (version === undefined || assumedRevision(version.trim()) !== undefined) return true;
    const what = `Unsupported MCP-Protocol-Version: ${quotedWords(version)}`;
    refuseMessage(exchange, 400, new RpcError(ErrorCode.InvalidRequest, what));
    return false;
  }
}

/** Whether a parsed message, batch or fault belongs to the stateless era: the header decides, then the body. */
function isStateless(value: unknown, version: string | undefined): boolean {
  if (version !== undefined && namesStateless(version.trim())) return true;
  return Array.isArray(value) ? value.some(claims) : claims(value);
}

function claims(value: unknown): boolean {
  return (
    isJsonObject(value) && isJsonObject(value["params"]) && claimsStateless(value as unknown as NotificationMessage)
  );
}

function unknownSession(exchange: HttpExchange, value: unknown): void {
  const what = "There is no such session (any more): send a new initialize without Mcp-Session-Id";
  refuseMessage(exchange, 404, new RpcError(ErrorCode.InvalidRequest, what), { id: idOf(value) });
}

/** The stream a reader comes back to. */
function streamOf(exchange: HttpExchange): ReturnType<typeof readEventId> {
  const last = exchange.method === "GET" ? exchange.header("last-event-id") : undefined;
  return last === undefined ? undefined : readEventId(last);
}

function lost(exchange: HttpExchange): void {
  refuse(exchange, 400, "What came after this Last-Event-ID is not kept any more: send the request again");
}

/** What a message of the stateless era names that lives in one process: a call that waits for its retry, or a task. */
function namedIn(value: unknown): Named | undefined {
  const params = isJsonObject(value) ? value["params"] : undefined;
  if (!isJsonObject(params)) return undefined;
  const { requestState, taskId } = params;
  if (typeof requestState === "string") return { kind: "call", id: requestState };
  return typeof taskId === "string" ? { kind: "task", id: taskId } : undefined;
}

/** What a message, or a batch, has to be answered for. */
function askedIn(value: unknown): Asked {
  if (!Array.isArray(value)) return idOf(value);
  return value.map(idOf).filter((id) => id !== undefined);
}

function isInitialize(value: unknown): boolean {
  return isJsonObject(value) && value["method"] === "initialize";
}

function idOf(value: unknown): string | number | undefined {
  const id = isJsonObject(value) && "method" in value ? value["id"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
