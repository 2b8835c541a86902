// Sessions (basic/transports, Session Management): each with its streams and what belongs to no request, and their table.
import { STOPPED } from "../../endpoint/call.js";
import { isJsonObject } from "../../jsonrpc/message.js";
import { LONGEST_TIMER_MS } from "../../jsonrpc/outgoing.js";
import type { Carrier, OutgoingKind } from "../../jsonrpc/transport.js";
import type { ServerConversation } from "../../server/conversation.js";
import type { ServerCore } from "../../server/core.js";
import type { StreamKeeper } from "./event-stream.js";
import type { HeaderList, HttpCluster, HttpExchange, StreamBounds } from "./exchange.js";
import type { PingLimits, SessionLimits } from "./http-limits.js";
import { handshakeStatus, type ReplyMode, type ReplyOwner } from "./reply.js";
import { type EventStore, type Opening, ResumableStream, type StreamHome } from "./resumable-stream.js";

/** Finished streams a client may still come back to; the oldest is forgotten for a new one. */
const FINISHED_STREAMS = 100;

/** Says which principals are meant; undefined is whoever is unknown. */
export type Whose = (principal: string | undefined) => boolean;

export interface SessionSettings {
  readonly limits: SessionLimits;
  readonly store: EventStore;
  readonly keeper: StreamKeeper;
  readonly answers: ReplyMode;
}

/** What a session needs of the server's side of it. */
type HttpConversation = Pick<
  ServerConversation,
  "polling" | "active" | "connection" | "ping" | "close" | "facts" | "restore"
>;

/** Streams of a session in one process: those in the process that goes on with it have other numbers. */
const STREAMS_OF_A_PROCESS = 1_000_000;
/** Streams of guests begin beyond those of processes that go on with the session. */
const GUEST_STREAMS = 400;

/** One session: the owner of its replies, and the carrier of what belongs to no request, which its GET streams take. */
export class HttpSession implements StreamHome, ReplyOwner, Carrier {
  readonly kind = "http";
  readonly id: string;
  readonly principal: string | undefined;
  readonly settings: SessionSettings;
  readonly born: number = performance.now();
  /** When the last request came or the last stream was open. */
  used: number = this.born;
  closed = false;
  /** Given to it by whoever makes the session, at once. */
  conversation!: HttpConversation;
  #streams: Map<number, ResumableStream> | undefined;
  /** Those for messages that belong to no request. */
  #standing: readonly ResumableStream[] = NO_STREAMS;
  #held: string[] | undefined;
  #lastStream = 0;
  closing = false;

  /** How often other processes have gone on with the session; undefined in a process alone. */
  readonly moved: number | undefined;

  /** Begins the ids of its events. */
  readonly eventMark: string;

  /** The other processes, which keep what is sent on its streams. */
  readonly cluster: HttpCluster | undefined;
  /** Keeps it for other processes, where there are any. */
  keep: (() => void) | undefined;

  /** `moved`: see there; `guest`: the name of this process, where another one has the session. */
  constructor(
    id: string,
    principal: string | undefined,
    settings: SessionSettings,
    {
      moved,
      guest,
      cluster,
    }: {
      readonly moved?: number | undefined;
      readonly guest?: string;
      readonly cluster?: HttpCluster | undefined;
    } = {},
  ) {
    this.moved = moved;
    this.cluster = cluster;
    this.eventMark = guest === undefined ? "" : `${guest}.`;
    // A store of one's own may keep the streams of several processes under one session.
    const first = guest === undefined ? (moved ?? 0) : GUEST_STREAMS + Math.floor(Math.random() * GUEST_STREAMS);
    this.#lastStream = first * STREAMS_OF_A_PROCESS;
    this.id = id;
    this.principal = principal;
    this.settings = settings;
  }

  get session(): this {
    return this;
  }

  /** The reply header that tells the client its session. */
  get headers(): HeaderList {
    return ["mcp-session-id", this.id];
  }

  get answers(): ReplyMode {
    return this.settings.answers;
  }

  get store(): EventStore {
    return this.settings.store;
  }

  get keeper(): StreamKeeper {
    return this.settings.keeper;
  }

  get bounds(): StreamBounds {
    const { eventsKept, eventBytes, allEventBytes, eventsMs } = this.settings.limits;
    return { pieces: eventsKept, bytes: eventBytes, allBytes: allEventBytes, lifeMs: eventsMs };
  }

  get polling(): boolean {
    return this.conversation.polling;
  }

  /** Whether anything keeps the session in use. */
  get busy(): boolean {
    if (this.conversation.active > 0) return true;
    for (const stream of this.#streams?.values() ?? []) if (stream.connected) return true;
    return false;
  }

  /** Whether a stream for what belongs to no request is open, or was and may be taken up again. */
  get opened(): boolean {
    return this.#standing.length > 0;
  }

  /** Whether such a stream is open now. */
  get reachable(): boolean {
    return this.#standing.some((each) => each.connected);
  }

  status(code: number | undefined): number {
    return handshakeStatus(code);
  }

  header(): undefined {
    return undefined;
  }

  /** Sends on exactly one stream; while none is connected, keeps for the one that was last or for the first to come. */
  write(text: string, kind: OutgoingKind): void | Promise<void> {
    const stream = this.#standing.find((each) => each.connected) ?? this.#standing.at(-1);
    if (stream !== undefined) return stream.send(text, kind === "notification");
    this.#held ??= [];
    this.#held.push(text);
    if (this.#held.length > this.settings.limits.held) this.#held.shift();
  }

  /**
   * Makes the reply of `exchange` a stream for what belongs to no request. False when there are as many as there may be. `earlier`:
   * what the reader missed of one that was before it.
   */
  listen(exchange: HttpExchange, earlier?: string): boolean {
    if (this.closing) return false;
    const connected = this.#standing.filter((each) => each.connected);
    if (connected.length >= this.settings.limits.streams) return false;
    // A client that opens a new stream instead of resuming does not want the rest of the old one.
    for (const each of this.#standing) if (!each.connected) this.#streams?.delete(each.number);
    const stream = this.openStream(exchange, { standing: true, earlier });
    this.#standing = [...connected, stream];
    const held = this.#held;
    this.#held = undefined;
    for (const text of held ?? []) void stream.send(text, true);
    return true;
  }

  /** Whether a stream is one for what belongs to no request. */
  listens(stream: ResumableStream): boolean {
    return this.#standing.includes(stream);
  }

  stream(number: number): ResumableStream | undefined {
    return this.#streams?.get(number);
  }

  openStream(exchange: HttpExchange, opening: Opening = {}): ResumableStream {
    const standing = opening.standing === true && this.moved !== undefined;
    const stream = new ResumableStream(this, ++this.#lastStream, { ...opening, standing });
    this.#streams ??= new Map();
    this.#streams.set(stream.number, stream);
    if (this.#streams.size > FINISHED_STREAMS) this.#forgetFinished(this.#streams);
    stream.open(exchange, opening);
    return stream;
  }

  /** Ends everything; what runs gets `graceMs`. */
  async close(graceMs: number): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    await this.conversation.close(graceMs, STOPPED);
    // The last answers are kept for other processes before they are sent.
    for (const { waiting } of [...(this.#streams?.values() ?? [])]) await waiting;
    this.closed = true;
    for (const stream of this.#streams?.values() ?? []) stream.hangUp();
    this.#streams = undefined;
    this.store.forget(this.id);
  }

  /** Another process goes on with it: its streams say nothing more. */
  handOver(): void {
    for (const stream of this.#streams?.values() ?? []) stream.lose();
  }

  #forgetFinished(streams: Map<number, ResumableStream>): void {
    for (const [number, stream] of streams) {
      if (!stream.finished || stream.connected) continue;
      streams.delete(number);
      return;
    }
  }
}

const NO_STREAMS: readonly ResumableStream[] = [];

// The sessions of an endpoint: bounded in number, found only by whoever opened them, ended when idle or too old.

/** Expiry is looked at this often: coarse beside the times it measures. */
const SWEEP_MS = 10_000;

/** Bytes of a session id: nobody guesses 256 bits. */
const ID_BYTES = 32;

export class SessionTable {
  readonly #limits: SessionLimits;
  readonly #pinger: KeepAlive | undefined;
  readonly #cluster: HttpCluster | undefined;
  readonly #sessions = new Map<string, HttpSession>();
  /** Sessions being opened: they count as open, so that a burst cannot pass the bound. */
  #opening = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** With a pinger, sessions whose clients do not answer end too. `cluster`: the processes that may go on with sessions. */
  constructor(limits: SessionLimits, pinger?: KeepAlive, cluster?: HttpCluster) {
    this.#limits = limits;
    this.#pinger = pinger;
    this.#cluster = cluster;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Takes a place for a session being opened; false when there is none. */
  reserve(): boolean {
    if (this.#sessions.size + this.#opening >= this.#limits.max) return false;
    this.#opening++;
    return true;
  }

  /** Gives a reserved place back. */
  release(): void {
    this.#opening--;
  }

  /** Turns a reserved place into a session. */
  add(session: HttpSession): void {
    this.#opening--;
    this.#sessions.set(session.id, session);
    this.#pinger?.add(session, {
      reachable: () => session.reachable,
      ping: (timeoutMs) => session.conversation.ping(timeoutMs),
      end: () => void this.end(session),
    });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** The session of an id, whoever's it is. */
  get(id: string): HttpSession | undefined {
    return this.#sessions.get(id);
  }

  /** Ends a session here in which nothing is under way, for another process to go on with: what was sent last still is. */
  letGo(session: HttpSession): void {
    this.#forget(session);
    void session.close(0);
  }

  /** Another process goes on with a session: what runs in it here is given up, and nobody is told that it ended. */
  handOver(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#forget(session);
    session.handOver();
    void session.close(0);
  }

  /** The session of an id, if it is this principal's. Another's is not found, as if it did not exist. */
  find(id: string, principal: string | undefined): HttpSession | undefined {
    const session = this.#sessions.get(id);
    return session === undefined || session.principal !== principal ? undefined : session;
  }

  /** Ends a session at once: what it has running is cancelled. */
  async end(session: HttpSession): Promise<void> {
    this.#forget(session);
    this.#cluster?.dropSession(session.id);
    await session.close(0);
  }

  /** Ends the sessions of some principals at once: what they have running is cancelled. */
  async endOf(whose: Whose): Promise<void> {
    const all = [...this.#sessions.values()].filter(({ principal }) => whose(principal));
    await Promise.all(all.map((session) => this.end(session)));
  }

  /** Ends every session: what runs in them may finish within `graceMs`, and hears what it waits for until then. */
  async endAll(graceMs: number): Promise<void> {
    const all = [...this.#sessions.values()];
    await Promise.all(all.map((session) => session.close(graceMs).then(() => this.#forget(session))));
  }

  #forget(session: HttpSession): void {
    this.#sessions.delete(session.id);
    this.#pinger?.remove(session);
    if (this.#sessions.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = performance.now();
    for (const session of this.#sessions.values()) {
      if (session.busy) session.used = now;
      const over = now - session.used > this.#limits.idleMs || now - session.born > this.#limits.absoluteMs;
      if (over) void this.end(session);
    }
  }
}

/** A new session id: visible ASCII, safe in a header and in a query. Among many processes it begins with the name of its own. */
export function newSessionId(node?: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  const own = node === undefined ? "" : `${node}.`;
  const random = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  return own + random;
}

/** The process that asked what a message answers, where its id says so. */
export function answeredNode(value: unknown): string | undefined {
  if (!isJsonObject(value) || value["method"] !== undefined) return undefined;
  const { id } = value;
  const dot = typeof id === "string" ? id.indexOf(".") : -1;
  return dot > 0 ? (id as string).slice(0, dot) : undefined;
}

// Asks the clients of open streams now and then whether they are still there, and gives up those that never answer.

/** A session that can be asked. */
export interface KeepAliveTarget {
  /** Whether a stream is open that a question could reach. */
  reachable(): boolean;
  /** False when no answer came in time. Never rejects. */
  ping(timeoutMs: number): Promise<boolean>;
  end(): void;
}

interface Asked {
  readonly target: KeepAliveTarget;
  missed: number;
  waiting: boolean;
}

export class KeepAlive {
  readonly #limits: PingLimits;
  readonly #onMissed: (message: string) => void;
  readonly #asked = new Map<object, Asked>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** `onMissed` is told, for the log, of every ping that was not answered. */
  constructor(limits: PingLimits, onMissed: (message: string) => void) {
    this.#limits = limits;
    this.#onMissed = onMissed;
  }

  add(session: object, target: KeepAliveTarget): void {
    this.#asked.set(session, { target, missed: 0, waiting: false });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#tick(), Math.min(this.#limits.everyMs, LONGEST_TIMER_MS));
    (this.#timer as { unref?(): void }).unref?.();
  }

  remove(session: object): void {
    this.#asked.delete(session);
    if (this.#asked.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    for (const [session, asked] of this.#asked) {
      if (!asked.waiting && asked.target.reachable()) void this.#ask(session, asked);
    }
  }

  async #ask(session: object, asked: Asked): Promise<void> {
    const { timeoutMs, misses } = this.#limits;
    asked.waiting = true;
    const answered = await asked.target.ping(timeoutMs);
    asked.waiting = false;
    if (answered) asked.missed = 0;
    // A session that ended, or lost its streams, while it was asked is known to be gone: nothing was missed.
    if (answered || !this.#asked.has(session) || !asked.target.reachable()) return;
    asked.missed++;
    const over = asked.missed >= misses;
    const end = over ? ": its session ends" : "";
    this.#onMissed(`A client did not answer a ping within ${timeoutMs} ms (${asked.missed} of ${misses})${end}`);
    if (over) asked.target.end();
  }
}

/** What pings the clients of a server's sessions, where they are to be; the log hears of who does not answer. */
export function pingerOf(
  limits: PingLimits | undefined,
  { report }: Pick<ServerCore, "report">,
): KeepAlive | undefined {
  return limits && new KeepAlive(limits, (message) => report("warning", message));
}
