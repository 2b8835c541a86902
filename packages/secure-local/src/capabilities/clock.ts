// The time, as tools are handed it.
import { setTimeout as wait } from "node:timers/promises";

export interface Clock {
  /** Milliseconds since 1970, UTC; may jump. */
  now(): number;
  /** Milliseconds since some moment; never goes back. */
  elapsed(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  async sleep(ms, signal) {
    try {
      await wait(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};
