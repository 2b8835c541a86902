// Keeps what was sent on streams, so that a reader whose connection broke can come back for the rest.
import type { SessionLimits } from "./http-limits.js";

export interface StoredEvent {
  /** Position in its stream, from 1. */
  readonly sequence: number;
  readonly text: string;
}

/** A store of one's own may share sessions between processes. It keeps what it can: what is lost is refused, not guessed. */
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
