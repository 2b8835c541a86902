// Server-sent events toward one reader: bounded, kept alive, and cut when nobody reads.
import type { HeaderList, HttpExchange, HttpStream } from "./exchange.js";
import type { HttpLimits } from "./http-limits.js";

export const EVENT_STREAM_HEADERS: HeaderList = [
  "content-type",
  "text/event-stream",
  "cache-control",
  "no-cache, no-transform",
  "x-accel-buffering",
  "no",
];

/** One message as an event. A message never holds a line break. */
export function event(text: string): string {
  return `data: ${text}\n\n`;
}

/** One message as an event a reader can resume after. */
export function numberedEvent(id: string, text: string): string {
  return `id: ${id}\ndata: ${text}\n\n`;
}

/** The empty event that gives a reader something to resume after before there is a message. */
export function primingEvent(id: string, retryMs: number): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}

/** The stream that a reply becomes, or the one of HTTP+SSE that all replies of a session go to. */
export interface ReplyStream {
  /** Nothing sent now can reach the reader, now or later. */
  readonly closed: boolean;
  /** Sends a message. One that is `droppable` may be left out when the reader is far behind. */
  send(text: string, droppable: boolean): void | Promise<void>;
  /** Ends the reply; with a text that is its answer, and the last message. */
  finish(text?: string): void | Promise<void>;
  /** Ends the connection and not the stream, where readers may come back. */
  hangUp?(): void;
  /** The reader went away. */
  gone?(): void;
}

/** An open stream. Writers that await `write` keep pace with the reader. */
export class EventStream implements KeptStream, ReplyStream {
  readonly expiresAt: number | undefined;
  readonly #exchange: HttpExchange;
  readonly #stream: HttpStream;
  readonly #keeper: StreamKeeper;
  #drained: Promise<void> | undefined;
  #settle: (() => void) | undefined;
  quiet = 0;
  stalled = 0;
  waiting = 0;
  closed = false;

  /** Opens the reply of `exchange` as a stream. */
  constructor(exchange: HttpExchange, keeper: StreamKeeper) {
    this.#exchange = exchange;
    this.#keeper = keeper;
    this.expiresAt = exchange.identity?.expiresAt;
    this.#stream = exchange.open(200, EVENT_STREAM_HEADERS);
    this.#stream.onDrain = () => this.#release();
    keeper.add(this);
  }

  /** Sends a formatted event; the promise resolves when the reader has caught up or is gone. */
  write(text: string): void | Promise<void> {
    if (this.closed) return undefined;
    this.quiet = 0;
    if (this.#stream.write(text)) return undefined;
    this.#drained ??= new Promise((resolve) => {
      this.#settle = resolve;
    });
    return this.#drained;
  }

  send(text: string, droppable: boolean): void | Promise<void> {
    return droppable && this.full ? undefined : this.write(event(text));
  }

  finish(text?: string): void | Promise<void> {
    const written = text === undefined ? undefined : this.write(event(text));
    this.end();
    return written;
  }

  /** Whether something nobody waits for has to be left out. */
  get full(): boolean {
    return this.#drained !== undefined && this.#stream.buffered >= this.#keeper.bufferedBytes;
  }

  get buffered(): number {
    return this.#stream.buffered;
  }

  get behind(): boolean {
    return this.#drained !== undefined;
  }

  end(): void {
    if (this.closed) return;
    this.#stream.end();
    // What is still to be sent is watched by the keeper until the reader has it.
    if (this.#drained === undefined) this.gone();
    else this.closed = true;
  }

  /** Cuts a reader that takes nothing. Writers are released by its going, when their request knows of it. */
  cut(): void {
    this.closed = true;
    this.#keeper.remove(this);
    this.#stream.destroy();
  }

  /** Ends for a reader whose token has ended, as if it had gone. It may come back with a new one. */
  expire(): void {
    if (this.behind) return this.cut();
    this.#stream.end();
    this.#exchange.onGone?.gone();
  }

  /** The reader is gone: nothing waits for it any more. */
  gone(): void {
    this.closed = true;
    this.#keeper.remove(this);
    this.#release();
  }

  #release(): void {
    this.stalled = 0;
    this.waiting = 0;
    const settle = this.#settle;
    this.#drained = undefined;
    this.#settle = undefined;
    if (this.closed) this.#keeper.remove(this);
    settle?.();
  }
}

// Looks after all open streams of an endpoint with one timer: comments for the silent, an end for the stalled and the
// ones whose token has ended.

const TICK_MS = 1_000;
/** How often a flush looks whether the readers are done: rarely enough to cost nothing, often enough not to be felt. */
const FLUSH_STEP_MS = 20;
const COMMENT = ": keep-alive\n\n";

/** What the keeper sees of a stream. */
interface KeptStream {
  /** Bytes the reader has not taken yet. */
  readonly buffered: number;
  /** Whether the reader is behind. */
  readonly behind: boolean;
  /** When the reader's right to read ends, in milliseconds since the epoch. */
  readonly expiresAt: number | undefined;
  /** Ticks since anything was written. */
  quiet: number;
  /** Ticks since the reader, being behind, took nothing. */
  stalled: number;
  /** Bytes that were waiting at the last tick. */
  waiting: number;
  write(text: string): void | Promise<void>;
  cut(): void;
  expire(): void;
}

export class StreamKeeper {
  readonly bufferedBytes: number;
  readonly #commentTicks: number;
  readonly #stallTicks: number;
  readonly #streams = new Set<KeptStream>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(limits: HttpLimits) {
    this.bufferedBytes = limits.bufferedBytes;
    this.#commentTicks = Math.ceil(limits.keepAliveCommentMs / TICK_MS);
    this.#stallTicks = Math.ceil(limits.stallMs / TICK_MS);
  }

  get size(): number {
    return this.#streams.size;
  }

  add(stream: KeptStream): void {
    this.#streams.add(stream);
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    // Streams hold their connections; the timer alone must not keep a process alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  remove(stream: KeptStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Waits until readers have taken what was sent, at most `graceMs`, and cuts what is still open. */
  async flush(graceMs: number): Promise<void> {
    const end = performance.now() + graceMs;
    while (this.#streams.size > 0 && performance.now() < end)
      await new Promise((resolve) => setTimeout(resolve, FLUSH_STEP_MS));
    for (const stream of [...this.#streams]) stream.cut();
  }

  #tick(): void {
    for (const stream of this.#streams) {
      if (stream.expiresAt !== undefined && stream.expiresAt <= Date.now()) {
        stream.expire();
      } else if (stream.behind) {
        this.#watch(stream);
      } else if (++stream.quiet >= this.#commentTicks) {
        void stream.write(COMMENT);
      }
    }
  }

  #watch(stream: KeptStream): void {
    const { buffered } = stream;
    stream.stalled = buffered < stream.waiting ? 0 : stream.stalled + 1;
    stream.waiting = buffered;
    if (stream.stalled > this.#stallTicks) stream.cut();
  }
}
