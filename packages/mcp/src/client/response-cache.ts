// Keeps results for as long as their server allows (`ttlMs`, `cacheScope`), each for whom it was meant.
import type { JsonObject } from "../jsonrpc/message.js";

/** One result that may be given again. */
export interface CachedResult {
  readonly result: JsonObject;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Where results are kept. Share one among clients whose `identity` tells their users apart. */
export interface ResultStore {
  get(key: string): CachedResult | undefined;
  set(key: string, cached: CachedResult): void;
  delete(key: string): void;
  /** All keys that begin so. */
  keys(prefix: string): Iterable<string>;
}

/** Where results are kept as long as a server allows, and for whom. */
export interface CacheOptions {
  /** Default: one of this client's own. */
  readonly store?: ResultStore;
  /** Who is asking, for results that are private to them. Default: this client and nobody else. */
  readonly identity?: string;
  /** Names the server for results that are public. Default: this client's server and no other. */
  readonly server?: string;
}

/** Pages of lists and resources of one server: more are read anew. */
const MOST_RESULTS = 500;
/** Characters of all results together, as JSON: a server that allows much to be kept must not fill the memory. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** Keeps results in memory: the latest five hundred, and sixteen million characters at most. */
export class MemoryResults implements ResultStore {
  readonly #results = new Map<string, CachedResult>();
  readonly #lengths = new Map<string, number>();
  #characters = 0;

  get(key: string): CachedResult | undefined {
    return this.#results.get(key);
  }

  set(key: string, cached: CachedResult): void {
    this.delete(key);
    const { length } = JSON.stringify(cached.result);
    this.#results.set(key, cached);
    this.#lengths.set(key, length);
    this.#characters += length;
    for (const oldest of this.#results.keys()) {
      if (this.#results.size <= MOST_RESULTS && this.#characters <= MOST_CHARACTERS) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#characters -= this.#lengths.get(key) ?? 0;
    this.#lengths.delete(key);
    this.#results.delete(key);
  }

  *keys(prefix: string): Iterable<string> {
    for (const key of [...this.#results.keys()]) if (key.startsWith(prefix)) yield key;
  }
}

let clients = 0;

export class ResponseCache {
  readonly #store: ResultStore;
  readonly #private: string;
  readonly #public: string;

  constructor({ store = new MemoryResults(), identity, server }: CacheOptions = {}) {
    const own = `client ${++clients}`;
    const about = server ?? own;
    this.#store = store;
    this.#public = JSON.stringify([about]);
    this.#private = JSON.stringify([about, identity ?? own]);
  }

  /** The fresh result for a method and the param that matters. */
  get(method: string, param: string | undefined): JsonObject | undefined {
    for (const owner of [this.#private, this.#public]) {
      const key = owner + keyOf(method, param);
      const cached = this.#store.get(key);
      if (cached === undefined) continue;
      if (cached.expiresAt > Date.now()) return cached.result;
      this.#store.delete(key);
    }
    return undefined;
  }

  /** Keeps a result if its server allows; what is not said to be public is private. */
  set(method: string, param: string | undefined, result: JsonObject): void {
    const { ttlMs, cacheScope } = result;
    if (typeof ttlMs !== "number" || !(ttlMs > 0)) return;
    const owner = cacheScope === "public" ? this.#public : this.#private;
    this.#store.set(owner + keyOf(method, param), { result, expiresAt: Date.now() + ttlMs });
  }

  /** Forgets what a method answered, or one of its answers. */
  drop(method: string, param?: string): void {
    for (const owner of [this.#private, this.#public]) {
      if (param !== undefined) this.#store.delete(owner + keyOf(method, param));
      else for (const key of this.#store.keys(`${owner}${method} `)) this.#store.delete(key);
    }
  }
}

function keyOf(method: string, param: string | undefined): string {
  return `${method} ${param === undefined ? "" : JSON.stringify(param)}`;
}
