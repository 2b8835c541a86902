// The consents that are remembered, here and by the other processes of this server: found, listed for a person, and taken back.
import type { Caller } from "@secure-local/mcp/server";
import type { Remember } from "../../policy/policy.js";
import type { CallerMemory } from "../rate-limits.js";
import { type AskedConsent, type ConsentOrigin, covers, type KeptConsent, Grants } from "./shown-call.js";

/** A remembered consent as a person sees it. */
export interface RememberedConsent extends ConsentOrigin {
  /** The beginning of the digest of its call, as records have it. */
  readonly call: string;
  /** How often it has let a call pass, at this process, and when it did last, in milliseconds since 1970. */
  readonly used: number;
  readonly lastUsed?: number | undefined;
  /** It was given under another policy than the one in force: it counts for nothing while that is. */
  readonly isVoid: boolean;
}

/** What is asked for. */
export interface RememberedCase {
  readonly consent: AskedConsent;
  readonly caller: Caller;
  readonly remember: Remember;
  /** Under what the other processes remember it; undefined where it is remembered here alone. */
  readonly sharedKey: string | undefined;
}

/** The policy that counts now. */
interface PolicyInForce {
  readonly hash: string;
  /** The name of its profile; empty where it has none. */
  readonly profile: string;
}

/** No session lives longer. */
const SESSION_MS: number = 24 * 60 * 60_000;
/** Consents whose use is counted: of more, the oldest are forgotten. */
const MAX_COUNTED = 2_000;
const MAX_ABOUT = 4_000;

export class RememberedConsents {
  readonly #grants: Grants;
  readonly #memory: CallerMemory | undefined;
  /** By the names of consents. */
  readonly #uses = new Map<string, { readonly used: number; readonly lastUsed: number }>();
  /** What other processes remember as well, so that one of them may take it back. */
  readonly #shared = new WeakSet<KeptConsent>();

  constructor(now: () => number, memory: CallerMemory | undefined) {
    this.#grants = new Grants(now);
    this.#memory = memory;
  }

  /**
   * A person's yes to this very call, here or at another process, for all the rules that ask now. Where the others cannot be asked
   * nobody knows: a policy or a person may have said no there, or taken it back.
   */
  async find({ consent, caller, remember, sharedKey }: RememberedCase): Promise<KeptConsent | "unknown" | undefined> {
    const here = this.#grants.find(consent, caller, remember);
    if (this.#memory === undefined) return here;
    try {
      const text = await this.#memory.find("consent", sharedKey ?? consent.digest);
      const there = text === undefined || sharedKey === undefined ? undefined : grantIn(text, consent.digest);
      if (here !== undefined && !(this.#shared.has(here) && text === undefined)) return here;
      // It was taken back at another process.
      if (here !== undefined) this.#grants.forget(here);
      return there !== undefined && covers(there.rules, consent.rules) ? there : undefined;
    } catch {
      return "unknown";
    }
  }

  /** Whether it can be known now what people have said of it, here and at other processes. */
  async isKnown(asked: RememberedCase): Promise<boolean> {
    return this.#memory === undefined || (await this.find(asked)) !== "unknown";
  }

  /** Remembers it for all processes. Where they cannot be told it is not remembered: nobody could take it back at another one. */
  async add({ consent, caller, remember, sharedKey }: RememberedCase, given: ConsentOrigin): Promise<void> {
    const lifeMs = remember.kind === "minutes" ? remember.minutes * 60_000 : SESSION_MS;
    const until = remember.kind === "minutes" ? given.at + lifeMs : undefined;
    const origin = { ...given, about: given.about.slice(0, MAX_ABOUT), until };
    const add = (): void => this.#grants.add(consent, caller, remember, { origin, of: given.principal });
    if (this.#memory === undefined || sharedKey === undefined) return add();
    const text = JSON.stringify({ rules: consent.rules, digest: consent.digest, origin });
    try {
      await this.#memory.keep("consent", sharedKey, text, lifeMs);
    } catch {
      return;
    }
    add();
    const grant = this.#grants.find(consent, caller, remember);
    if (grant !== undefined) this.#shared.add(grant);
  }

  /** Forgets what was agreed to for a principal that is gone. */
  endOf(principal: string): void {
    this.#grants.endOf(principal);
  }

  /**
   * Forgets what was agreed to under another policy than the one that came into force: it would count again where that comes back.
   * Where the other processes cannot be told, what they remember stays, and counts for nothing meanwhile.
   */
  async outlive({ hash, profile }: PolicyInForce): Promise<void> {
    const isOver = ({ origin }: KeptConsent): boolean => origin?.profile === profile && origin.policy !== hash;
    for (const grant of this.#grants.all()) if (isOver(grant)) this.#grants.forget(grant);
    const shared = await this.#sharedOnes().catch(() => new Map<string, KeptConsent>());
    for (const [name, grant] of shared)
      if (isOver(grant)) await this.#memory?.drop("consent", name).catch(() => undefined);
  }

  /** It has let a call pass. */
  used({ origin }: KeptConsent): void {
    if (origin === undefined) return;
    const { used = 0 } = this.#uses.get(origin.id) ?? {};
    this.#uses.delete(origin.id);
    this.#uses.set(origin.id, { used: used + 1, lastUsed: Date.now() });
    if (this.#uses.size > MAX_COUNTED) this.#uses.delete(this.#uses.keys().next().value as string);
  }

  /** All that hold, those that were given last first. Rejects where the other processes cannot be asked. */
  async all(inForce: PolicyInForce): Promise<RememberedConsent[]> {
    const shared = await this.#sharedOnes();
    const found = new Map<string, KeptConsent>();
    for (const grant of [...shared.values(), ...this.#grants.all()])
      if (grant.origin !== undefined && this.#isHere(grant, shared)) found.set(grant.origin.id, grant);
    return [...found.values()]
      .flatMap(({ origin, digest }) => (origin?.profile === inForce.profile ? [{ ...origin, digest }] : []))
      .sort((a, b) => b.at - a.at)
      .map(({ digest, ...origin }) => ({
        ...origin,
        call: digest.slice(0, 16),
        used: 0,
        ...this.#uses.get(origin.id),
        isVoid: origin.policy !== inForce.hash,
      }));
  }

  /** Takes one back, here and for all. Rejects where the other processes cannot be told. */
  async forget(id: string): Promise<void> {
    for (const grant of this.#grants.all()) if (grant.origin?.id === id) this.#grants.forget(grant);
    for (const [name, { origin }] of await this.#sharedOnes())
      if (origin?.id === id) await this.#memory?.drop("consent", name);
  }

  /** By the names under which they are shared. */
  async #sharedOnes(): Promise<Map<string, KeptConsent>> {
    const texts = (await this.#memory?.list("consent")) ?? new Map<string, string>();
    return new Map([...texts].flatMap(([name, text]) => [[name, grantIn(text, "")] as const]));
  }

  /** Whether it was not taken back at another process. */
  #isHere(grant: KeptConsent, shared: ReadonlyMap<string, KeptConsent>): boolean {
    if (!this.#shared.has(grant)) return true;
    return [...shared.values()].some(({ origin }) => origin?.id === grant.origin?.id);
  }
}

/** What another process has written; an older version wrote the rules alone. */
function grantIn(text: string, digest: string): KeptConsent {
  const read = JSON.parse(text) as readonly string[] | KeptConsent;
  return "rules" in read ? read : { digest, rules: read };
}
