// What a consent is bound to, and which consents are remembered.
import { createHash } from "node:crypto";
import { exactly, ExactNumber } from "@secure-local/mcp/jsonrpc";
import type { Caller } from "@secure-local/mcp/server";
import type { Remember } from "../../policy/policy.js";

// Gives a call a digest that is another one as soon as anything of the call is another.

/** All that a consent is bound to. */
export interface BoundCall {
  readonly tool: string;
  /** As the handler gets them: validated, defaults filled in. */
  readonly arguments: unknown;
  /** Paths in them that lead elsewhere, and where. */
  readonly led: readonly (readonly [path: string, real: string | undefined])[];
  /** Hash of the policy the call was admitted under, and its profile. */
  readonly policy: readonly [hash: string, profile: string | undefined];
  /** Who asks: a principal, the program of it where those are told apart, and who does it for the call. */
  readonly asker: readonly [principal: string | undefined, program: string | undefined, actor: string | undefined];
  /** What it is bound to besides, as it is at this moment. */
  readonly bound: readonly (string | undefined)[];
}

/** SHA-256 in hexadecimal. The order of keys makes no difference. */
export function callDigest({ tool, arguments: args, led, policy, asker, bound }: BoundCall): string {
  const text = JSON.stringify([tool, sorted(exactly(args)), led, policy, asker, bound]);
  return createHash("sha256").update(text).digest("hex");
}

/** Lists of pairs instead of objects: keys such as `__proto__` count like any other. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof ExactNumber) return ["number", String(value)];
  if (Array.isArray(value)) return ["list", ...value.map(sorted)];
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return ["object", ...pairs.map(([key, member]) => [key, sorted(member)])];
}

// Remembers consents that hold for more than one call: for the very same call and the rules a person was shown only, for a limited time.

/** What a person has agreed to, or would have to. */
export interface AskedConsent {
  /** Of the call. */
  readonly digest: string;
  /** The rules that asked, each with its terms and as it was shown. */
  readonly rules: readonly string[];
}

/** Whether who agreed to a call for some rules has agreed for all that ask now: each of them allowed who answered then. */
export function covers(given: readonly string[], asking: readonly string[]): boolean {
  return asking.every((rule) => given.includes(rule));
}

/** Consents remembered for a time; the oldest make room. */
const MAX_GRANTS = 1_000;

export class Grants {
  readonly #now: () => number;
  /** What was agreed to and when that ends, by the call's digest. */
  readonly #timed = new Map<string, Pick<AskedConsent, "rules"> & { readonly end: number; readonly of: string }>();
  readonly #sessions = new WeakMap<Caller, Map<string, AskedConsent>>();

  /** `now` is monotonic, in milliseconds: a clock that is set must not lengthen a consent. */
  constructor(now: () => number) {
    this.#now = now;
  }

  has({ digest, rules }: AskedConsent, caller: Caller, remember: Remember): boolean {
    // A rule that has become stricter is obeyed at once.
    if (remember.kind === "none") return false;
    if (remember.kind === "session") {
      const kept = this.#sessions.get(caller)?.get(digest);
      return kept !== undefined && covers(kept.rules, rules);
    }
    const given = this.#timed.get(digest);
    return given !== undefined && this.#now() < given.end && covers(given.rules, rules);
  }

  /** Forgets what was agreed to for a principal that is gone. What belongs to a session ends with that. */
  endOf(principal: string): void {
    for (const [digest, { of }] of this.#timed) if (of === principal) this.#timed.delete(digest);
  }

  /** `of`: the principal that it is for. */
  add(consent: AskedConsent, caller: Caller, remember: Remember, of: string = ""): void {
    const { digest, rules } = consent;
    if (remember.kind === "session") {
      const granted = this.#sessions.get(caller) ?? new Map<string, AskedConsent>();
      if (granted.size < MAX_GRANTS || granted.has(digest)) granted.set(digest, consent);
      this.#sessions.set(caller, granted);
    } else if (remember.kind === "minutes") {
      this.#timed.delete(digest);
      if (this.#timed.size >= MAX_GRANTS) this.#timed.delete(this.#timed.keys().next().value as string);
      this.#timed.set(digest, { rules, of, end: this.#now() + remember.minutes * 60_000 });
    }
  }
}
