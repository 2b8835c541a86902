// Counts durations in buckets whose bounds never change, so that adding one is a few comparisons.

/** Seconds. From 10 ms on those of the OpenTelemetry conventions for MCP; below, what local tools take. */
export const BOUNDS: readonly number[] = [
  0.000_1, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

export class DurationHistogram {
  readonly #buckets = new Float64Array(BOUNDS.length + 1);
  #sum = 0;

  add(seconds: number): void {
    let index = 0;
    while (index < BOUNDS.length && seconds > BOUNDS[index]!) index += 1;
    this.#buckets[index]! += 1;
    this.#sum += seconds;
  }

  /** Seconds of all durations together. */
  get sum(): number {
    return this.#sum;
  }

  /** How many durations were at most each bound, and at last how many there were. */
  cumulative(): number[] {
    let total = 0;
    return Array.from(this.#buckets, (count) => (total += count));
  }
}
