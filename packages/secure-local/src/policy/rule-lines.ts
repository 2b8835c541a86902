// Where the rules of a policy stand in its file, by what records say of them.
import type { Policy } from "./policy.js";

/** What a record names of the rule that decided. */
export interface NamedRule {
  readonly rule: string;
  readonly method: string;
  /** The tool, prompt or resource. */
  readonly name: string;
}

/** Rules inside one another: a server's grants in its entry, positions of a command's arguments. */
const MAX_DEPTH = 12;
const LIMIT = /^rate limit: (\d{1,9}) a minute$/;

/** Finds the line of a rule as it is written in this policy; undefined where no line of it says that. */
export function ruleLines(policy: Policy): (of: NamedRule) => number | undefined {
  const lines = new Map<string, number>();
  note(policy, lines, 0);
  const { byName, default: usual, lines: limitLines } = policy.tools.rateLimits;
  return ({ rule, method, name }) => {
    const [, limit] = LIMIT.exec(rule) ?? [];
    if (limit === undefined) return lines.get(rule);
    if (method !== "tools/call" || Number(limit) !== (byName.get(name) ?? usual)) return undefined;
    return limitLines?.get(byName.has(name) ? name : "default");
  };
}

/** Of equal texts the first one is kept: it is the one that decides. */
function note(value: unknown, lines: Map<string, number>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return;
  if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    for (const each of value.values()) note(each, lines, depth + 1);
    return;
  }
  const { text, line } = value as { readonly text?: unknown; readonly line?: unknown };
  if (typeof text === "string" && typeof line === "number" && !lines.has(text)) lines.set(text, line);
  for (const each of Object.values(value)) note(each, lines, depth + 1);
}
