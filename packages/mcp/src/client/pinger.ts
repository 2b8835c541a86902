// Pings a server at intervals, and says when it no longer answers.

/** How an idle session is asked whether it is alive, in milliseconds, and what happens when it is not. */
export interface PingOptions {
  /** Milliseconds between the end of one ping and the next. At least 1,000. Default 30,000. */
  readonly intervalMs?: number;
  /** Milliseconds a ping may take. Default 10,000. */
  readonly timeoutMs?: number;
  /** Failures in a row until something is done about it. Default 3. */
  readonly failures?: number;
  /** What is done: the client closes (the default), or only warns, once a row. */
  readonly onFailure?: "close" | "warn";
}

/** What a pinger needs. */
export interface PingTarget {
  /** Rejects when there was no answer in time; any answer counts as life. */
  ping(timeoutMs: number): Promise<unknown>;
  warn(text: string): void;
  giveUp(text: string): void;
}

/** More often is noise. */
const LEAST_INTERVAL_MS = 1_000;

export class Pinger {
  readonly #options: Required<PingOptions>;
  readonly #target: PingTarget;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failed = 0;
  #stopped = false;

  constructor(target: PingTarget, options: PingOptions) {
    const { intervalMs = 30_000, timeoutMs = 10_000, failures = 3, onFailure = "close" } = options;
    this.#options = { intervalMs: Math.max(intervalMs, LEAST_INTERVAL_MS), timeoutMs, failures, onFailure };
    this.#target = target;
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#ping(), this.#options.intervalMs);
    // Pings alone must not keep a process alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  async #ping(): Promise<void> {
    const { timeoutMs, failures, onFailure } = this.#options;
    try {
      await this.#target.ping(timeoutMs);
      this.#failed = 0;
    } catch {
      this.#failed++;
      const text = `${this.#failed} pings in a row were not answered within ${timeoutMs} ms`;
      if (this.#failed >= failures && !this.#stopped) {
        if (onFailure === "close") return this.#target.giveUp(text);
        if (this.#failed === failures) this.#target.warn(text);
      }
    }
    this.#schedule();
  }
}
