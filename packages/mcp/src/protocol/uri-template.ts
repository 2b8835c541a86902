// URI templates (RFC 6570, levels 1 to 4): expanding them, and the way back from a URI to its variables.
import {
  expandTemplate,
  type Expression,
  type Operator,
  parseTemplate,
  type TemplateValues,
  type Variable,
} from "./uri-template/expand.js";

/** A parsed template. Make it once: parsing is the expensive part. */
export class UriTemplate {
  readonly text: string;
  /** Names of the variables, each once, in order of appearance. */
  readonly variables: readonly string[];
  readonly #parts: readonly (string | Expression)[];
  readonly #matcher: Matcher;

  /** Throws a LocalError with code `INVALID_TEMPLATE` that says where the text stops making sense. */
  constructor(text: string) {
    this.text = text;
    this.#parts = parseTemplate(text);
    const names = this.#parts.flatMap((part) =>
      typeof part === "string" ? [] : part.variables.map(({ name }) => name),
    );
    this.variables = [...new Set(names)];
    this.#matcher = new Matcher(this.#parts);
  }

  /**
   * The URI for these values. Undefined, null and empty lists count as absent. Throws a LocalError with code `INVALID_VALUE` for a
   * list or a map of which the template takes a prefix.
   */
  expand(values: TemplateValues): string {
    return expandTemplate(this.#parts, values);
  }

  /**
   * The variables a URI was made from, percent-decoded, or undefined when the template cannot have made it.
   * An exploded variable (`{x*}`) is always a list, any other always a string; absent optional ones have no entry.
   * A variable without an operator is never empty here, though an empty value makes such a URI: no resource is meant by a name left out.
   * Earlier variables take as much as they can. Query and path parameters may come in any order, unknown ones do not match.
   * Takes time proportional to the URI's length; URIs of more than 8,192 characters never match.
   */
  match(uri: string): TemplateMatch | undefined {
    return this.#matcher.match(uri);
  }
}

// Cuts a URI into the units matching works on: one character each, percent-encoded or not.

/** Character classes of atoms, as bits. An atom of class 0 cannot stand in a URI. */
const UNRESERVED = 1;
const COMMA = 2;
const SLASH = 4;
const QUESTION = 8;
const HASH = 16;
const OTHER_RESERVED = 32;
const ANY_RESERVED: number = COMMA | SLASH | QUESTION | HASH | OTHER_RESERVED;

const CLASS_OF_ASCII = new Uint8Array(128);
for (const [characters, bits] of [
  ["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", UNRESERVED],
  [":[]@!$&'()*+;=", OTHER_RESERVED],
  [",", COMMA],
  ["/", SLASH],
  ["?", QUESTION],
  ["#", HASH],
] as const) {
  for (const character of characters) CLASS_OF_ASCII[character.charCodeAt(0)] = bits;
}

/** A URI in atoms. */
interface Atoms {
  /** Where each atom begins in the text; one entry more than there are atoms. */
  readonly starts: Int32Array;
  readonly classes: Uint8Array;
  readonly count: number;
}

const PERCENT = 0x25;

/** Undefined when a percent sign encodes nothing. Characters beyond ASCII pass as they are: people type them. */
function atomsOf(text: string): Atoms | undefined {
  const starts = new Int32Array(text.length + 1);
  const classes = new Uint8Array(text.length);
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    const code = text.charCodeAt(at);
    starts[count] = at;
    classes[count] = code < 128 && code !== PERCENT ? (CLASS_OF_ASCII[code] as number) : UNRESERVED;
    const length = code === PERCENT ? encodedLength(text, at) : (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
    if (length === 0) return undefined;
    at += length;
  }
  starts[count] = text.length;
  return { starts, classes, count };
}

/** Length of the encoded character at `at`, all its bytes together; 0 when it is not one. */
function encodedLength(text: string, at: number): number {
  const lead = byteAt(text, at);
  const bytes = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (lead < 0 || bytes === 0) return 0;
  for (let i = 1; i < bytes; i++) {
    const byte = byteAt(text, at + 3 * i);
    if (byte < 0x80 || byte > 0xbf) return 0;
  }
  return 3 * bytes;
}

function byteAt(text: string, at: number): number {
  if (text.charCodeAt(at) !== PERCENT) return -1;
  const high = hexDigit(text.charCodeAt(at + 1));
  const low = hexDigit(text.charCodeAt(at + 2));
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

// Finds the variables a URI was made from. No backtracking: a table says from where the end can still be reached.

/** Longer URIs never match: the table has a row of this length for each step of the template. */
const MAX_URI_LENGTH = 8_192;

/** For each position: 1 when the rest of the template can match from there to the end of the URI. */
type Row = Uint8Array;

class Matcher {
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

// Turns a parsed template into the steps that matching takes one after the other.

/** Text that must stand there. */
interface LiteralNode {
  readonly kind: "literal";
  readonly text: string;
  readonly atoms: number;
  readonly fallbacks: Int32Array;
}

/** A run of atoms that becomes the value of a variable. */
interface ValueNode {
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
interface ParamsNode {
  readonly kind: "params";
  readonly lead: string;
  readonly separator: string;
  readonly variables: ReadonlyMap<string, Variable>;
  readonly allowed: number;
  readonly longest: number;
  readonly skipTo: number;
}

type Node = LiteralNode | ValueNode | ParamsNode;

/** People write `:`, `@` and the like into values without encoding them; a slash always ends a plain value. */
const PLAIN = UNRESERVED | OTHER_RESERVED;
const ANYTHING = UNRESERVED | ANY_RESERVED;
const QUERY = ANYTHING & ~HASH;

function nodesOf(parts: readonly (string | Expression)[]): Node[] {
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

// Finds every place where a text stands in another, overlapping ones too, in one pass (Knuth, Morris, Pratt).

/** For each length of a match so far, how much of it may begin the next one. Made once for a text. */
function fallbacksOf(text: string): Int32Array {
  const fallbacks = new Int32Array(text.length + 1);
  for (let at = 1, matched = 0; at < text.length; at++) {
    while (matched > 0 && text.charCodeAt(at) !== text.charCodeAt(matched)) matched = fallbacks[matched] as number;
    if (text.charCodeAt(at) === text.charCodeAt(matched)) matched++;
    fallbacks[at + 1] = matched;
  }
  return fallbacks;
}

/** Sets a 1 for each index of `whole` at which `text` begins. */
function occurrences(whole: string, text: string, fallbacks: Int32Array): Uint8Array {
  const found = new Uint8Array(whole.length + 1);
  for (let at = 0, matched = 0; at < whole.length; at++) {
    const code = whole.charCodeAt(at);
    while (matched > 0 && code !== text.charCodeAt(matched)) matched = fallbacks[matched] as number;
    if (code === text.charCodeAt(matched)) matched++;
    if (matched === text.length) {
      found[at + 1 - matched] = 1;
      matched = fallbacks[matched] as number;
    }
  }
  return found;
}

// Gathers what the variables of a template stood for in a URI.

/** Values by variable. */
interface TemplateMatch {
  [name: string]: string | string[];
}

/** Gathers values, and refuses what cannot have come from one expansion. */
class Values {
  readonly #values = new Map<string, string | string[]>();
  readonly #prefixes = new Map<string, string>();

  /** Takes what a step of the template matched; false when no expansion could have written it. */
  take(node: Node, text: string): boolean {
    if (node.kind === "literal") return true;
    return node.kind === "params" ? this.#addPairs(node, text) : this.#add(node, text);
  }

  #add({ variable: { name, explode, prefix }, separator }: ValueNode, text: string): boolean {
    const list = explode ? text.split(separator).map(decoded) : [decoded(text)];
    if (list.includes(undefined)) return false;
    const value = (explode ? list : list[0]) as string | string[];
    if (prefix === undefined) return this.#agrees(name, value);
    this.#prefixes.set(name, value as string);
    return true;
  }

  #addPairs({ separator, variables }: ParamsNode, text: string): boolean {
    const seen = new Map<string, string[]>();
    for (const pair of text.split(separator)) {
      const equals = pair.indexOf("=");
      const name = equals < 0 ? pair : pair.slice(0, equals);
      const value = decoded(equals < 0 ? "" : pair.slice(equals + 1));
      const variable = variables.get(name);
      const list = seen.get(name);
      if (variable === undefined || value === undefined || (list !== undefined && !variable.explode)) return false;
      if (list === undefined) seen.set(name, [value]);
      else list.push(value);
    }
    for (const [name, list] of seen) {
      if (!this.#agrees(name, variables.get(name)?.explode === true ? list : (list[0] as string))) return false;
    }
    return true;
  }

  done(): TemplateMatch | undefined {
    for (const [name, prefix] of this.#prefixes) {
      const value = this.#values.get(name) ?? prefix;
      if (typeof value !== "string" || !value.startsWith(prefix)) return undefined;
      this.#values.set(name, value);
    }
    return Object.fromEntries(this.#values);
  }

  /** A variable that stands twice in a template has one value. */
  #agrees(name: string, value: string | string[]): boolean {
    const before = this.#values.get(name);
    if (before !== undefined) return JSON.stringify(before) === JSON.stringify(value);
    this.#values.set(name, value);
    return true;
  }
}

function decoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
