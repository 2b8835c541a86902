// Keeps the sliding windows of all limits: per caller and name, bounded in number.
import { forTool, type Policy } from "../policy/policy.js";
import { SlidingWindow, WINDOW_MS } from "./sliding-window.js";

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
}

export function ratesOf(policy: Policy): Rates {
  const { rateLimits } = policy.tools;
  let requests = OTHER_REQUESTS + rateLimits.default;
  for (const rate of rateLimits.byName.values()) requests += rate;
  return { requests, completions: COMPLETIONS, tool: (name) => forTool(rateLimits, name) };
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
