// Finds the variables a URI was made from. No backtracking: a table says from where the end can still be reached.
import { type Atoms, atomsOf } from "./atoms.js";
import { type LiteralNode, type Node, nodesOf, type ParamsNode, type ValueNode } from "./nodes.js";
import type { Expression } from "./parse.js";
import { occurrences } from "./occurrences.js";
import { type TemplateMatch, Values } from "./values.js";

/** Longer URIs never match: the table has a row of this length for each step of the template. */
const MAX_URI_LENGTH = 8_192;

/** For each position: 1 when the rest of the template can match from there to the end of the URI. */
type Row = Uint8Array;

export class Matcher {
  readonly #nodes: readonly Node[];

  constructor(parts: readonly (string | Expression)[]) {
    this.#nodes = nodesOf(parts);
  }

  match(uri: string): TemplateMatch | undefined {
    const [first] = this.#nodes;
    if (uri.length > MAX_URI_LENGTH || (first?.kind === "literal" && !uri.startsWith(first.text))) return undefined;
    const atoms = atomsOf(uri);
    if (atoms === undefined) return undefined;
    const rows = this.#reach(uri, atoms);
    return rows[0]?.[0] === 1 ? this.#collect(uri, atoms, rows) : undefined;
  }

  #reach(uri: string, atoms: Atoms): Row[] {
    const rows: Row[] = [];
    const end = new Uint8Array(atoms.count + 1);
    end[atoms.count] = 1;
    rows[this.#nodes.length] = end;
    for (let i = this.#nodes.length - 1; i >= 0; i--) rows[i] = rowOf(this.#nodes[i] as Node, i, { uri, atoms, rows });
    return rows;
  }

  /** Walks the one way that the table leaves open, each value as long as possible. */
  #collect(uri: string, atoms: Atoms, rows: readonly Row[]): TemplateMatch | undefined {
    const values = new Values();
    let at = 0;
    for (let i = 0; i < this.#nodes.length;) {
      const node = this.#nodes[i] as Node;
      const from = node.kind === "literal" ? at : at + node.lead.length;
      const end =
        node.kind === "literal" ? at + node.atoms : lastReach(node, at, { uri, atoms, next: rows[i + 1] as Row });
      i = end < 0 ? ((node as ValueNode).skipTo as number) : i + 1;
      if (end < 0) continue;
      if (!values.take(node, uri.slice(atoms.starts[from], atoms.starts[end]))) return undefined;
      at = end;
    }
    return values.done();
  }
}

interface Table {
  readonly uri: string;
  readonly atoms: Atoms;
  readonly rows: readonly Row[];
}

function rowOf(node: Node, index: number, { uri, atoms, rows }: Table): Row {
  const next = rows[index + 1] as Row;
  if (node.kind === "literal") return literalRow(node, next, uri, atoms);
  const { lead, allowed, longest, skipTo } = node;
  const row = skipTo === undefined ? new Uint8Array(atoms.count + 1) : (rows[skipTo] as Row).slice();
  let end = atoms.count;
  let goal = Number.POSITIVE_INFINITY;
  // `end` is where the run of allowed atoms from `from` ends, `goal` the first place after it from which the rest matches.
  for (let from = atoms.count; from >= lead.length; from--) {
    if (from < atoms.count && next[from + 1] === 1) goal = from + 1;
    if (from === atoms.count || ((atoms.classes[from] as number) & allowed) === 0) end = from;
    const at = from - lead.length;
    if (goal <= end && goal <= from + longest && leads(lead, uri, atoms, at)) row[at] = 1;
  }
  return row;
}

function literalRow(node: LiteralNode, next: Row, uri: string, atoms: Atoms): Row {
  const row = new Uint8Array(atoms.count + 1);
  const found = occurrences(uri, node.text, node.fallbacks);
  for (let at = 0; node.atoms >= 0 && at + node.atoms <= atoms.count; at++) {
    if (next[at + node.atoms] === 1) row[at] = found[atoms.starts[at] as number] as number;
  }
  return row;
}

/** Whether the operator's own character stands at `at`. */
function leads(lead: string, uri: string, atoms: Atoms, at: number): boolean {
  return lead === "" || (at < atoms.count && uri.charCodeAt(atoms.starts[at] as number) === lead.charCodeAt(0));
}

interface Step {
  readonly uri: string;
  readonly atoms: Atoms;
  readonly next: Row;
}

/** The end of the longest value that begins at `at`, its operator's character included, and lets the rest match; or -1. */
function lastReach({ lead, allowed, longest }: ValueNode | ParamsNode, at: number, { uri, atoms, next }: Step): number {
  if (!leads(lead, uri, atoms, at)) return -1;
  const from = at + lead.length;
  const limit = Math.min(atoms.count, from + longest);
  let end = from;
  while (end < limit && ((atoms.classes[end] as number) & allowed) !== 0) end++;
  while (end > from && next[end] !== 1) end--;
  return end > from ? end : -1;
}
