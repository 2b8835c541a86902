// What a profile leaves of all that the policy lets be reached: what no tool of it can reach is out of its reach.
import { decide } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";

/** The built-in tools by which clients do something with each kind of thing. */
const TOOLS: Readonly<Record<Doing, readonly string[]>> = {
  write: ["write_file", "edit_file"],
  read: ["read_file", "search_text"],
  list: ["list_directory", "search_files"],
  fetch: ["web_fetch", "web_search"],
  run: ["run_command"],
  query: ["query_database", "import_csv"],
};

/** What a client does with a thing. */
export type Doing = "write" | "read" | "list" | "fetch" | "run" | "query";

/** The first of the tools that do it, where the profile leaves none of those that the policy allows; undefined otherwise. */
export function toolLeftOut(policy: Policy, doing: Doing): string | undefined {
  if (policy.profile === undefined || policy.whole === undefined) return undefined;
  const isAllowed = (of: Policy, name: string): boolean => decide(of, { kind: "tool", name }).allowed;
  const { whole } = policy;
  if (TOOLS[doing].some((name) => isAllowed(policy, name))) return undefined;
  return TOOLS[doing].find((name) => isAllowed(whole, name));
}

/** Of some patterns those that other ones let through, each as narrow as the narrower of the two. */
export function narrowed(patterns: readonly string[], to: readonly string[]): string[] {
  const both = patterns.flatMap((one) =>
    to.flatMap((other) => (isWithin(other, one) ? [other] : isWithin(one, other) ? [one] : [])),
  );
  return [...new Set(both)];
}

function isWithin(pattern: string, wide: string): boolean {
  return pattern === wide || (wide.endsWith("*") && pattern.startsWith(wide.slice(0, -1)));
}
