// What the processes of one server remember together of callers: limits, consents and what was read, each by its name.
import { FairLimits, type SharedStores } from "@secure-local/mcp/cluster";
import type { CallerMemory } from "../guard/caller-memory.js";

const MINUTE_MS = 60_000;
/** Names of which is remembered that they have no place now; the oldest make room. */
const MOST_FULL = 10_000;

export class SharedMemory implements CallerMemory {
  readonly #stores: SharedStores;
  readonly #limits: FairLimits;
  /** Until when a name surely has no place, by `performance.now()`: whoever asks meanwhile need not be counted. */
  readonly #full = new Map<string, number>();

  constructor(stores: SharedStores, processes: () => number) {
    this.#stores = stores;
    this.#limits = new FairLimits(stores.limits, processes);
  }

  async take(caller: string | undefined, names: Readonly<Record<string, number>>): Promise<number> {
    const now = performance.now();
    const entries = Object.entries(names).map(([name, most]) => [JSON.stringify([caller ?? "", name]), most] as const);
    const all = JSON.stringify(entries);
    const until = this.#full.get(all) ?? 0;
    if (until > now) return until - now;
    const rules = entries.map(([key, most]) => [key, { most, windowMs: MINUTE_MS }] as const);
    const waitMs = await this.#limits.take(Object.fromEntries(rules));
    this.#full.delete(all);
    if (waitMs > 0) this.#full.set(all, performance.now() + waitMs);
    if (this.#full.size > MOST_FULL) this.#full.delete(this.#full.keys().next().value as string);
    return waitMs;
  }

  async keep(kind: string, name: string, text: string, lifeMs: number): Promise<void> {
    await this.#stores.records.put(`${kind} ${bucketOf(name)}`, name, text, lifeMs);
  }

  async find(kind: string, name: string): Promise<string | undefined> {
    return this.#stores.records.get(`${kind} ${bucketOf(name)}`, name);
  }

  async list(kind: string): Promise<ReadonlyMap<string, string>> {
    const groups = Array.from({ length: BUCKETS }, (_, at) => this.#stores.records.list(`${kind} ${at}`));
    return new Map((await Promise.all(groups)).flatMap((group) => [...group]));
  }

  async drop(kind: string, name: string): Promise<void> {
    await this.#stores.records.delete(`${kind} ${bucketOf(name)}`, name);
  }
}

/** A group holds so many records only: many callers are many groups. */
const BUCKETS = 256;

function bucketOf(name: string): string {
  let sum = 0;
  for (let at = 0; at < name.length; at++) sum = (sum * 31 + name.charCodeAt(at)) % BUCKETS;
  return String(sum);
}
