// Decides when a plugin that ended may be started again: later each time, and for a while not at all.

/** Milliseconds to wait after the first end; doubled with each further one. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** This many ends within a minute open the breaker. */
const BREAKER_ENDS = 5;
const MINUTE_MS = 60_000;
/** Waits differ by up to this share, so that plugins that fell together do not come back together. */
const JITTER = 0.1;

export interface RestartPlanOptions {
  /** Monotonic milliseconds. */
  readonly now?: () => number;
  /** From 0 to 1. */
  readonly random?: () => number;
}

export class RestartPlan {
  readonly #now: () => number;
  readonly #random: () => number;
  #ends: number[] = [];
  #wait = 0;
  #notBefore = 0;

  constructor({ now = () => performance.now(), random = Math.random }: RestartPlanOptions = {}) {
    this.#now = now;
    this.#random = random;
  }

  /** Notes that it ended after it had run for `ranMs`; one that ran for a minute begins with the first wait again. */
  ended(ranMs: number): void {
    const now = this.#now();
    if (ranMs >= MINUTE_MS) this.#wait = 0;
    this.#ends = [...this.#ends.filter((at) => now - at < MINUTE_MS), now];
    this.#wait = this.#wait === 0 ? FIRST_WAIT_MS : Math.min(this.#wait * 2, LONGEST_WAIT_MS);
    if (this.broken) this.#wait = LONGEST_WAIT_MS;
    this.#notBefore = now + this.#wait * (1 + JITTER * this.#random());
  }

  /** Whether it fell so often within a minute that it is left alone for one. */
  get broken(): boolean {
    return this.#ends.length >= BREAKER_ENDS;
  }

  /** Milliseconds until it may be started. */
  get waitMs(): number {
    return Math.max(0, this.#notBefore - this.#now());
  }
}
