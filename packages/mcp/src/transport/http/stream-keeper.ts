// Looks after all open streams of an endpoint with one timer: comments for the silent, an end for the stalled and the
// ones whose token has ended.
import type { HttpLimits } from "./http-limits.js";

const TICK_MS = 1_000;
/** How often a flush looks whether the readers are done: rarely enough to cost nothing, often enough not to be felt. */
const FLUSH_STEP_MS = 20;
const COMMENT = ": keep-alive\n\n";

/** What the keeper sees of a stream. */
export interface KeptStream {
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
