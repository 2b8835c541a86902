// HTTP+SSE of 2024-11-05: one GET is the session, its answers are events, messages are posted to a second path.
import { STOPPED } from "../../endpoint/call.js";
import { IntakeGate } from "../../jsonrpc/connection.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { isJsonObject } from "../../jsonrpc/message.js";
import { startTimer } from "../../jsonrpc/outgoing.js";
import { ParseFault } from "../../jsonrpc/parse.js";
import type { Carrier, OutgoingKind } from "../../jsonrpc/transport.js";
import { ServerConversation } from "../../server/conversation.js";
import type { ServerCore } from "../../server/core.js";
import { EventStream, type ReplyStream, type StreamKeeper } from "./event-stream.js";
import type { BodyFault, BodyReceiver, HttpCluster, HttpExchange } from "./exchange.js";
import type { PingLimits, SessionLimits } from "./http-limits.js";
import { type KeepAlive, newSessionId, pingerOf, type Whose } from "./http-session.js";
import { begunTooLate, type FrontDoor, isPermitted, type Permits, readMessage, turnedAway } from "./http-site.js";
import {
  handshakeStatus,
  refuse,
  failRequest,
  refuseMessage,
  Reply,
  type ReplyOwner,
  turnAway,
  refuseBody,
} from "./reply.js";

export interface SseOptions {
  readonly core: ServerCore;
  readonly door: FrontDoor;
  readonly keeper: StreamKeeper;
  readonly permits: Permits | undefined;
  readonly pings: PingLimits | undefined;
  readonly limits: SessionLimits;
  /** The other processes of the server: one of them may have the stream. */
  readonly cluster?: HttpCluster | undefined;
  readonly path: string;
  readonly messages: string;
}

/** One session: its stream, which takes whatever the server says, and what is posted to it. */
class SseSession implements Carrier, ReplyStream {
  readonly kind = "sse";
  readonly principal: string | undefined;
  readonly stream: EventStream;
  readonly conversation: ServerConversation;
  readonly intake: SseIntake;
  /** Of posted requests: the intake is told of their answers, and when the reader has caught up with them. */
  readonly requests: ReplyOwner;
  /** Of all else that is posted. */
  readonly others: ReplyOwner = owner(this);
  timer: ReturnType<typeof setTimeout> | undefined;

  constructor(exchange: HttpExchange, { core, keeper }: SseOptions) {
    this.principal = exchange.principal;
    this.stream = new EventStream(exchange, keeper);
    this.conversation = new ServerConversation(core, this);
    core.conversations.add(this.conversation);
    const take = (posted: Posted): void => this.deliver(posted, this.requests);
    const intake = new SseIntake(core.limits.inFlight, this.stream, take);
    this.intake = intake;
    this.requests = owner({
      closed: false,
      send: (text, droppable) => this.send(text, droppable),
      finish: (text) => {
        const written = this.finish(text);
        intake.settled(text?.length ?? 0, written);
        return written;
      },
    });
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  header(): undefined {
    return undefined;
  }

  write(text: string, kind: OutgoingKind): void | Promise<void> {
    return this.send(text, kind === "notification");
  }

  send(text: string, droppable: boolean): void | Promise<void> {
    if (droppable && this.stream.full) return undefined;
    return this.stream.write(`event: message\ndata: ${text}\n\n`);
  }

  finish(text?: string): void | Promise<void> {
    return text === undefined ? undefined : this.send(text, false);
  }

  /** The stream is the session's, the token that of each message. */
  deliver({ exchange, value }: Posted, replies: ReplyOwner): void {
    exchange.reply(202, ["content-type", "text/plain; charset=utf-8"], "Accepted");
    this.conversation.connection.deliver(value, new Reply(exchange, replies));
  }
}

/** Owns the replies of a session: none of them opens a stream of its own. */
function owner(shared: ReplyStream): ReplyOwner {
  return { kind: "sse", answers: "sse", status: handshakeStatus, openStream: () => shared, shared };
}

/** How long answers may hold up what was posted after: it may be what they wait for. */
const OVERDUE_MS = 50;

/** A posted request that waits, its POST not answered yet. */
interface Posted {
  readonly exchange: HttpExchange;
  readonly value: unknown;
}

/**
 * What is posted to one session is taken in no faster than its answers are read: all of them go to one stream, which a client may
 * leave unread while it posts on and on.
 */
class SseIntake {
  readonly #gate: IntakeGate;
  readonly #stream: EventStream;
  readonly #take: (posted: Posted) => void;
  #waiting: Posted[] = [];
  #overdue: ReturnType<typeof setTimeout> | undefined;

  /** `most` requests are in service at once at most. */
  constructor(most: number, stream: EventStream, take: (posted: Posted) => void) {
    this.#gate = new IntakeGate(most);
    this.#stream = stream;
    this.#take = take;
  }

  enter(posted: Posted): void {
    this.#waiting.push(posted);
    this.#admit();
  }

  settled(length: number, read: void | Promise<void>): void {
    this.#gate.settled(length);
    if (read === undefined) this.#admit();
    else void read.then(() => this.#admit());
  }

  /** The session is over: what still waits, for whoever answers it. */
  end(): readonly Posted[] {
    clearTimeout(this.#overdue);
    const left = this.#waiting;
    this.#waiting = [];
    return left;
  }

  #admit(): void {
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    while (this.#gate.room > 0 && !this.#stream.full) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.exchange.over) continue;
      this.#gate.delivered();
      this.#take(next);
    }
    // A reader that is behind ends the wait by reading, or is cut.
    if (this.#waiting.length > 0 && !this.#stream.full) this.#overdue = setTimeout(this.#letMoreIn, OVERDUE_MS);
  }

  readonly #letMoreIn = (): void => {
    this.#gate.overdue();
    this.#admit();
  };
}

export class SseEndpoint implements BodyReceiver {
  readonly #options: SseOptions;
  readonly #pinger: KeepAlive | undefined;
  readonly #sessions = new Map<string, SseSession>();

  constructor(options: SseOptions) {
    this.#options = options;
    this.#pinger = pingerOf(options.pings, options.core);
  }

  /** Sessions open now. */
  get sessions(): number {
    return this.#sessions.size;
  }

  body(exchange: HttpExchange, text: string): void {
    try {
      this.#body(exchange, text);
    } catch (error) {
      failRequest(exchange, error, this.#options.core.report);
    }
  }

  #body(exchange: HttpExchange, text: string): void {
    if (turnedAway(exchange)) return;
    const id = this.#elsewhere(exchange);
    if (id === undefined) this.#read(exchange, text);
    else this.#options.cluster?.bring(exchange, { kind: "stream", id, body: text }, () => this.#read(exchange, text));
  }

  #read(exchange: HttpExchange, text: string): void {
    const value = readMessage(exchange, text, this.#options.core);
    if (value === undefined) return;
    if (this.#find(exchange) === undefined) return unknownSession(exchange);
    if (value instanceof ParseFault) {
      return refuseMessage(exchange, 400, new RpcError(value.code, value.message), { id: value.id ?? null });
    }
    this.#deliver(exchange, value);
  }

  readonly #deliver = (exchange: HttpExchange, value: unknown): void => {
    const session = this.#find(exchange);
    if (session === undefined) return unknownSession(exchange);
    if (begunTooLate(exchange, value)) return;
    if (!isPermitted({ permits: this.#options.permits, again: this.#deliver }, exchange, value)) return;
    // Answers to questions and notifications never wait: what is in service may wait for them.
    if (asks(value)) session.intake.enter({ exchange, value });
    else session.deliver({ exchange, value }, session.others);
  };

  bodyFault(exchange: HttpExchange, fault: BodyFault): void {
    refuseBody(exchange, fault, this.#options.core, null);
  }

  /** Ends the sessions of some principals at once: what they have running is cancelled. */
  async endOf(whose: Whose): Promise<void> {
    const theirs = [...this.#sessions].filter(([, { principal }]) => whose(principal));
    await Promise.all(theirs.map(([id]) => this.#end(id, 0)));
  }

  /** Ends all sessions: what runs in them may finish within `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id, graceMs)));
  }

  /** Serves a request for the stream. */
  open(exchange: HttpExchange): void {
    const { limits, path, messages } = this.#options;
    if (exchange.method !== "GET") return turnAway(exchange, 405, "Use GET", ["allow", "GET"]);
    if (this.#sessions.size >= limits.max) {
      return refuse(exchange, 503, "There are too many sessions: try again later", ["retry-after", "60"]);
    }
    const id = newSessionId(this.#options.cluster?.node);
    const session = new SseSession(exchange, this.#options);
    const { stream, conversation } = session;
    session.timer = startTimer(() => void this.#end(id, 0), limits.absoluteMs);
    (session.timer as { unref?(): void }).unref?.();
    this.#sessions.set(id, session);
    this.#pinger?.add(conversation, {
      reachable: () => !session.closed,
      ping: (timeoutMs) => conversation.ping(timeoutMs),
      end: () => void this.#end(id, 0),
    });
    const gone = (): void => {
      stream.gone();
      void this.#end(id, 0);
    };
    exchange.onGone = { gone };
    void stream.write(`event: endpoint\ndata: ${relativeTo(path, messages)}?sessionId=${id}\n\n`);
  }

  /** Serves what is posted to a session. */
  post(exchange: HttpExchange): void {
    if (exchange.method !== "POST") return turnAway(exchange, 405, "Use POST", ["allow", "POST"]);
    if (this.#find(exchange) === undefined && this.#elsewhere(exchange) === undefined) return unknownSession(exchange);
    const { limits } = this.#options.core;
    const refusal = this.#options.door.bodyRefusal(exchange, limits);
    if (refusal !== undefined) turnAway(exchange, refusal.status, refusal.text);
    else exchange.readBody(limits.messageBytes, this);
  }

  /** The session the query names, if it is this principal's. */
  #find({ query, principal }: HttpExchange): SseSession | undefined {
    const id = sessionIn(query);
    const session = id === undefined ? undefined : this.#sessions.get(id);
    return session?.principal === principal ? session : undefined;
  }

  /** The session the query names, where another process may have it. */
  #elsewhere({ query, relayed }: HttpExchange): string | undefined {
    const id = this.#options.cluster === undefined || relayed === true ? undefined : sessionIn(query);
    return id !== undefined && this.#sessions.has(id) ? undefined : id;
  }

  async #end(id: string, graceMs: number): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    clearTimeout(session.timer);
    this.#pinger?.remove(session.conversation);
    for (const { exchange } of session.intake.end()) unknownSession(exchange);
    await session.conversation.close(graceMs, STOPPED);
    session.stream.end();
  }
}

/** The path `to` as seen from `from`: a proxy that takes a prefix off does not know that it stands in this text too. */
function relativeTo(from: string, to: string): string {
  const folder = from.split("/").slice(0, -1);
  const target = to.split("/");
  let shared = 0;
  while (shared < folder.length && shared < target.length - 1 && folder[shared] === target[shared]) shared++;
  const up = "../".repeat(folder.length - shared);
  // Without the dot a name with a colon would be read as a scheme.
  return `${up === "" ? "./" : up}${target.slice(shared).join("/")}`;
}

/** Whether a message or batch wants an answer. */
function asks(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(asks);
  return isJsonObject(value) && "method" in value && "id" in value;
}

function sessionIn(query: string): string | undefined {
  return /(?:^|&)sessionId=([\w.-]+)(?:&|$)/.exec(query)?.[1];
}

function unknownSession(exchange: HttpExchange): void {
  turnAway(exchange, 404, "There is no such session (any more): open the stream again");
}
