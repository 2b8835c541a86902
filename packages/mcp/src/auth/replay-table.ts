// Remembers which proofs were used, so that each is good once.

/** Where used proofs are remembered. Several processes behind one address need one they share. */
export interface ReplayStore {
  /**
   * Marks `key` as used until `expiresAt` (milliseconds). "fresh" the first time, "used" from then on, "full" when it
   * cannot be remembered: the proof must then be refused.
   */
  use(key: string, expiresAt: number, now: number): ReplayVerdict | Promise<ReplayVerdict>;
}

export type ReplayVerdict = "fresh" | "used" | "full";

/** Proofs remembered: 500 a second for the whole time a proof is good; about 10 MB when full. */
const BOUND = 50_000;

/** In memory. Nothing is dropped before its time, since dropping it would let it be used again. */
export function memoryReplayStore(bound: number = BOUND): ReplayStore {
  const used = new Map<string, number>();
  return {
    use(key, expiresAt, now) {
      // All live equally long, so that the oldest come first.
      for (const [old, end] of used) {
        if (end > now) break;
        used.delete(old);
      }
      if (used.has(key)) return "used";
      if (used.size >= bound) return "full";
      used.set(key, expiresAt);
      return "fresh";
    },
  };
}
