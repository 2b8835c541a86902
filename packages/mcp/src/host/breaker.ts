// Decides how long a server that failed is left alone: longer each time, and a good while when it fails all the time.
import { restartDelay } from "../jsonrpc/restart-delay.js";

export interface BreakerOptions {
  /** Before the first restart, about. Default 500 ms. */
  readonly firstMs?: number;
  /** Before a restart at most, while the breaker is closed. Default 60,000 ms. */
  readonly mostMs?: number;
  /** Failed starts within a minute that open the breaker. Default 5. */
  readonly failures?: number;
  /** How long the breaker stays open the first time; doubled up to ten times that. Default 60,000 ms. */
  readonly coolDownMs?: number;
  /** Gives numbers from 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** What to do after a failure. */
export interface Pause {
  readonly delayMs: number;
  /** The breaker is open: the server is not even tried before the delay is over. */
  readonly open: boolean;
}

const FAILURES = 5;
const WINDOW_MS = 60_000;
const COOL_DOWN_MS = 60_000;
const MOST_COOL_DOWNS = 10;

export class Breaker {
  readonly #options: BreakerOptions;
  /** When each of the latest starts failed. */
  #recent: number[] = [];
  #inRow = 0;
  #openings = 0;
  #upSince: number | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Failures since it was last up for a minute. */
  get failures(): number {
    return this.#inRow;
  }

  /** It is up. */
  up(now: number): void {
    this.#upSince = now;
  }

  /** It failed at `now`, after `starts` processes (or connections) in one attempt. */
  failed(now: number, starts: number): Pause {
    if (this.#upSince !== undefined && now - this.#upSince >= WINDOW_MS) this.reset();
    this.#upSince = undefined;
    const { failures = FAILURES, coolDownMs = COOL_DOWN_MS, ...pace } = this.#options;
    this.#inRow++;
    this.#recent = this.#recent.filter((at) => now - at < WINDOW_MS);
    for (let start = 0; start < Math.max(1, Math.min(starts, failures)); start++) this.#recent.push(now);
    if (this.#openings === 0 && this.#recent.length < failures)
      return { delayMs: restartDelay(this.#inRow, pace), open: false };
    // Half open after each pause: one attempt, and the next failure opens it again for longer.
    const times = Math.min(2 ** Math.min(this.#openings, MOST_COOL_DOWNS), MOST_COOL_DOWNS);
    this.#openings++;
    return { delayMs: coolDownMs * times, open: true };
  }

  reset(): void {
    this.#recent = [];
    this.#inRow = 0;
    this.#openings = 0;
    this.#upSince = undefined;
  }
}
