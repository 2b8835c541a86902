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
