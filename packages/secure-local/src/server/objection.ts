// What stands against a tool or resource that exists and whose name the policy allows.
import type { SubjectKind } from "../guard/subject.js";
import type { Decision } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { Rule } from "../policy/rule.js";
import { type Catalogue, familyOf, withheldReason } from "./catalogue.js";
import { unmetNeed } from "./unmet-need.js";

/** The operator sees why, and what to do, with `plugins list`. */
const QUARANTINE: Rule = Object.freeze({ text: "quarantine of plugins" });
const DEFAULT_DENY: Rule = Object.freeze({ text: "default deny" });

/** A refusal, or undefined when nothing does: a tool has nothing to work on, a file is out of reach. */
export function objection(
  policy: Policy,
  catalogue: Catalogue,
  { kind, name }: { readonly kind: SubjectKind; readonly name: string },
): Decision | undefined {
  const withheld = withheldReason(catalogue, kind, name);
  if (withheld !== undefined)
    return { allowed: false, rule: QUARANTINE, reason: `The ${kind} ${name} is withheld: ${withheld}.` };
  if (kind === "resource") return familyOf(catalogue, name)?.objection?.(policy, name);
  const reason = kind === "tool" ? unmetNeed(policy, catalogue.tools.get(name)?.needs) : undefined;
  return reason === undefined ? undefined : { allowed: false, rule: DEFAULT_DENY, reason };
}
