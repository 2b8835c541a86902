// Asks the clients of open streams now and then whether they are still there, and gives up those that never answer.
import type { PingLimits } from "./http-limits.js";

/** A session that can be asked. */
export interface PingTarget {
  /** Whether a stream is open that a question could reach. */
  reachable(): boolean;
  /** False when no answer came in time. Never rejects. */
  ping(timeoutMs: number): Promise<boolean>;
  end(): void;
}

interface Asked {
  readonly target: PingTarget;
  missed: number;
  waiting: boolean;
}

export class Pinger {
  readonly #limits: PingLimits;
  readonly #onMissed: (message: string) => void;
  readonly #asked = new Map<object, Asked>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** `onMissed` is told, for the log, of every ping that was not answered. */
  constructor(limits: PingLimits, onMissed: (message: string) => void) {
    this.#limits = limits;
    this.#onMissed = onMissed;
  }

  add(session: object, target: PingTarget): void {
    this.#asked.set(session, { target, missed: 0, waiting: false });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#tick(), this.#limits.everyMs);
    (this.#timer as { unref?(): void }).unref?.();
  }

  remove(session: object): void {
    this.#asked.delete(session);
    if (this.#asked.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    for (const [session, asked] of this.#asked) {
      if (!asked.waiting && asked.target.reachable()) void this.#ask(session, asked);
    }
  }

  async #ask(session: object, asked: Asked): Promise<void> {
    const { timeoutMs, misses } = this.#limits;
    asked.waiting = true;
    const answered = await asked.target.ping(timeoutMs);
    asked.waiting = false;
    if (answered) asked.missed = 0;
    // A session that ended, or lost its streams, while it was asked is known to be gone: nothing was missed.
    if (answered || !this.#asked.has(session) || !asked.target.reachable()) return;
    asked.missed++;
    const over = asked.missed >= misses;
    const end = over ? ": its session ends" : "";
    this.#onMissed(`A client did not answer a ping within ${timeoutMs} ms (${asked.missed} of ${misses})${end}`);
    if (over) asked.target.end();
  }
}
