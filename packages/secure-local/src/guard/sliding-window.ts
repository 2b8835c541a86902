// Counts events of the last minute in fixed memory, for limits that hold in every minute and not only on average.

export const WINDOW_MS = 60_000;
/** Fine enough that a place is held at most 0.4 % longer than a minute, coarse enough for a kilobyte a window. */
const SLOT_MS = 250;
const SLOTS: number = WINDOW_MS / SLOT_MS;
/** One slot more than a minute has, so that the slot under way never hides one that still counts. */
const RING: number = SLOTS + 1;

/** At most `limit` events in any 60 seconds. Time is given by the caller, in milliseconds, and must not go back. */
export class SlidingWindow {
  readonly #counts = new Uint32Array(RING);
  #newest = 0;
  #total = 0;

  /** Takes a place and returns 0, or returns the milliseconds until one is free; a refused event does not count. */
  take(limit: number, now: number): number {
    this.#advance(Math.floor(now / SLOT_MS));
    if (this.#total >= limit) return this.#wait(limit, now);
    this.#counts[this.#newest % RING]! += 1;
    this.#total += 1;
    return 0;
  }

  /** Whether nothing that happened still counts. */
  idle(now: number): boolean {
    this.#advance(Math.floor(now / SLOT_MS));
    return this.#total === 0;
  }

  /** Forgets the slots that are more than a minute old. A clock that went back finds the newest slot again. */
  #advance(slot: number): void {
    if (slot <= this.#newest) return;
    const steps = Math.min(slot - this.#newest, RING);
    for (let step = 1; step <= steps && this.#total > 0; step += 1) {
      const index = (this.#newest + step) % RING;
      this.#total -= this.#counts[index]!;
      this.#counts[index] = 0;
    }
    this.#newest = slot;
  }

  #wait(limit: number, now: number): number {
    let surplus = this.#total - limit;
    for (let slot = this.#newest - SLOTS; slot <= this.#newest; slot += 1) {
      surplus -= slot < 0 ? 0 : this.#counts[slot % RING]!;
      if (surplus < 0) return Math.max(1, Math.ceil((slot + RING) * SLOT_MS - now));
    }
    return WINDOW_MS;
  }
}
