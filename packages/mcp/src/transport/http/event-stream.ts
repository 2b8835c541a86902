// Server-sent events toward one reader: bounded, kept alive, and cut when nobody reads.
import type { HeaderList, HttpExchange, HttpStream } from "./exchange.js";
import type { KeptStream, StreamKeeper } from "./stream-keeper.js";

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

/** An open stream. Writers that await `write` keep pace with the reader. */
export class EventStream implements KeptStream {
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

  /** Opens the reply of `exchange` as a stream, with `headers` besides those of every stream. */
  constructor(exchange: HttpExchange, keeper: StreamKeeper, headers: HeaderList = []) {
    this.#exchange = exchange;
    this.#keeper = keeper;
    this.expiresAt = exchange.identity?.expiresAt;
    this.#stream = exchange.open(
      200,
      headers.length === 0 ? EVENT_STREAM_HEADERS : [...EVENT_STREAM_HEADERS, ...headers],
    );
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
