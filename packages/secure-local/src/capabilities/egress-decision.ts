// What a policy is asked, and answers, before a request leaves this machine.
import type { EgressEndpoint } from "./egress-target.js";

export interface EgressDecision {
  readonly allowed: boolean;
  /** The rule that decided, as people read it in the policy. It is shown in errors. */
  readonly rule: string;
  /** Where the rule stands in the policy file. */
  readonly line?: number | undefined;
  /** True only when the policy names this very endpoint or address: then the address need not be public. */
  readonly allowPrivate?: boolean;
}

/**
 * Pure. Asked for each hop: once before the name is looked up, then with each address it has (a literal's is itself). Plain
 * `http` is allowed only where the policy says so.
 */
export type DecideEgress = (endpoint: EgressEndpoint, address?: string) => EgressDecision;
