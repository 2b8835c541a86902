// Holds a document of an authorization server: fetched rarely, by one flight at a time, kept a while when the server is down.

/** Age from which a newer document is fetched while the held one still serves: issuers rotate keys over hours. */
const REFRESH_AFTER_MS = 5 * 60_000;
/** Age from which the held document is not trusted any more: a withdrawn key must stop working. */
const KEEP_MS = 10 * 60_000;
/** Least time between two fetches, so that tokens with made-up key ids cannot make us flood the issuer. */
const SPACING_MS = 30_000;

export class Refreshed<T> {
  readonly #load: () => Promise<T>;
  readonly #now: () => number;
  #held: { readonly value: T; readonly at: number } | undefined;
  #attemptedAt = -Infinity;
  #flight: Promise<void> | undefined;
  #failed = false;

  /** `now` gives milliseconds. `load` must end by itself and may reject. */
  constructor(load: () => Promise<T>, now: () => number) {
    this.#load = load;
    this.#now = now;
  }

  /** Whether the last fetch failed: what is held may then be outdated. */
  get failed(): boolean {
    return this.#failed;
  }

  /** The document, or undefined when there is none young enough and the server does not give one. */
  async current(): Promise<T | undefined> {
    const age = this.#age();
    if (age >= KEEP_MS) await this.renew();
    // Those who ask meanwhile are served at once; `renew` never rejects.
    else if (age >= REFRESH_AFTER_MS) void this.renew();
    return this.#age() < KEEP_MS ? this.#held?.value : undefined;
  }

  /** Fetches a newer document, joins the fetch under way, or does nothing when the last one is too recent. */
  renew(): Promise<void> {
    if (this.#flight !== undefined) return this.#flight;
    const now = this.#now();
    if (now - this.#attemptedAt < SPACING_MS) return Promise.resolve();
    this.#attemptedAt = now;
    this.#flight = this.#fetch(now).finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #fetch(at: number): Promise<void> {
    try {
      this.#held = { value: await this.#load(), at };
      this.#failed = false;
    } catch {
      this.#failed = true;
    }
  }

  #age(): number {
    return this.#held === undefined ? Infinity : this.#now() - this.#held.at;
  }
}

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
