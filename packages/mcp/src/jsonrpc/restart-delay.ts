// How long to wait before something that failed is started again.

export interface RestartPace {
  /** Before the first restart. Default 500 ms. */
  readonly firstMs?: number;
  /** However often it failed. Default 60,000 ms. */
  readonly mostMs?: number;
  /** Gives numbers from 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

// Short enough that one crash is hardly noticed.
const FIRST_MS = 500;
// A crash loop costs one start a minute.
const MOST_MS = 60_000;
// Beyond this the doubling has long met any limit.
const MOST_DOUBLINGS = 30;

/**
 * Milliseconds to wait after `failures` failures in a row (1 or more; 0 gives 0): doubling from `firstMs` up to
 * `mostMs`, of which the upper half is left to chance, so that what fell together does not rise together.
 */
export function restartDelay(failures: number, pace: RestartPace = {}): number {
  if (failures <= 0) return 0;
  const { firstMs = FIRST_MS, mostMs = MOST_MS, random = Math.random } = pace;
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, MOST_DOUBLINGS));
  return Math.round(full / 2 + (full / 2) * random());
}
