// Remembers which proofs were used, so that each is good once.

/** Where used proofs are remembered. Several processes behind one address need one they share. */
export interface ReplayStore {
  /**
   * Marks `key` as used until `expiresAt` (milliseconds). "fresh" the first time, "used" from then on, "full" when it
   * cannot be remembered: the proof must then be refused. The key is the thumbprint of whoever made the proof, a blank, and
   * the proof's id.
   */
  use(key: string, expiresAt: number, now: number): ReplayVerdict | Promise<ReplayVerdict>;
}

export type ReplayVerdict = "fresh" | "used" | "full";

/** Proofs remembered: 500 a second for the whole time a proof is good; about 10 MB when full. */
const BOUND = 50_000;

/** Proofs that one key may always have remembered, however many others do: an ordinary client makes fewer in a minute. */
const SMALLEST_SHARE = 16;

/**
 * In memory. Nothing is dropped before its time, since dropping it would let it be used again. One key may have as many
 * remembered as are still free, so that alone it fills half, two fill a third each, and there is always room for the next.
 */
export function memoryReplayStore(bound: number = BOUND): ReplayStore {
  const used = new Map<string, number>();
  const counts = new Map<string, number>();
  const count = (key: string, change: 1 | -1): void => {
    const owner = ownerOf(key);
    const left = (counts.get(owner) ?? 0) + change;
    if (left > 0) counts.set(owner, left);
    else counts.delete(owner);
  };
  return {
    use(key, expiresAt, now) {
      // All live equally long, so that the oldest come first.
      for (const [old, end] of used) {
        if (end > now) break;
        used.delete(old);
        count(old, -1);
      }
      if (used.has(key)) return "used";
      const free = bound - used.size;
      if (free <= 0 || (counts.get(ownerOf(key)) ?? 0) >= Math.max(SMALLEST_SHARE, free)) return "full";
      used.set(key, expiresAt);
      count(key, 1);
      return "fresh";
    },
  };
}

function ownerOf(key: string): string {
  const blank = key.indexOf(" ");
  return blank < 0 ? key : key.slice(0, blank);
}
