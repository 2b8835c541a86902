// Keeps the sliding windows of all limits, per caller and name, bounded in number, and says what processes remember
// together of callers.
import { forTool, type Policy } from "../policy/policy.js";

/** Completions a minute: ten a second, which is faster than anybody types. */
const COMPLETIONS = 600;
/** Requests a minute beyond what the tools may be called: room for lists, reads and prompts, not for a client in a loop. */
const OTHER_REQUESTS = 6_000;
/** Windows kept, at a kilobyte each. Names come from callers, so something must end them. */
const MAX_WINDOWS = 4_096;

/** What one policy allows a minute. Made once a policy. */
export interface Rates {
  readonly requests: number;
  readonly completions: number;
  tool(name: string): number;
  /** The limit of a tool with the key of the policy that sets it. */
  ruleOf(tool: string): RateRule;
  /** The key that a person raises to allow more of a tool, and its line. */
  raisedBy(tool: string): { readonly key: string; readonly line: number | undefined };
  /** That of `requests` of any kind, or of `completions`. */
  other(name: string): RateRule;
}

/** How many a minute, and by what. */
export interface RateRule {
  readonly limit: number;
  readonly rule: string;
  /** Where the policy says it; undefined where it does not. */
  readonly line?: number | undefined;
}

export function ratesOf(policy: Policy): Rates {
  const { rateLimits } = policy.tools;
  let requests = OTHER_REQUESTS + rateLimits.default;
  for (const rate of rateLimits.byName.values()) requests += rate;
  const ruleOf = (tool: string): RateRule => {
    const key = rateLimits.byName.keyOf(tool) ?? "default";
    return { limit: forTool(rateLimits, tool), rule: `tools.rate_limits.${key}`, line: rateLimits.lines?.get(key) };
  };
  return {
    requests,
    completions: COMPLETIONS,
    tool: (name) => forTool(rateLimits, name),
    ruleOf,
    raisedBy: (tool) => ({
      key: `tools.rate_limits.${rateLimits.byName.keyOf(tool) ?? tool}`,
      line: ruleOf(tool).line,
    }),
    other: (name) =>
      name === "completions"
        ? { limit: COMPLETIONS, rule: "fixed" }
        : { limit: requests, rule: `all of tools.rate_limits, and ${OTHER_REQUESTS} for lists and reads` },
  };
}

/** Places that are taken, and how many milliseconds it is until the first of them is free again, and until all are. */
export interface TakenPlaces {
  readonly used: number;
  readonly firstMs: number;
  readonly allMs: number;
}

/** Takes places in the windows. Counts survive a change of policy: a reload must not hand out a fresh minute. */
export class RateLimits {
  readonly #callers = new Map<string, Map<string, SlidingWindow>>();
  readonly #now: () => number;
  #windows = 0;

  /** `now` is monotonic, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** 0 when there is a place for `caller` under `name`, else milliseconds until there is. */
  take(caller: string | undefined, name: string, limit: number): number {
    const now = this.#now();
    const window = this.#window(caller ?? "", name, now);
    return window === undefined ? WINDOW_MS : window.take(limit, now);
  }

  /** The places of a caller that are taken now, by name; those that are free again are left out. */
  used(caller: string | undefined): ReadonlyMap<string, TakenPlaces> {
    const now = this.#now();
    const windows = [...(this.#callers.get(caller ?? "") ?? [])];
    return new Map(
      windows.map(([name, window]) => [name, window.taken(now)] as const).filter(([, { used }]) => used > 0),
    );
  }

  /** Undefined when no window is free: then nobody new is served until one is. */
  #window(caller: string, name: string, now: number): SlidingWindow | undefined {
    const found = this.#callers.get(caller)?.get(name);
    if (found !== undefined) return found;
    if (this.#windows >= MAX_WINDOWS) this.#sweep(now);
    if (this.#windows >= MAX_WINDOWS) return undefined;
    const windows = this.#callers.get(caller) ?? new Map<string, SlidingWindow>();
    const window = new SlidingWindow();
    this.#callers.set(caller, windows.set(name, window));
    this.#windows += 1;
    return window;
  }

  #sweep(now: number): void {
    for (const [caller, windows] of this.#callers) {
      for (const [name, window] of windows) {
        if (!window.idle(now)) continue;
        windows.delete(name);
        this.#windows -= 1;
      }
      if (windows.size === 0) this.#callers.delete(caller);
    }
  }
}

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

  /** Events of the last 60 seconds, and until when they count. */
  taken(now: number): TakenPlaces {
    if (this.idle(now)) return { used: 0, firstMs: 0, allMs: 0 };
    const used = this.#total;
    let last = this.#newest;
    while (this.#counts[last % RING] === 0) last -= 1;
    return { used, firstMs: this.#wait(used, now), allMs: freeAfter(last, now) };
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
      if (surplus < 0) return freeAfter(slot, now);
    }
    return WINDOW_MS;
  }
}

/** Milliseconds until what happened in a slot does not count any more. */
function freeAfter(slot: number, now: number): number {
  return Math.max(1, Math.ceil((slot + RING) * SLOT_MS - now));
}

/** A limit of the policy, and how much of it was used in the last minute. */
export interface UsedLimit extends TakenPlaces, RateRule {
  /** A tool, `requests` of any kind or `completions`. */
  readonly name: string;
}

// What the processes of one server remember together of those who call; absent where one process serves alone.

/** What is remembered: consents of people, and what was read. */
export type MemoryKind = "consent" | "taint";

export interface CallerMemory {
  /**
   * Takes a place in the running minute of each name, at most so many, or in none. Resolves with 0, or with the milliseconds until
   * there is one. Never rejects: where nobody can be asked, each process keeps to its share.
   */
  take(caller: string | undefined, names: Readonly<Record<string, number>>): Promise<number>;
  /** Remembers a text for all processes. Rejects when it cannot. */
  keep(kind: MemoryKind, name: string, text: string, lifeMs: number): Promise<void>;
  /** What any process remembers. Rejects when nobody can be asked. */
  find(kind: MemoryKind, name: string): Promise<string | undefined>;
  /** All of a kind that any process remembers, by name. Rejects when nobody can be asked. */
  list(kind: MemoryKind): Promise<ReadonlyMap<string, string>>;
  /** Forgets a text for all processes. Rejects when it cannot. */
  drop(kind: MemoryKind, name: string): Promise<void>;
}
