// Knows how much memory is left to this process, looking only when it is asked and no more than ten times a second.
import { getHeapStatistics } from "node:v8";

/** From this share of what there is on, memory is short: what is under way needs the rest. */
const SHORT_SHARE = 0.85;
/** A look costs some microseconds; what calls take shows within this time. */
export const LOOK_MS = 100;

/** Bytes. */
export interface MemoryReading {
  readonly resident: number;
  readonly heap: number;
  /** What the engine gives up at. */
  readonly heapLimit: number;
}

export interface MemoryWatchOptions {
  /** Bytes this process may use in all. */
  readonly limit: number;
  readonly read?: () => MemoryReading;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class MemoryWatch {
  readonly #limit: number;
  readonly #read: () => MemoryReading;
  readonly #now: () => number;
  #lookedAt = -Infinity;
  #room = 0;

  constructor({ limit, read = ofThisProcess, now = () => performance.now() }: MemoryWatchOptions) {
    this.#limit = limit;
    this.#read = read;
    this.#now = now;
  }

  /** Bytes until memory is short, by whichever bound is nearer; negative while it is. */
  get room(): number {
    const now = this.#now();
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      const { resident, heap, heapLimit } = this.#read();
      this.#room = Math.min(this.#limit * SHORT_SHARE - resident, heapLimit * SHORT_SHARE - heap);
    }
    return this.#room;
  }

  get short(): boolean {
    return this.room < 0;
  }
}

function ofThisProcess(): MemoryReading {
  const { used_heap_size: heap, heap_size_limit: heapLimit } = getHeapStatistics();
  return { resident: process.memoryUsage.rss(), heap, heapLimit };
}
