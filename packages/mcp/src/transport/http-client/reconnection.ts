// When a stream that ended is taken up again, and when no more.
import type { HttpClientLimits } from "./http-client-limits.js";

// The first wait after a failure, or where the server asked for none; doubled each time up to the longest.
const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
// Timers may fire a little early, and a server's "not before" is exact.
const LATE_MS = 5;
// However small a `retry` is: a server that hangs up at once must not be called in a tight loop.
const LEAST_MS = 20;

export class Reconnection {
  readonly #limits: HttpClientLimits;
  #failures = 0;
  #empty = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake: (() => void) | undefined;

  constructor(limits: HttpClientLimits) {
    this.#limits = limits;
  }

  /** A connection has ended that brought `events` events. */
  ended(events: number): void {
    this.#failures = 0;
    this.#empty = events > 0 ? 0 : this.#empty + 1;
  }

  /** There was no connection. */
  failed(): void {
    this.#failures++;
  }

  /** Why not to try again, or undefined. */
  giveUp(retryMs: number | undefined): string | undefined {
    const { failures, emptyRounds, retryMs: longest } = this.#limits;
    if (this.#failures >= failures) return `${failures} attempts to take it up again failed`;
    if (this.#empty >= emptyRounds) return `${emptyRounds} reconnections brought nothing`;
    if ((retryMs ?? 0) > longest) return `the server wants ${retryMs} ms to pass before a reconnection`;
    return undefined;
  }

  /** Resolves when it is time: after what the server asked for, or a growing delay. False: cancelled meanwhile. */
  async wait(retryMs: number | undefined): Promise<boolean> {
    const own = retryMs === undefined || this.#failures > 0 ? this.#backoff() : LEAST_MS;
    const ms = Math.max(retryMs ?? 0, own) + LATE_MS;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(resolve, ms);
    });
    return this.#timer !== undefined;
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wake?.();
  }

  #backoff(): number {
    const rounds = Math.max(this.#failures, this.#empty) - 1;
    return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(rounds, 0), 16));
  }
}
