// Remembers values for a while and never more than a fixed number of them.

/** Over its bound the entry added first goes. Times are milliseconds of whatever clock the caller uses. */
export class ExpiringMap<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly expiresAt: number }>();
  readonly #bound: number;

  constructor(bound: number) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, now: number): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAt > now) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: T, expiresAt: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#bound) {
      const first = this.#entries.keys().next();
      if (first.done !== true) this.#entries.delete(first.value);
    }
    this.#entries.set(key, { value, expiresAt });
  }
}
