// Finds the variables a URI was made from. No backtracking: a table says from where the end can still be reached.
import { type Atoms, atomsOf } from "./atoms.js";
import { type LiteralNode, type Node, nodesOf, type ParamsNode, type ValueNode } from "./nodes.js";
import type { Expression } from "./parse.js";
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
      const next = rows[i + 1] as Row;
      if (node.kind === "literal") {
        at += node.atoms;
      } else {
        const from = at + node.lead.length;
        const end = leads(node, uri, atoms, at) ? lastReach(node, from, atoms, next) : -1;
        if (end < 0) {
          i = node.kind === "value" ? (node.skipTo as number) : i + 1;
          continue;
        }
        const text = uri.slice(atoms.starts[from], atoms.starts[end]);
        if (!(node.kind === "value" ? values.add(node.variable, text, node.separator) : values.addPairs(node, text)))
          return undefined;
        at = end;
      }
      i++;
    }
    return values.done();
  }
}

interface Table {
  readonly uri: string;
  readonly atoms: Atoms;
  readonly rows: readonly Row[];
}

function rowOf(node: Node, index: number, table: Table): Row {
  const next = table.rows[index + 1] as Row;
  if (node.kind === "literal") return literalRow(node, next, table);
  const { uri, atoms } = table;
  const skipped =
    node.kind === "params" ? next : node.skipTo === undefined ? undefined : (table.rows[node.skipTo] as Row);
  const row = new Uint8Array(atoms.count + 1);
  const ends = runEnds(node.allowed, atoms);
  const nearest = lastOnes(next);
  for (let at = 0; at <= atoms.count; at++) {
    const from = at + node.lead.length;
    const takes = leads(node, uri, atoms, at) && reachesFrom(node, from, ends[from] as number, next, nearest);
    row[at] = takes || skipped?.[at] === 1 ? 1 : 0;
  }
  return row;
}

function reachesFrom(node: ValueNode | ParamsNode, from: number, end: number, next: Row, nearest: Int32Array): boolean {
  if (node.kind === "params") return next[end] === 1;
  return (nearest[Math.min(end, from + (node.variable.prefix ?? end))] as number) > from;
}

function literalRow({ text, atoms: length }: LiteralNode, next: Row, { uri, atoms }: Table): Row {
  const row = new Uint8Array(atoms.count + 1);
  for (let at = 0; length >= 0 && at + length <= atoms.count; at++) {
    if (next[at + length] === 1 && uri.startsWith(text, atoms.starts[at])) row[at] = 1;
  }
  return row;
}

/** Whether the operator's own character stands at `at`. */
function leads({ lead }: ValueNode | ParamsNode, uri: string, atoms: Atoms, at: number): boolean {
  return lead === "" || (at < atoms.count && uri.startsWith(lead, atoms.starts[at]));
}

/** The end of the longest value from `from` that still lets the rest match, or -1. */
function lastReach(node: ValueNode | ParamsNode, from: number, atoms: Atoms, next: Row): number {
  const { classes, count } = atoms;
  const limit =
    node.kind === "value" && node.variable.prefix !== undefined ? Math.min(count, from + node.variable.prefix) : count;
  let end = from;
  while (end < limit && ((classes[end] as number) & node.allowed) !== 0) end++;
  if (node.kind === "params") return next[end] === 1 ? end : -1;
  while (end > from && next[end] !== 1) end--;
  return end > from ? end : -1;
}

/** For each position, where the run of allowed atoms that begins there ends. */
function runEnds(allowed: number, { classes, count }: Atoms): Int32Array {
  const ends = new Int32Array(count + 2);
  ends[count] = count;
  ends[count + 1] = count;
  for (let at = count - 1; at >= 0; at--) {
    ends[at] = ((classes[at] as number) & allowed) === 0 ? at : (ends[at + 1] as number);
  }
  return ends;
}

/** For each position, the last one up to it that is set, or -1. */
function lastOnes(row: Row): Int32Array {
  const last = new Int32Array(row.length);
  let seen = -1;
  for (let at = 0; at < row.length; at++) {
    if (row[at] === 1) seen = at;
    last[at] = seen;
  }
  return last;
}
