// Spaces requests to one service, so that it does not take us for a flood.
import type { Clock } from "../../capabilities/clock.js";

/** More searches wait than the service may be asked in reasonable time. */
export class SearchBusyError extends Error {}

/** With the usual gap the last of them waits 12 seconds: less than a call may take. */
const MAX_WAITING = 8;
/** A service that keeps refusing is asked no more rarely than this: the caller has a timeout too. */
const MAX_GAP_MS = 12_000;

export class RequestPacer {
  readonly #usualGapMs: number;
  #gapMs: number;
  #free = 0;
  #waiting = 0;

  constructor(gapMs: number) {
    this.#usualGapMs = gapMs;
    this.#gapMs = gapMs;
  }

  /** Resolves when it is the caller's turn. @throws SearchBusyError, the signal's reason */
  async turn(clock: Clock, signal: AbortSignal): Promise<void> {
    const now = clock.elapsed();
    const start = Math.max(now, this.#free);
    if (start > now && this.#waiting >= MAX_WAITING) {
      throw new SearchBusyError("Too many searches are waiting; try again in some seconds.");
    }
    this.#free = start + this.#gapMs;
    if (start === now) return;
    this.#waiting += 1;
    try {
      await clock.sleep(start - now, signal);
    } finally {
      this.#waiting -= 1;
    }
  }

  /** After a refusal the gap doubles, the one running included; after an answer it is as usual again. */
  refused(): void {
    this.#setGap(Math.min(this.#gapMs * 2, MAX_GAP_MS));
  }

  answered(): void {
    this.#setGap(this.#usualGapMs);
  }

  #setGap(gapMs: number): void {
    this.#free += gapMs - this.#gapMs;
    this.#gapMs = gapMs;
  }
}
