// Keeps a long search from holding everything else up, and tells the caller how far it is.
import type { ToolPowers } from "../tool.js";

/** Milliseconds of work before others get a turn. */
const TURN_MS = 25;
/** Milliseconds between reports. */
const REPORT_MS = 500;

export class Pace {
  readonly #powers: Pick<ToolPowers, "clock" | "progress" | "signal">;
  readonly #began: number;
  #turn: number;
  #reported: number;

  constructor(powers: Pick<ToolPowers, "clock" | "progress" | "signal">) {
    this.#powers = powers;
    this.#began = powers.clock.elapsed();
    this.#turn = this.#began;
    this.#reported = this.#began;
  }

  get elapsedMs(): number {
    return this.#powers.clock.elapsed() - this.#began;
  }

  /** Call often. Throws the signal's reason when the call is cancelled. */
  async step(done: number, message: () => string): Promise<void> {
    const now = this.#powers.clock.elapsed();
    if (now - this.#turn >= TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#powers.signal.throwIfAborted();
      this.#turn = this.#powers.clock.elapsed();
    }
    if (now - this.#reported < REPORT_MS) return;
    this.#reported = now;
    await this.#powers.progress(done, undefined, message());
  }
}
