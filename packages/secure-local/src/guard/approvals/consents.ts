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

/** Where a consent that is remembered came from and what it is for, for the person who may take it back. */
export interface ConsentOrigin {
  /** The question that was answered; it names the consent. */
  readonly id: string;
  readonly tool: string;
  /** What the person was shown of the call, in at most 4,000 characters. */
  readonly about: string;
  readonly client: string;
  readonly principal: string;
  /** The plugin that asked; empty where it was the client. */
  readonly actor: string;
  readonly profile: string;
  readonly by: "client" | "terminal" | "console";
  /** Milliseconds since 1970 when it was given, and when it ends; the end of a session is not known before. */
  readonly at: number;
  readonly until?: number | undefined;
  /** Hash of the policy under which it was given: under another one it is worth nothing. */
  readonly policy: string;
}

/** A consent that is remembered. */
export interface KeptConsent extends Pick<AskedConsent, "digest" | "rules"> {
  /** Monotonic; absent: until its session ends. */
  readonly end?: number;
  /** The principal that it is for. */
  readonly of?: string;
  /** Absent from what an older version shares. */
  readonly origin?: ConsentOrigin | undefined;
}

/** Whose consent it is, and where it came from. */
interface GivenFor {
  readonly of?: string | undefined;
  readonly origin?: ConsentOrigin | undefined;
}

/** Consents remembered for a time; the oldest make room. */
const MAX_GRANTS = 1_000;

export class Grants {
  readonly #now: () => number;
  /** By the call's digest. */
  readonly #timed = new Map<string, KeptConsent>();
  readonly #sessions = new WeakMap<Caller, Map<string, KeptConsent>>();
  /** Those who have any in their sessions, while they are there. */
  readonly #callers = new Set<WeakRef<Caller>>();

  /** `now` is monotonic, in milliseconds: a clock that is set must not lengthen a consent. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** What a person has agreed to of this very call, if it covers all that asks now. */
  find({ digest, rules }: AskedConsent, caller: Caller, remember: Remember): KeptConsent | undefined {
    // A rule that has become stricter is obeyed at once.
    if (remember.kind === "none") return undefined;
    const kept = (remember.kind === "session" ? this.#sessions.get(caller) : this.#timed)?.get(digest);
    return kept !== undefined && this.#holds(kept) && covers(kept.rules, rules) ? kept : undefined;
  }

  /** Forgets what was agreed to for a principal that is gone. What belongs to a session ends with that. */
  endOf(principal: string): void {
    for (const [digest, { of }] of this.#timed) if (of === principal) this.#timed.delete(digest);
  }

  /** `of`: the principal that it is for. */
  add({ digest, rules }: AskedConsent, caller: Caller, remember: Remember, given: GivenFor = {}): void {
    const { origin, of = "" } = given;
    if (remember.kind === "session") {
      const granted = this.#ofSession(caller);
      if (granted.size < MAX_GRANTS || granted.has(digest)) granted.set(digest, { digest, rules, origin });
    } else if (remember.kind === "minutes") {
      this.#timed.delete(digest);
      if (this.#timed.size >= MAX_GRANTS) this.#timed.delete(this.#timed.keys().next().value as string);
      this.#timed.set(digest, { digest, rules, origin, of, end: this.#now() + remember.minutes * 60_000 });
    }
  }

  /** All that hold now, those of sessions that are there too. */
  all(): KeptConsent[] {
    return this.#maps().flatMap((map) => [...map.values()].filter((each) => this.#holds(each)));
  }

  /** The same call is asked about again from now on. */
  forget(grant: KeptConsent): void {
    for (const map of this.#maps()) if (map.get(grant.digest) === grant) map.delete(grant.digest);
  }

  #holds({ end }: KeptConsent): boolean {
    return end === undefined || this.#now() < end;
  }

  #ofSession(caller: Caller): Map<string, KeptConsent> {
    const known = this.#sessions.get(caller);
    if (known !== undefined) return known;
    const granted = new Map<string, KeptConsent>();
    this.#sessions.set(caller, granted);
    for (const each of this.#callers) if (each.deref() === undefined) this.#callers.delete(each);
    this.#callers.add(new WeakRef(caller));
    return granted;
  }

  #maps(): Map<string, KeptConsent>[] {
    const sessions = [...this.#callers].map((each) => each.deref());
    return [this.#timed, ...sessions.flatMap((caller) => (caller && this.#sessions.get(caller)) ?? [])];
  }
}
