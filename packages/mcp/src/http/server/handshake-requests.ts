// Requests of the handshake era (up to 2025-11-25) over HTTP: in sessions, with their streams, or each by itself where there are none.
import { type Call, type Caller, NO_LOGS } from "../../endpoint/call.js";
import { assumedRevision, codecFor, openSession } from "../../era/select.js";
import { Connection, type ConnectionHandler, type WireRules } from "../../jsonrpc/connection.js";
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import {
  type Awaitable,
  failureText,
  isJsonObject,
  type NotificationMessage,
  quotedWords,
  type RequestMessage,
} from "../../jsonrpc/message.js";
import { classify, ParseFault } from "../../jsonrpc/parse.js";
import type { Carrier } from "../../jsonrpc/transport.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import { serveHandshake, ServerConversation } from "../../server/conversation.js";
import type { ServerCore } from "../../server/core.js";
import * as ending from "./ending.js";
import { Guard, judgeOf, servePage } from "./guard.js";
import type { PingLimits } from "./http-limits.js";
import type { HeaderList, HttpCluster, HttpExchange, Named, SessionFacts } from "./exchange.js";
import type { GuestSessions, OtherProcesses } from "./guest-sessions.js";
import {
  answeredNode,
  HttpSession,
  newSessionId,
  pingerOf,
  type SessionSettings,
  SessionTable,
  type Whose,
} from "./http-session.js";
import { ofStatelessEra, turnedAway } from "./http-site.js";
import { handshakeStatus, readsStreams, refuse, refuseMessage, Reply, type ReplyOwner } from "./reply.js";
import {
  type Asked,
  type EventStore,
  MemoryEventStore,
  missedOf,
  readEventId,
  replay,
  type ResumableStream,
  type StreamPosition,
} from "./resumable-stream.js";
import type { SessionlessRequests } from "./sessionless-requests.js";
import { SseEndpoint, type SseOptions } from "./sse-endpoint.js";

export interface HandshakeOptions {
  readonly core: ServerCore;
  /** Counts what belongs to no session. */
  readonly sessionless: SessionlessRequests;
  readonly pings: PingLimits | undefined;
  /** The other processes of the server. */
  readonly cluster?: HttpCluster | undefined;
  readonly processes?: OtherProcesses | undefined;
  /** Undefined: no sessions, every message is served alone. */
  readonly sessions: EndpointSessions | undefined;
}

/** What the sessions of all servers of an endpoint are made with. */
interface EndpointSessions extends Omit<SessionSettings, "store"> {
  /** Of the program's own. */
  readonly own: EventStore | undefined;
  /** Made for the first server that needs it: in memory, where the program has none. */
  store: EventStore | undefined;
}

function settingsOf(sessions: EndpointSessions, core: ServerCore): SessionSettings {
  const { own } = sessions;
  const store = (sessions.store ??=
    own === undefined ? new MemoryEventStore(sessions.limits) : guardedStore(own, core));
  return { ...sessions, store };
}

/** A store of somebody's own: what it throws costs the event, not the process. */
function guardedStore(store: EventStore, core: ServerCore): EventStore {
  return {
    append: (...event) => core.guarded("append of eventStore", () => store.append(...event)),
    after: async (...place) => {
      const kept: unknown = await store.after(...place);
      return Array.isArray(kept) ? (kept as Awaited<ReturnType<EventStore["after"]>>) : [];
    },
    forget: (session) => core.guarded("forget of eventStore", () => store.forget(session)),
  };
}

/** A message that may be of a session of another process. */
interface Handed {
  readonly exchange: HttpExchange;
  readonly value: unknown;
  readonly text: string;
  /** Serves it in this process. */
  readonly here: () => void;
}

const POST_ONLY = ["allow", "POST"];
const RETRY_AFTER = ["retry-after", "60"];
const SOON = ["retry-after", "1"];
/** Milliseconds between two looks at whether calls that were held back may go on. */
const LOOK_MS = 20;
const ENDS = "The server is shutting down and has not served this: send it again in a moment";
const MOVES =
  "This process is shutting down and has not served this: send it again, another one goes on with the session";
/** Another one may have the session by now, and have asked. */
const CUT_OFF = "This process is cut off from the others and has not asked this: answer again in a moment";
const MANY_STREAMS = "This session has as many streams open as it may have";

export class HandshakeRequests implements ConnectionHandler {
  readonly #options: HandshakeOptions;
  readonly #settings: SessionSettings | undefined;
  readonly #table: SessionTable | undefined;
  /** Sessions of other processes. */
  readonly guests: GuestSessions | undefined;
  /** Of what belongs to no session. */
  readonly #alone: ReplyOwner;
  /** Reads what belongs to no session. No call asks over it, so that nobody's answer reaches another's question. */
  readonly #posted: Connection<Call>;
  readonly #callers = new Map<Revision, Caller>();
  /** Calls that wait for their session to be another process's, by the id of that. */
  #heldBack: (readonly [string, () => void])[] = [];
  #looking: ReturnType<typeof setInterval> | undefined;
  #closing = false;
  #rules: WireRules = { batches: true, unreadableId: "null" };

  constructor(options: HandshakeOptions) {
    this.#options = options;
    const { core, sessionless, sessions, cluster, pings, processes } = options;
    serveHandshake(core);
    this.#table = sessions && new SessionTable(sessions.limits, pingerOf(pings, core), cluster);
    this.#settings = sessions && settingsOf(sessions, core);
    this.guests = this.#settings && cluster && processes?.makeGuests(core, cluster, this.#settings);
    this.#alone = sessionless.owner(handshakeStatus);
    this.#posted = new Connection(this, core.limits);
  }

  /** Sessions open now. */
  get sessions(): number {
    return this.#table?.size ?? 0;
  }

  /** Goes on with a session whose process has ended. `moved`: how often it has changed its process. False: there is no room for it. */
  adopt(
    id: string,
    principal: string | undefined,
    { moved, ...facts }: SessionFacts & { readonly moved: number },
  ): boolean {
    const settings = this.#settings;
    if (settings === undefined || this.#table === undefined || this.holds(id)) return true;
    // Nothing would end one that comes when all have ended.
    if (this.#closing || !this.#table.reserve()) return false;
    const session = new HttpSession(id, principal, settings, { moved, cluster: this.#options.cluster });
    const conversation = this.#converse(session);
    conversation.restore(facts);
    // An answer that comes late, to a question of the process before, answers none of this one.
    conversation.connection.idPrefix = `${moved}-`;
    this.#table.add(session);
    this.#keep(session, facts.params);
    return true;
  }

  /** Whether a session is open here. One that another process may go on with is let go of where nothing is under way in it. */
  holds(id: string): boolean {
    const { core, cluster } = this.#options;
    const session = this.#table?.get(id);
    if (session === undefined || cluster?.mayLetGo(id) !== true) return session !== undefined;
    const { active, connection } = session.conversation;
    // What a task asks reaches its client by the process that has both.
    if (active > 0 || connection.pending > 0 || core.tasks?.runsOver(connection) === true) return true;
    this.#table?.letGo(session);
    return false;
  }

  /** Whether this process is going down, and any other may serve a request: outside of sessions, or a call of one that is here. */
  handsOn(exchange: HttpExchange, value: unknown): boolean {
    if (exchange.pass?.drains !== true) return false;
    const id = exchange.header("mcp-session-id");
    return (
      id === undefined ||
      (this.#options.cluster?.mayLetGo(id) === true && this.guests?.serves(exchange, value) === true)
    );
  }

  /**
   * Has a new call that needs the process of its session wait where this one is going down, until nothing else is under way in the
   * session: then another process has it. Who calls without a pause would keep this one from its end. False: it need not wait.
   */
  holdsBack(exchange: HttpExchange, value: unknown, goOn: () => void): boolean {
    const id = exchange.header("mcp-session-id");
    const calls = isJsonObject(value) && value["method"] === "tools/call";
    if (!calls || id === undefined || this.#closing || this.#options.cluster?.mayLetGo(id) !== true) return false;
    if (this.guests?.serves(exchange, value) === true || !this.holds(id)) return false;
    this.#heldBack.push([id, goOn]);
    this.#looking ??= setInterval(() => this.#goOn(), LOOK_MS);
    return true;
  }

  /** Serves a message that another process has handed on. What is not to be served here is once more. */
  handedOn(read: Handed): void {
    const { exchange, value, text: body, here } = read;
    if (answeredNode(value) !== undefined) return here();
    if (this.holdsBack(exchange, value, () => this.handedOn(read))) return;
    const id = this.elsewhere(exchange, true);
    if (id === undefined) return here();
    const there = (): void => this.#options.cluster?.bring(exchange, { kind: "session", id, body }, here);
    this.serveGuest(read, id, there);
  }

  /** Serves a message of another process's session here where any process may, unless this one is going down; else calls `there`. */
  serveGuest({ exchange, value, here }: Handed, id: string, there: () => void): void {
    if (exchange.pass?.drains === true || this.guests?.serves(exchange, value) !== true) there();
    else this.guests.open(exchange, id, { here, there });
  }

  #goOn(): void {
    const all = this.#heldBack;
    this.#heldBack = [];
    for (const each of all) {
      const [id, goOn] = each;
      if (!this.#closing && this.holds(id) && this.#options.cluster?.mayLetGo(id) === true) this.#heldBack.push(each);
      else goOn();
    }
    if (this.#heldBack.length > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** Keeps a session for the others once more. */
  keep(id: string): void {
    this.#table?.get(id)?.keep?.();
  }

  /** Another process goes on with a session. */
  release(id: string): void {
    this.#table?.handOver(id);
  }

  /** Serves a GET or a DELETE: streams, and the end of a session. */
  serve(exchange: HttpExchange): void {
    const named = this.#namedBy(exchange);
    if (named === undefined) this.#serve(exchange);
    else this.#options.cluster?.bring(exchange, named, () => this.#brought(exchange, named));
  }

  /** Serves a parsed message, batch or fault. */
  take(exchange: HttpExchange, value: unknown): void {
    if (this.#table === undefined) this.#serveByItself(exchange, value);
    else this.#serveSession(exchange, value, this.#table);
  }

  /** Ends the sessions of some principals at once: what they have running is cancelled. */
  async endOf(whose: Whose): Promise<void> {
    await Promise.all([this.#table?.endOf(whose), this.guests?.endOf(whose)]);
  }

  /** Ends all sessions: what runs in them may finish within `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const ended = Promise.all([this.#table?.endAll(graceMs), this.guests?.close(graceMs)]);
    // What their sessions still have under way leaves them no time: they are refused, which says that they did not run.
    this.#goOn();
    await ended;
  }

  /** The session a request names that may be another process's; undefined for a request that is for this one. */
  readonly elsewhere = (exchange: HttpExchange, relayed = false): string | undefined => {
    const { cluster } = this.#options;
    if (cluster === undefined || (exchange.relayed === true && !relayed)) return undefined;
    const id = exchange.header("mcp-session-id");
    if (id === undefined || this.#table === undefined) return undefined;
    if (this.holds(id) && !cluster.lapsed) return undefined;
    return ofStatelessEra(exchange) ? undefined : id;
  };

  // What `#posted` reads.

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
    if (revision !== undefined) this.#options.sessionless.begin(message, this.#callerOf(revision), carrier);
  }

  notification(message: NotificationMessage, carrier: Carrier): void {
    this.#options.core.notified(message, carrier);
  }

  #initialize(message: RequestMessage, carrier: Carrier): void {
    const opened = openSession(message.params ?? {});
    if (!(opened instanceof RpcError))
      this.#options.sessionless.begin(message, this.#callerOf(opened.revision), carrier);
    else void carrier.write(failureText(message.id, opened.toObject()), "response", opened.code);
  }

  /** Without a session nothing is known of the caller: it can be asked nothing and wants no logs. */
  #callerOf(revision: Revision): Caller {
    let caller = this.#callers.get(revision);
    if (caller === undefined) {
      caller = Object.freeze({
        codec: codecFor(revision),
        capabilities: {},
        client: undefined,
        alone: true,
        logLevel: NO_LOGS,
      });
      this.#callers.set(revision, caller);
    }
    return caller;
  }

  #serve(exchange: HttpExchange): void {
    if (exchange.method === "GET") this.#get(exchange);
    else this.#delete(exchange);
  }

  /** Whoever has a session replays its streams whose process has ended. */
  #brought(exchange: HttpExchange, { kind }: Named): void {
    const id = kind === "stream" ? this.elsewhere(exchange) : undefined;
    if (id === undefined) this.#serve(exchange);
    else this.#options.cluster?.bring(exchange, { kind: "session", id }, () => this.#serve(exchange));
  }

  /** What a GET or DELETE names that may be another process's. */
  #namedBy(exchange: HttpExchange): Named | undefined {
    const { cluster } = this.#options;
    const node = cluster && exchange.relayed !== true ? streamOf(exchange)?.node : undefined;
    if (node !== undefined && node !== cluster?.node) return { kind: "stream", id: `${node}.` };
    if (node !== undefined && this.#guestOf(exchange) !== undefined) return undefined;
    const id = this.elsewhere(exchange);
    return id === undefined ? undefined : { kind: "session", id };
  }

  #serveByItself(exchange: HttpExchange, value: unknown): void {
    if (!isInitialize(value) && !this.#knowsVersion(exchange)) return;
    // Read by the connection before `deliver` returns, so one field serves all.
    this.#rules = assumedRevision(exchange.header("mcp-protocol-version"))?.rules ?? this.#rules;
    const reply = new Reply(exchange, this.#alone);
    this.#posted.deliver(value, reply);
    reply.linger();
  }

  #serveSession(exchange: HttpExchange, value: unknown, table: SessionTable): void {
    const id = exchange.header("mcp-session-id");
    if (id === undefined) {
      if (isInitialize(value)) this.#open(exchange, value, table);
      else this.#withoutSession(exchange, value);
      return;
    }
    const asker = answeredNode(value);
    const session = this.#find(id, exchange.principal, asker);
    // What asked for this answer has ended with its process, which says nothing of the session: the answer is too late.
    if (session === undefined && asker !== undefined) return exchange.reply(202, []);
    if (session === undefined) return this.#unknown(exchange, value);
    if (!this.#knowsVersion(exchange)) return undefined;
    if (session.closing && idOf(value) !== undefined) return this.#turnAway(exchange, value);
    if (this.#options.cluster?.lapsed === true && isStray(value, session)) return refuse(exchange, 503, CUT_OFF, SOON);
    session.used = performance.now();
    const reply = new Reply(exchange, session);
    reply.asked = askedIn(value);
    session.conversation.connection.deliver(value, reply);
    reply.linger();
  }

  /** The session of an id, or the guest; `node`: the process whose guest is meant. */
  #find(id: string, principal: string | undefined, node?: string): HttpSession | undefined {
    if (node !== undefined) return this.guests?.find(id, principal);
    return this.#table?.find(id, principal) ?? this.guests?.find(id, principal);
  }

  #open(exchange: HttpExchange, value: unknown, table: SessionTable): void {
    const settings = this.#settings;
    const { cluster } = this.#options;
    if (settings === undefined || !table.reserve()) {
      return refuse(exchange, 503, "There are too many sessions: try again later", RETRY_AFTER);
    }
    const session = new HttpSession(newSessionId(cluster?.node), exchange.principal, settings, {
      moved: cluster && 0,
      cluster,
    });
    const conversation = this.#converse(session);
    // A successful answer makes the session real and tells the client its id, so the reply cannot begin before it is there.
    const opening = (succeeded: boolean): HeaderList => {
      const late =
        exchange.over || exchange.pass?.refusesNew === true || exchange.pass?.refusal(exchange) !== undefined;
      if (succeeded && !late) {
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
    session.keep = keep;
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
    if (this.#table === undefined || ofStatelessEra(exchange)) {
      refuse(exchange, 405, "Use POST", POST_ONLY);
      return undefined;
    }
    const id = exchange.header("mcp-session-id");
    if (id === undefined) {
      refuse(exchange, 400, "Send the Mcp-Session-Id that initialize was answered with");
      return undefined;
    }
    const session = this.#guestOf(exchange) ?? this.#table.find(id, exchange.principal);
    if (session === undefined) this.#unknown(exchange, undefined);
    else if (this.#knowsVersion(exchange)) return session;
    return undefined;
  }

  /** A process that is ending has let go of its sessions: that says nothing of those which another one goes on with. */
  #unknown(exchange: HttpExchange, value: unknown): void {
    if (this.#closing && this.#options.cluster !== undefined) this.#turnAway(exchange, value);
    else unknownSession(exchange, value);
  }

  #turnAway(exchange: HttpExchange, value: unknown): void {
    const error = new RpcError(ErrorCode.InternalError, exchange.pass?.refusesNew === false ? MOVES : ENDS);
    refuseMessage(exchange, 503, error, { id: idOf(value), headers: SOON });
  }

  /** The session of another process whose stream a reader comes back to here. */
  #guestOf(exchange: HttpExchange): HttpSession | undefined {
    const node = streamOf(exchange)?.node;
    if (node === undefined || node !== this.#options.cluster?.node) return undefined;
    return this.guests?.find(exchange.header("mcp-session-id") ?? "", exchange.principal);
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

/** Whether it answers what nobody here has asked. */
function isStray(value: unknown, { conversation }: HttpSession): boolean {
  if (!isJsonObject(value) || "method" in value) return false;
  const { id } = value;
  return (typeof id === "string" || typeof id === "number") && !conversation.connection.awaits(id);
}

function unknownSession(exchange: HttpExchange, value: unknown): void {
  const what =
    "There is no such session (any more): it has ended, was not used for too long, or its process kept it in memory alone and has ended. Send a new initialize without Mcp-Session-Id";
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

// All that an endpoint needs for this era, and for whoever is asked who it is: what many a program never meets.

/** What asks callers who they are, and judges what they may. */
export type GuardCode = Pick<typeof import("./guard.js"), "Guard" | "judgeOf" | "servePage">;

/** Makes what serves the era. Its code is at hand, or loaded for the first request that needs it. */
export interface EndpointParts {
  /** What asks and judges callers. */
  guard(): Awaitable<GuardCode>;
  handshake(options: HandshakeOptions): Awaitable<HandshakeRequests>;
  sse(options: SseOptions): Awaitable<SseEndpoint>;
  /** What ends the endpoint. */
  ending(): Awaitable<typeof ending>;
}

/** At hand: for processes that start once. */
export const PARTS_AT_HAND: EndpointParts = {
  guard: () => ({ Guard, judgeOf, servePage }),
  handshake: (options) => new HandshakeRequests(options),
  sse: (options) => new SseEndpoint(options),
  ending: () => ending,
};
