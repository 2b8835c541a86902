// Turns a parsed template into the steps that matching takes one after the other.
import { ANY_RESERVED, atomsOf, COMMA, HASH, OTHER_RESERVED, SLASH, UNRESERVED } from "./atoms.js";
import { fallbacksOf } from "./occurrences.js";
import type { Expression, Operator, Variable } from "./parse.js";

/** Text that must stand there. */
export interface LiteralNode {
  readonly kind: "literal";
  readonly text: string;
  readonly atoms: number;
  readonly fallbacks: Int32Array;
}

/** A run of atoms that becomes the value of a variable. */
export interface ValueNode {
  readonly kind: "value";
  readonly variable: Variable;
  /** The character before the value that belongs to the operator. */
  readonly lead: string;
  /** Classes of atoms the value may hold. */
  readonly allowed: number;
  /** At most this many characters. */
  readonly longest: number;
  /** What stands between the members of an exploded list. */
  readonly separator: string;
  /** Where matching goes on when the value is absent; undefined: it must be there. */
  skipTo: number | undefined;
}

/** `name=value` pairs in any order. */
export interface ParamsNode {
  readonly kind: "params";
  readonly lead: string;
  readonly separator: string;
  readonly variables: ReadonlyMap<string, Variable>;
  readonly allowed: number;
  readonly longest: number;
  readonly skipTo: number;
}

export type Node = LiteralNode | ValueNode | ParamsNode;

/** People write `:`, `@` and the like into values without encoding them; a slash always ends a plain value. */
const PLAIN = UNRESERVED | OTHER_RESERVED;
const ANYTHING = UNRESERVED | ANY_RESERVED;
const QUERY = ANYTHING & ~HASH;

export function nodesOf(parts: readonly (string | Expression)[]): Node[] {
  const nodes: Node[] = [];
  for (const part of parts) {
    if (typeof part === "string")
      nodes.push({ kind: "literal", text: part, atoms: atomsOf(part)?.count ?? -1, fallbacks: fallbacksOf(part) });
    else if (part.operator === "?" || part.operator === "&" || part.operator === ";") pushParams(nodes, part);
    else pushValues(nodes, part);
  }
  return nodes;
}

/** `{?a}{&b}` and `{;a}{;b}` are read as one group: either half alone would refuse the other's pairs. */
function pushParams(nodes: Node[], { operator, variables }: Expression): void {
  const before = nodes.at(-1);
  const joins = before?.kind === "params" && (operator === ";") === (before.lead === ";") && operator !== "?";
  const own = variables.map((variable) => [variable.name, variable] as const);
  if (joins) nodes.pop();
  nodes.push({
    kind: "params",
    lead: joins ? before.lead : operator,
    separator: operator === ";" ? ";" : "&",
    variables: new Map(joins ? [...before.variables, ...own] : own),
    allowed: operator === ";" ? PLAIN | COMMA : QUERY,
    longest: Number.POSITIVE_INFINITY,
    skipTo: nodes.length + 1,
  });
}

function pushValues(nodes: Node[], { operator, variables }: Expression): void {
  const first = nodes.length;
  for (const [index, variable] of variables.entries()) {
    const syntax = syntaxOf(operator, index, variables.length, variable);
    const longest = variable.prefix ?? Number.POSITIVE_INFINITY;
    nodes.push({ kind: "value", variable, longest, ...syntax, skipTo: undefined });
  }
  const mandatory = operator === "" || operator === "+" ? first + 1 : first;
  for (const node of nodes.slice(mandatory) as ValueNode[]) node.skipTo = nodes.length;
}

function syntaxOf(
  operator: Operator,
  index: number,
  count: number,
  { explode }: Variable,
): Pick<ValueNode, "lead" | "allowed" | "separator"> {
  const listed = index === 0 ? "" : ",";
  switch (operator) {
    case "+":
      return { lead: listed, allowed: ANYTHING, separator: "," };
    case "#":
      return { lead: index === 0 ? "#" : ",", allowed: ANYTHING, separator: "," };
    case ".":
      return { lead: ".", allowed: PLAIN | COMMA, separator: "." };
    case "/":
      return { lead: "/", allowed: explode ? PLAIN | COMMA | SLASH : PLAIN | COMMA, separator: "/" };
    default:
      return { lead: listed, allowed: count > 1 && !explode ? PLAIN : PLAIN | COMMA, separator: "," };
  }
}
