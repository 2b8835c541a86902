// One stream of a session: its messages are numbered and kept, whoever is connected to it at the moment.
import { EventStream, numberedEvent, primingEvent, type ReplyStream, type StreamKeeper } from "./event-stream.js";
import type { HttpExchange } from "./exchange.js";
import type { SessionLimits } from "./http-limits.js";

/** Milliseconds a client should wait before it comes back, when nothing else was asked for. */
const RETRY_MS = 1_000;

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
}

export class ResumableStream implements ReplyStream {
  readonly number: number;
  readonly #home: StreamHome;
  #connection: EventStream | undefined;
  #sequence = 0;
  /** The answer has been sent: nothing more will come. */
  finished = false;

  readonly #mark: string;

  /** `standing`: its ids say that it belongs to no request, so that another process may open it anew. */
  constructor(home: StreamHome, number: number, standing = false) {
    this.#home = home;
    this.#mark = (home.eventMark ?? "") + (standing ? STANDING : "");
    this.number = number;
  }

  /** Whoever has lost its connection may come back for as long as the session is there. */
  get closed(): boolean {
    return this.#home.closed;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Opens the reply of `exchange` as this stream's connection, with a first event where the revision has one. */
  open(exchange: HttpExchange, retryMs: number = RETRY_MS): void {
    const connection = this.#accept(exchange);
    this.#attach(connection);
    void connection.write(this.#home.polling ? primingEvent(this.#id(this.#sequence), retryMs) : ": open\n\n");
  }

  /** Numbers, keeps and sends a message. `droppable`: it may be left out when the reader is far behind. */
  send(text: string, droppable: boolean): void | Promise<void> {
    const connection = this.#connection;
    if (droppable && connection?.full === true) return undefined;
    const sequence = ++this.#sequence;
    this.#home.store.append(this.#home.id, this.number, { sequence, text });
    return connection?.write(numberedEvent(this.#id(sequence), text));
  }

  /** Ends the stream; with a last message it is that message's. */
  finish(text?: string): void | Promise<void> {
    const written = text === undefined ? undefined : this.send(text, false);
    this.finished = true;
    this.hangUp();
    return written;
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
      for (const { sequence, text } of events) {
        await connection.write(numberedEvent(this.#id(sequence), text));
        sent = sequence;
      }
      if (sent >= this.#sequence || events.length === 0) break;
    }
    if (missed.length === 0) void connection.write(": resumed\n\n");
    this.#attach(connection);
    return true;
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
    return `${this.#mark}${this.number}-${sequence}`;
  }
}

/** The stream and position an event id names; undefined when it is none of ours. */
export function readEventId(id: string):
  | {
      /** The process that has the stream, where that is not the session's. */
      readonly node: string | undefined;
      readonly stream: number;
      readonly sequence: number;
      readonly standing: boolean;
    }
  | undefined {
  const match = /^(?:([a-z0-9]{1,32})\.)?(s?)(\d{1,9})-(\d{1,9})$/.exec(id);
  if (match === null) return undefined;
  const [, node, mark, stream, sequence] = match;
  return { node, stream: Number(stream), sequence: Number(sequence), standing: mark === STANDING };
}

/** Begins the event ids of a standing stream, where several processes may serve its session. */
const STANDING = "s";

// Keeps what was sent on streams, so that a reader whose connection broke can come back for the rest.

/** An event of a stream as it is kept for resumption: its number in the stream and its message. */
export interface StoredEvent {
  /** Position in its stream, from 1. */
  readonly sequence: number;
  readonly text: string;
}

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
