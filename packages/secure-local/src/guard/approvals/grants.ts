// Remembers consents that hold for more than one call: for the very same call only, in memory, for a limited time.
import type { Caller } from "@secure-local/mcp/server";
import type { Remember } from "../../policy/approvals-policy.js";

/** Consents remembered for a time; the oldest make room. */
const MAX_GRANTS = 1_000;

export class Grants {
  readonly #now: () => number;
  /** When each ends, by the call's digest. */
  readonly #timed = new Map<string, number>();
  readonly #sessions = new WeakMap<Caller, Set<string>>();

  /** `now` is monotonic, in milliseconds: a clock that is set must not lengthen a consent. */
  constructor(now: () => number) {
    this.#now = now;
  }

  has(digest: string, caller: Caller, remember: Remember): boolean {
    // A rule that has become stricter is obeyed at once.
    if (remember.kind === "none") return false;
    if (remember.kind === "session") return this.#sessions.get(caller)?.has(digest) === true;
    const end = this.#timed.get(digest);
    return end !== undefined && this.#now() < end;
  }

  add(digest: string, caller: Caller, remember: Remember): void {
    if (remember.kind === "session") {
      const granted = this.#sessions.get(caller) ?? new Set<string>();
      if (granted.size < MAX_GRANTS) this.#sessions.set(caller, granted.add(digest));
    } else if (remember.kind === "minutes") {
      this.#timed.delete(digest);
      if (this.#timed.size >= MAX_GRANTS) this.#timed.delete(this.#timed.keys().next().value as string);
      this.#timed.set(digest, this.#now() + remember.minutes * 60_000);
    }
  }
}
