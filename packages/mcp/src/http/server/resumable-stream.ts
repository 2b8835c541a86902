// One stream of a session: its messages are numbered and kept, whoever is connected to it at the moment.
import { ErrorCode, LocalError } from "../../jsonrpc/errors.js";
import { failureText, type RequestId } from "../../jsonrpc/message.js";
import { EventStream, numberedEvent, primingEvent, type ReplyStream, type StreamKeeper } from "./event-stream.js";
import type { HttpCluster, HttpExchange, Named, StreamBounds, StoredEvent } from "./exchange.js";
import type { SessionLimits } from "./http-limits.js";

/** Milliseconds a client should wait before it comes back, when nothing else was asked for. */
const RETRY_MS = 1_000;

/** Characters of events that are written at once to a reader that comes back. */
const PIECE = 65_536;

/** What the streams of a session share. */
export interface StreamHome {
  readonly id: string;
  /** Begins the ids of events, where the process has to be named that has the stream. */
  readonly eventMark?: string;
  readonly store: EventStore;
  readonly keeper: StreamKeeper;
  /** Whether streams open with an empty event and may be hung up on. */
  readonly polling: boolean;
  readonly closed: boolean;
  /** It is being closed: what runs is given up. */
  readonly closing: boolean;
  /** Keeps what is sent for the other processes of the server, where there are any. */
  readonly cluster?: Pick<HttpCluster, "keepEvents" | "eventsOf"> | undefined;
  readonly bounds: StreamBounds;
}

/** What a stream answers: a request, or a batch of them; undefined for one that belongs to no request. */
export type Asked = RequestId | readonly RequestId[] | undefined;

/** How a stream is opened. */
export interface Opening {
  readonly retryMs?: number | undefined;
  readonly asked?: Asked;
  /** Its ids say that it belongs to no request, so that another process may open it anew. */
  readonly standing?: boolean;
  /** Events of a stream before it, which go first. */
  readonly earlier?: string | undefined;
}

export class ResumableStream implements ReplyStream {
  readonly number: number;
  /** What only ids of this very stream end with; empty in a process alone. */
  readonly tag: string;
  readonly #home: StreamHome;
  readonly #mark: string;
  readonly #about: string;
  #connection: EventStream | undefined;
  #sequence = 0;
  /** The last event that may be sent: whoever comes back to another process gets all up to it. */
  #released = 0;
  /** Settles when the newest event may be sent, or is known to be another process's to send. */
  #gate: Promise<boolean> | undefined;
  #lost = false;
  /** The answer has been sent: nothing more will come. */
  finished = false;

  constructor(home: StreamHome, number: number, { asked, standing = false }: Opening = {}) {
    const { cluster, eventMark = "" } = home;
    this.#home = home;
    this.#mark = eventMark + (standing ? STANDING : "");
    this.#about = asked === undefined ? "" : JSON.stringify(asked);
    this.number = number;
    this.tag = cluster === undefined ? "" : newTag();
  }

  /** Whoever has lost its connection may come back for as long as the session is there. */
  get closed(): boolean {
    return this.#home.closed;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Settles when what was sent so far is on its way; undefined where it is. */
  get waiting(): Promise<boolean> | undefined {
    return this.#gate;
  }

  /** Opens the reply of `exchange` as this stream's connection, with a first event where the revision has one. */
  open(exchange: HttpExchange, { retryMs = RETRY_MS, earlier = "" }: Opening = {}): void {
    const connection = this.#accept(exchange);
    this.#attach(connection);
    const first = this.#home.polling ? primingEvent(this.#id(this.#sequence), retryMs) : ": open\n\n";
    void connection.write(earlier + first);
    // Should this process end, the one a client comes back to has to know what was asked.
    if (this.#about !== "") void this.#admit(this.#keep([], false));
  }

  /** Numbers, keeps and sends a message. `droppable`: it may be left out when the reader is far behind. */
  send(text: string, droppable: boolean): void | Promise<void> {
    if (droppable && this.#connection?.full === true) return undefined;
    return this.#emit(text, false);
  }

  /** Ends the stream; with a last message it is that message's. */
  finish(text?: string): void | Promise<void> {
    return this.#emit(text, true);
  }

  /** Ends the connection and not the stream. */
  hangUp(): void {
    this.#connection?.end();
    this.#connection = undefined;
  }

  /** Connects a reader that has seen everything up to `seen`. False when what it missed is not kept any more. */
  async resume(exchange: HttpExchange, seen: number): Promise<boolean> {
    const { id, store } = this.#home;
    const missed = await store.after(id, this.number, seen);
    if ((missed[0]?.sequence ?? this.#sequence + 1) !== seen + 1 || exchange.over) return false;
    const connection = this.#accept(exchange);
    let sent = seen;
    // What is sent meanwhile is kept first and fetched by the next turn, so nothing is lost and nothing comes twice.
    for (let events = missed; ; events = await store.after(id, this.number, sent)) {
      // Written together, as far as that is little: each piece is one more on its way through another process.
      let piece = "";
      for (const { sequence, text } of events) {
        if (sequence > this.#released) break;
        piece += numberedEvent(this.#id(sequence), text);
        sent = sequence;
        if (piece.length < PIECE) continue;
        await connection.write(piece);
        piece = "";
      }
      if (piece !== "") await connection.write(piece);
      if (sent >= this.#released || events.length === 0) break;
    }
    if (missed.length === 0) void connection.write(": resumed\n\n");
    this.#attach(connection);
    return true;
  }

  /** Numbers and keeps what is to be sent, and sends it as soon as the other processes could too. */
  #emit(text: string | undefined, ended: boolean): void | Promise<void> {
    if (this.#lost) return undefined;
    const event = text === undefined ? undefined : { sequence: ++this.#sequence, text };
    if (event !== undefined) this.#home.store.append(this.#home.id, this.number, event);
    const gate = this.#admit(this.#keep(event === undefined ? [] : [event], ended));
    if (gate === undefined) return this.#release(event, ended);
    return gate.then((mine) => (mine ? this.#release(event, ended) : this.lose()));
  }

  #keep(events: readonly StoredEvent[], ended: boolean): Promise<boolean> | undefined {
    const { cluster, id, bounds, closing } = this.#home;
    // What a process gives up because it ends was not answered: the next one says so.
    if (closing && events.length === 0) return undefined;
    const piece = { about: this.#about, after: this.#sequence - events.length, events, ended };
    return cluster?.keepEvents(streamName(id, this.number, this.tag), piece, bounds);
  }

  /** What comes behind events that wait waits too. */
  #admit(kept: Promise<boolean> | undefined): Promise<boolean> | undefined {
    const before = this.#gate;
    if (kept === undefined || before === undefined) this.#gate = kept ?? before;
    else this.#gate = Promise.all([before, kept]).then((all) => all.every(Boolean));
    const gate = this.#gate;
    void gate?.then(() => {
      if (this.#gate === gate) this.#gate = undefined;
    });
    return gate;
  }

  #release(event: StoredEvent | undefined, ended: boolean): void | Promise<void> {
    if (event !== undefined) this.#released = event.sequence;
    const written = event && this.#connection?.write(numberedEvent(this.#id(event.sequence), event.text));
    if (ended) {
      this.finished = true;
      this.hangUp();
    }
    return written;
  }

  /** Another process goes on with it, and tells its client how the call ended: nothing sent now may contradict it. */
  lose(): void {
    this.#lost = true;
    this.finished = true;
    this.hangUp();
  }

  #accept(exchange: HttpExchange): EventStream {
    const connection = new EventStream(exchange, this.#home.keeper);
    const gone = (): void => {
      connection.gone();
      if (this.#connection === connection) this.#connection = undefined;
    };
    exchange.onGone = { gone };
    return connection;
  }

  #attach(connection: EventStream): void {
    this.hangUp();
    if (this.finished || this.#home.closed) connection.end();
    else if (!connection.closed) this.#connection = connection;
  }

  #id(sequence: number): string {
    return eventId({ mark: this.#mark, stream: this.number, sequence, tag: this.tag });
  }
}

/** What an event id names. */
export interface StreamPosition {
  /** The process that has the stream, where that is not the session's. */
  readonly node: string | undefined;
  readonly stream: number;
  readonly sequence: number;
  readonly standing: boolean;
  /** Tells the stream from all others of its number; empty in a process alone. */
  readonly tag: string;
}

/** The stream and position an event id names; undefined when it is none of ours. */
export function readEventId(id: string): StreamPosition | undefined {
  const match = /^(?:([a-z0-9]{1,32})\.)?(s?)(\d{1,9})-(\d{1,9})(?:-([\w]{12}))?$/.exec(id);
  if (match === null) return undefined;
  const [, node, mark, stream, sequence, tag = ""] = match;
  return { node, stream: Number(stream), sequence: Number(sequence), standing: mark === STANDING, tag };
}

function eventId({
  mark,
  stream,
  sequence,
  tag,
}: {
  readonly mark: string;
  readonly stream: number;
  readonly sequence: number;
  readonly tag: string;
}): string {
  return tag === "" ? `${mark}${stream}-${sequence}` : `${mark}${stream}-${sequence}-${tag}`;
}

/** Begins the event ids of a standing stream, where several processes may serve its session. */
const STANDING = "s";

/** Bytes of a tag: an id of another session or of another process's stream is not taken for one of this stream. */
const TAG_BYTES = 6;

function newTag(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(TAG_BYTES)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** What a stream is kept under for all processes. */
function streamName(session: string, stream: number, tag: string): string {
  return `${session} ${stream} ${tag}`;
}

// Streams whose process has ended, replayed from what is kept for all.

/** What a client missed of a stream, as it is written to it. */
export interface Missed {
  readonly text: string;
  /** How many events that is. */
  readonly count: number;
}

/**
 * What a client missed that comes back to a stream of a process that has ended: all of it, with the end of its call; undefined where
 * some of it is not kept (any more). Of many that come back at once, all get the same. Rejects with UNREACHABLE.
 */
export async function missedOf(home: StreamHome, position: StreamPosition): Promise<Missed | undefined> {
  const { node, stream, sequence: seen, standing, tag } = position;
  const name = streamName(home.id, stream, tag);
  let kept = await home.cluster?.eventsOf(name, seen);
  if (kept === undefined) return undefined;
  if (!kept.ended && kept.about !== "") {
    const after = kept.events.at(-1)?.sequence ?? seen;
    const events = [{ sequence: after + 1, text: unknownOutcome(JSON.parse(kept.about) as Asked) }];
    const piece = { about: kept.about, after, events, ended: true };
    const first = await home.cluster?.keepEvents(name, piece, home.bounds);
    if (first === false) kept = await home.cluster?.eventsOf(name, seen);
    else kept = { ...piece, events: [...kept.events, ...events] };
  }
  if (kept === undefined) return undefined;
  const mark = (node === undefined ? "" : `${node}.`) + (standing ? STANDING : "");
  const texts = kept.events.map(({ sequence, text }) => numberedEvent(eventId({ mark, stream, sequence, tag }), text));
  return { text: texts.join(""), count: texts.length };
}

/** Answers a reader with what it missed, and ends. */
export function replay(exchange: HttpExchange, { keeper }: StreamHome, { text, count }: Missed): void {
  const connection = new EventStream(exchange, keeper);
  exchange.onGone = { gone: () => connection.gone() };
  void connection.write(count === 0 ? ": resumed\n\n" : text);
  connection.end();
}

// What a request is answered that another process had, and what may be sent again.

/** What was lost of a request that another process had: that process, or the way to it, as the one it came through ends. */
export type Lost = "process" | "way";

const LOST: Readonly<Record<Lost, string>> = {
  process:
    "The process that was serving this does not answer any more, and whether it did its work is not known: look, before you send it again",
  way: "The process this came through has ended while another one was serving it, which may still do so: whether it does its work is not known here, so look before you send it again",
};
const AGAIN =
  "The process this came through has ended before it was answered. Sent twice it does no harm, so send it again: another process serves it";

/** Answers what a process was asked that nobody can say the end of any more. */
export function unknownOutcome(asked: Asked, lost: Lost = "process"): string {
  const error = { code: ErrorCode.InternalError, message: LOST[lost], data: { outcome: "unknown" } };
  if (!Array.isArray(asked)) return failureText(asked as RequestId | undefined, error);
  return `[${(asked as readonly RequestId[]).map((id) => failureText(id, error)).join(",")}]`;
}

/** Whether a request is served to its end although the connection it came on ends: its stream can be come back to. */
export function goesOn(exchange: HttpExchange): boolean {
  return exchange.header("mcp-session-id") !== undefined;
}

/** Methods that change nothing: only they are sent again when nobody knows whether they were served. */
const READS: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "tasks/get",
  "tasks/list",
]);

/** Whether a request may be sent again. Of two answers to a question the first counts. */
export function repeatable({ method }: HttpExchange, named: Named): boolean {
  return method === "GET" || (method === "POST" && (READS.has(messageIn(named.body).method ?? "") || isAnswer(named)));
}

/** Whether it answers a question. */
export function isAnswer({ body }: Named): boolean {
  const message = messageIn(body);
  return message.id !== undefined && message.method === undefined;
}

export function messageIn(body: string | undefined): { readonly id?: RequestId; readonly method?: string } {
  try {
    const value: unknown = JSON.parse(body ?? "");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

const TEXT = ["content-type", "application/json", "retry-after", "1"];

/** Says that nobody knows what became of a request. */
export function lost(exchange: HttpExchange, named: Named, what: Lost): void {
  if (what === "way" && repeatable(exchange, named)) return refuse(exchange, named, AGAIN);
  exchange.reply(502, ["content-type", "application/json"], unknownOutcome(messageIn(named.body).id, what));
}

/** What whoever asks is told while the store is away. */
export const AWAY = "What the processes of this server share cannot be reached now: try again";

/** Why something could not be brought where it belongs, and may be in a moment; and which of it is said in its own words. */
const PASSING: ReadonlySet<string> = new Set(["UNREACHABLE", "SILENT", "FULL"]);
const SAID: ReadonlySet<string> = new Set(["SILENT", "FULL", "ENDING"]);

export function mayPass(error: unknown): boolean {
  return error instanceof LocalError && PASSING.has(error.code);
}

/** Says that a request was not served, for what it failed with, and can be sent again. False: nobody was to expect that. */
export function unavailable(exchange: HttpExchange, named: Named, error: unknown): boolean {
  const said = error instanceof LocalError && SAID.has(error.code) ? error.message : AWAY;
  refuse(exchange, named, said);
  return said !== AWAY || mayPass(error);
}

function refuse(exchange: HttpExchange, { body }: Named, what: string): void {
  exchange.reply(503, TEXT, failureText(messageIn(body).id, { code: ErrorCode.InternalError, message: what }));
}

// Answers to questions that cannot be brought to who has asked at the moment: clients send them once, and people wait for what comes of them.

/** Milliseconds an answer waits: a store fails over, and a process is started again, in less. Proxies wait as long. */
const HELD_MS = 55_000;
/** Answers that wait at once, and their characters: as many as a busy process has open, none of them long. */
const MOST_HELD = 1_000;
/** Milliseconds before it is tried again, the first time and at most: all together ask the store no more than a thousand times a second. */
const HELD_PAUSE_MS = 100;
const MOST_PAUSE_MS = 1_000;
const HELD_CHARS = 16 * 1024 * 1024;

export class HeldAnswers {
  #count = 0;
  #chars = 0;

  /**
   * Does something for an answer that failed with `cause` again and again while `passes` says of what it rejects with that it may
   * pass, and there is room and time. Rejects with what the last trial rejected with.
   */
  async until<T>(
    body: string,
    trial: () => Promise<T>,
    { cause, passes }: { readonly cause: unknown; readonly passes: (error: unknown) => boolean },
  ): Promise<T> {
    const until = performance.now() + HELD_MS;
    let error = cause;
    if (this.#count >= MOST_HELD || this.#chars + body.length > HELD_CHARS) throw error;
    this.#count++;
    this.#chars += body.length;
    try {
      for (let pause = HELD_PAUSE_MS; performance.now() < until; pause = Math.min(2 * pause, MOST_PAUSE_MS)) {
        await new Promise((resolve) => setTimeout(resolve, pause));
        try {
          return await trial();
        } catch (thrown) {
          error = thrown;
          if (!passes(error)) break;
        }
      }
      throw error;
    } finally {
      this.#count--;
      this.#chars -= body.length;
    }
  }
}

// Keeps what was sent on streams, so that a reader whose connection broke can come back for the rest.

/**
 * Keeps the events of streams for clients that come back. It keeps what it can: what is lost is refused, not guessed. A
 * store of one's own outlives the memory of the process, not its sessions: a client whose session is gone starts anew.
 */
export interface EventStore {
  /** Called before the event is sent. Must not throw. */
  append(session: string, stream: number, event: StoredEvent): void;
  /** What is kept of a stream after a position, in order. A rejection counts as nothing kept. */
  after(session: string, stream: number, sequence: number): readonly StoredEvent[] | Promise<readonly StoredEvent[]>;
  forget(session: string): void;
}

type Bounds = Pick<SessionLimits, "eventsKept" | "eventBytes" | "allEventBytes" | "eventsMs">;

interface Kept extends StoredEvent {
  readonly stream: number;
  readonly at: number;
}

/** Events of one session in the order they were sent; the oldest go first. */
class SessionEvents {
  bytes = 0;
  #events: Kept[] = [];
  #first = 0;

  get count(): number {
    return this.#events.length - this.#first;
  }

  get oldest(): Kept | undefined {
    return this.#events[this.#first];
  }

  push(event: Kept): void {
    this.#events.push(event);
    this.bytes += event.text.length;
  }

  /** Drops the oldest event and returns its length. */
  shift(): number {
    const length = this.oldest?.text.length ?? 0;
    this.#first++;
    this.bytes -= length;
    if (this.#first * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
    return length;
  }

  after(stream: number, sequence: number): readonly StoredEvent[] {
    return this.#events.slice(this.#first).filter((event) => event.stream === stream && event.sequence > sequence);
  }
}

/** Bounded in number and length for each session, in length for all, and in time. */
export class MemoryEventStore implements EventStore {
  readonly #bounds: Bounds;
  readonly #sessions = new Map<string, SessionEvents>();
  #bytes = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  append(session: string, stream: number, { sequence, text }: StoredEvent): void {
    const { eventsKept, eventBytes, allEventBytes, eventsMs } = this.#bounds;
    let events = this.#sessions.get(session);
    if (events === undefined) this.#sessions.set(session, (events = new SessionEvents()));
    const at = performance.now();
    events.push({ stream, sequence, text, at });
    this.#bytes += text.length;
    // The newest stays, however long: a reader that is only now cut off must not lose the answer.
    while (
      events.count > 1 &&
      (events.count > eventsKept || events.bytes > eventBytes || at - (events.oldest?.at ?? at) > eventsMs)
    ) {
      this.#bytes -= events.shift();
    }
    for (const [oldest, kept] of this.#sessions) {
      if (this.#bytes <= allEventBytes || kept === events) break;
      this.#drop(oldest, kept);
    }
  }

  after(session: string, stream: number, sequence: number): readonly StoredEvent[] {
    return this.#sessions.get(session)?.after(stream, sequence) ?? [];
  }

  forget(session: string): void {
    const events = this.#sessions.get(session);
    if (events !== undefined) this.#drop(session, events);
  }

  #drop(session: string, events: SessionEvents): void {
    this.#bytes -= events.bytes;
    this.#sessions.delete(session);
  }
}
