// What stands against a tool or resource that exists and whose name the policy allows.
import { isFileUri, pathOfUri, uriOfPath } from "../capabilities/files/file-uri.js";
import { leadsTo } from "../capabilities/files/leads-to.js";
import { gitAddress, isGitUri } from "../capabilities/git/git-uri.js";
import type { SubjectKind } from "../guard/subject.js";
import { type Decision, deniedElsewhere } from "../policy/decide.js";
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
  if (kind === "resource") return linkedDenial(policy, name) ?? familyOf(catalogue, name)?.objection?.(policy, name);
  const reason = kind === "tool" ? unmetNeed(policy, catalogue.tools.get(name)?.needs) : undefined;
  return reason === undefined ? undefined : { allowed: false, rule: DEFAULT_DENY, reason };
}

const UNTOLD: Rule = Object.freeze({ text: "built-in rule: denials hold for what a URI leads to" });

/** A file or repository is denied by each of its names, whatever links the URI goes by. */
function linkedDenial(policy: Policy, uri: string): Decision | undefined {
  const scheme = isFileUri(uri) ? "file:" : isGitUri(uri) ? "git:" : undefined;
  if (scheme === undefined || uri.includes("{")) return undefined;
  const patterns = policy.resources.denied.rules.map(({ pattern }) => pattern);
  const folders = patterns.filter((pattern) => pattern.startsWith(`${scheme}//`)).flatMap(folderOf);
  if (folders.length === 0) return undefined;
  let names: readonly string[] | undefined;
  try {
    names = leadsTo(scheme === "git:" ? gitAddress(uri).repository : pathOfUri(uri), folders)?.names;
  } catch {
    // Whoever reads it says what is wrong with it.
    return undefined;
  }
  if (names === undefined)
    return { allowed: false, rule: UNTOLD, reason: `What the resource "${uri}" leads to cannot be told.` };
  const rest = /[?#].*$/s.exec(uri)?.[0] ?? "";
  const others = names.map((name) => uriOfPath(name).replace(/^file:/, scheme) + rest);
  return deniedElsewhere(policy, uri, others);
}

/** The folder that a denied URI, or the beginning of one, stands in, and the thing itself. */
function folderOf(pattern: string): string[] {
  const path = pattern.replace(/^\w+:\/\/(?:localhost)?/, "").replace(/[?#].*$/s, "");
  try {
    const whole = decodeURIComponent(path.replace(/\*$/, ""));
    const folder = whole.slice(0, whole.lastIndexOf("/")) || "/";
    return path.endsWith("*") ? [folder] : [whole, folder];
  } catch {
    return [path];
  }
}
