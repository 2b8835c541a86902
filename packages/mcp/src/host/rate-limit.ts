// Counts how often something happened in the last minute, by name.

const WINDOW_MS = 60_000;

export class RateLimit {
  readonly #most: number;
  readonly #times = new Map<string, number[]>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether `name` may do it once more now; counts it if so. */
  take(name: string): boolean {
    const now = performance.now();
    const times = (this.#times.get(name) ?? []).filter((at) => now - at < WINDOW_MS);
    const allowed = times.length < this.#most;
    if (allowed) times.push(now);
    this.#times.set(name, times);
    return allowed;
  }

  forget(name: string): void {
    this.#times.delete(name);
  }
}
