// Reads YAML text into a plain tree whose every part knows its line and column.
//
// Only what a policy needs is understood: mappings with text keys, lists and plain values of the core schema. Aliases,
// tags and second documents are refused: each has been a way to make a file mean something else than it seems to.
import type * as Yaml from "yaml";
import type { Faults, Place } from "./faults.js";

export interface MapTree {
  readonly kind: "map";
  readonly place: Place;
  readonly entries: ReadonlyMap<string, { readonly key: Place; readonly value: Tree }>;
}
interface ListTree {
  readonly kind: "list";
  readonly place: Place;
  readonly items: readonly Tree[];
}
interface ValueTree {
  readonly kind: "value";
  readonly place: Place;
  readonly value: string | number | boolean | null;
}
export type Tree = MapTree | ListTree | ValueTree;

/** A policy nests four deep; the rest is room for mistakes that should still be told by name. */
const MAX_DEPTH = 16;
const START: Place = { line: 1, column: 1 };

interface Reading {
  readonly yaml: typeof Yaml;
  readonly lines: Yaml.LineCounter;
  readonly faults: Faults;
}

/** The tree of a text, or undefined when it has none; what is wrong is added to the faults. */
export async function readTree(text: string, faults: Faults): Promise<Tree | undefined> {
  const deep = tooDeep(text);
  if (deep) {
    faults.add(deep, "nested too deep; a policy needs four levels");
    return undefined;
  }
  return plainTree(text) ?? anyTree(text, faults);
}

/** The same by the library, which reads all that YAML can say. */
export async function anyTree(text: string, faults: Faults): Promise<Tree | undefined> {
  if (hasDirective(text, faults)) return undefined;
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  let document: Yaml.Document.Parsed;
  try {
    document = yaml.parseDocument(text, {
      version: "1.2",
      schema: "core",
      strict: true,
      // Duplicates are found below: the library compares every pair of keys, which a long file makes slow.
      uniqueKeys: false,
      prettyErrors: false,
      resolveKnownTags: false,
      lineCounter: lines,
      logLevel: "error",
    });
  } catch (error) {
    faults.add(
      START,
      `the file cannot be read as YAML (${error instanceof Error ? error.message : String(error)}); simplify it`,
    );
    return undefined;
  }
  const reading: Reading = { yaml, lines, faults };
  const told = new Set<number>();
  for (const error of document.errors) {
    const at = place(reading, error.pos[0]);
    // What else is said of a line follows from the first.
    if (!told.has(at.line)) faults.add(at, yamlFault(error));
    told.add(at.line);
  }
  return document.errors.length > 0 || document.contents === null ? undefined : convert(reading, document.contents, 0);
}

/** Lines before the document that say how to read it: by YAML 1.1 `no` would be another value. */
function hasDirective(text: string, faults: Faults): boolean {
  for (const [at, line] of text.split("\n").entries()) {
    if (/^%YAML[ \t]+1\.2[ \t\r]*(?:#|$)/.test(line) || /^[ \t\r]*(?:#|$)/.test(line)) continue;
    if (!line.startsWith("%")) return false;
    const what = inQuotes(line.trim());
    faults.add({ line: at + 1, column: 1 }, `${what} is not understood: a policy is YAML 1.2; remove this line`);
    return true;
  }
  return false;
}

const LONGEST_QUOTE = 60;

function inQuotes(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text);
}

const QUOTE = (sign: string): string => `a value that begins with ${sign} must stand in quotes`;

/** What is wrong and what to do, by the words of the library, which are for those who know the grammar of YAML. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/^Alias/, `${QUOTE("*")}, as in "*"`],
  [/^An alias/, `${QUOTE("*")}, as in "**/*.pem"`],
  [/^(?:Anchor|A node can have at most one anchor)/, QUOTE("&")],
  [/^(?:A node can have at most one tag|.*\btag\b)/i, QUOTE("!")],
  [/^Plain value cannot start with .*(@|`|%)$/, "a value that begins with @, ` or % must stand in quotes"],
  [/^Plain value/, "this sign cannot begin a value; put the value in quotes"],
  [/^Invalid escape/, "\\ has a meaning of its own in double quotes; use single quotes, or write \\\\ for each \\"],
  [/^Missing closing (["'])/, "a text in quotes, here or in a line above, has no end; write the missing quote"],
  [
    /^Flow sequence .*end with a \]/,
    "a list that was begun with [, here or in a line above, has no end; write the missing ]",
  ],
  [
    /^Flow map .*end with a }/,
    "a section that was begun with {, here or in a line above, has no end; write the missing }",
  ],
  [/^Missing , /, "two values stand beside each other; write a comma between them"],
  [/^Unexpected (?:,|empty item)/, "there is no value before this comma; take the comma out"],
  [/^Unexpected flow-(?:seq|map)-end/, "nothing was begun that this ends; take it out, or put the value in quotes"],
  [
    /^Block collections are not allowed/,
    "a value with a colon and a space, or lines that begin with -, cannot stand in [ ] or { }; use quotes, and commas",
  ],
  [
    /^Nested mappings/,
    "a second colon with a space in one line; put the value in quotes, or begin a new line for what belongs below",
  ],
  [
    /^(?:All (?:mapping|sequence) items|A block sequence may not)/,
    "this line is not in the column of those that it belongs to; give each of them the same number of spaces",
  ],
  [/^Implicit (?:map )?keys/, "this is no key with a value; write KEY: VALUE, or - VALUE in a list, with the space"],
  [/^Tabs/, "Tabs cannot stand at the beginning of a line; write spaces"],
  [/^Unexpected block-seq-ind/, "- begins a list in a line of its own; write it below the key"],
  [
    /^Unexpected \S+ at node end/,
    "more follows behind the end of a value; take it out, or put the whole value in quotes",
  ],
  [/^Comments must/, "a comment needs a space before its #"],
  [
    /^(?:Source contains multiple|Document contains trailing)/,
    "a second document begins here; keep one and remove the rest, and each line --- or ...",
  ],
  [/1024/, "this key is too long, or a colon is missing; write KEY: VALUE"],
];

/** A sentence for whoever has written the text. */
function yamlFault({ message }: Pick<Yaml.YAMLError, "message">): string {
  const sentence = SENTENCES.find(([words]) => words.test(message))?.[1];
  const said = sentence ?? `${message.replace(/\.$/, "")}; correct it, or put the value in quotes`;
  return `this is not valid YAML: ${said}`;
}

function place(reading: Reading, offset: number | undefined): Place {
  const { line, col } = reading.lines.linePos(offset ?? 0);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function convert(reading: Reading, node: Yaml.ParsedNode, depth: number): Tree {
  const { yaml, faults } = reading;
  const at = place(reading, node.range[0]);
  const nothing: ValueTree = { kind: "value", place: at, value: null };
  if (depth > MAX_DEPTH) {
    faults.add(at, `nested more than ${MAX_DEPTH} deep; a policy needs four levels`);
    return nothing;
  }
  if (yaml.isAlias(node)) {
    const written = `*${node.source}`;
    faults.add(at, `${written} begins with *, which YAML takes for an alias; put it in quotes: ${inQuotes(written)}`);
    return nothing;
  }
  if (node.anchor !== undefined)
    faults.add(
      at,
      `the anchor &${node.anchor} is not understood in a policy; remove it, or put text that begins with & in quotes`,
    );
  if (node.tag !== undefined)
    faults.add(
      at,
      `the tag ${node.tag} is not understood in a policy; remove it, or put text that begins with ! in quotes`,
    );
  if (yaml.isMap(node)) return convertMap(reading, node, depth);
  if (yaml.isSeq(node)) {
    return { kind: "list", place: at, items: node.items.map((item) => convert(reading, item, depth + 1)) };
  }
  const { value } = node;
  const plain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return plain ? { ...nothing, value } : nothing;
}

function convertMap(reading: Reading, map: Yaml.YAMLMap.Parsed, depth: number): MapTree {
  const entries = new Map<string, { key: Place; value: Tree }>();
  for (const { key, value } of map.items) {
    const at = place(reading, key.range[0]);
    const name = reading.yaml.isScalar(key) && typeof key.value === "string" ? key.value : undefined;
    if (name === undefined || key.anchor !== undefined || key.tag !== undefined) {
      reading.faults.add(at, "a key must be plain text; put it in quotes or remove it");
      continue;
    }
    const first = entries.get(name);
    if (first) {
      reading.faults.add(at, `"${name}" was given in line ${first.key.line} already; remove one of the two`);
      continue;
    }
    const tree: Tree = value ? convert(reading, value, depth + 1) : { kind: "value", place: at, value: null };
    entries.set(name, { key: at, value: tree });
  }
  return { kind: "map", place: place(reading, map.range[0]), entries };
}

// Finds text nested so deep that a recursive parser could exhaust the stack, which ends the whole process at once.

/** Open brackets at one place, or list markers in one line; a policy needs four. */
const MAX_OPEN = 64;
/** Spaces before a line: as many levels as that can open. */
const MAX_INDENT = 256;
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'/g;
const COMMENT = /(?:^|[ \t])#.*$/;
const MARKERS = new RegExp(`(?:[-?:][ \\t]+){${MAX_OPEN}}`);

/**
 * The place where text is nested too deep, if anywhere. It reads lines, not YAML, so a text can be written that it misses;
 * it is there for accidents and for files that nobody wrote by hand.
 */
function tooDeep(text: string): Place | undefined {
  let open = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const plain = line.replace(QUOTED, "").replace(COMMENT, "");
    const indent = line.length - line.trimStart().length;
    if (plain.trim() !== "" && indent > MAX_INDENT) return { line: index + 1, column: indent + 1 };
    if (MARKERS.test(plain)) return { line: index + 1, column: indent + 1 };
    for (const character of plain) {
      if (character === "[" || character === "{") open++;
      else if (character === "]" || character === "}") open = Math.max(0, open - 1);
      if (open > MAX_OPEN) return { line: index + 1, column: 1 };
    }
  }
  return undefined;
}

// The plainest YAML, which nearly every policy is written in, is read without the library that reads all of it: loading that and running
// it takes a tenth of a start. Only what can be read in one way is read so: keys that are words, one value a line, flow lists and
// mappings that end on their line. Of every other text nothing is said here: the library reads it, or says what is wrong with it.

/** All that is read here: no tab, no carriage return, nothing that a reader could take for something else. */
const PLAIN_TEXT = /^[\x20-\x7e\n]*$/;
/** Deeper than a policy is nested, and less than the library reads. */
const MOST_DEPTH = 8;
const NOTHING = /^ *(?:#.*)?$/;
const ENTRY = /( *)([A-Za-z_][\w-]{0,99}):(?: +(?=[^ #])| *$| +#.*$)/y;
const ITEM = /( *)- +(?=[^ #])/y;
/** What may follow a value on its line. */
const REST = /(?: +#.*| *)$/y;
const KEY = /([A-Za-z_][\w-]{0,99}): +/y;
const QUOTATION = /"([^"\\]*)"|'([^']*)'/y;
const WORD = /(?:[A-Za-z_/]|~\/)[\w./~@*-]*/y;
/** The same where no list or mapping is open, in which a colon could end a key. */
const LONG_WORD = /(?:[A-Za-z_/]|~\/)(?:[\w./~@*-]|:(?=[\w/*]))*/y;
const NUMBER = /(?:0|[1-9]\d{0,8})(?=[ ,\]}]|$)/y;
/** Words that are no text in one version of YAML or another. */
const NO_TEXT = /^(?:null|true|false|yes|no|on|off|y|n|~)$/i;

/** What this cannot read, or not in one way only. */
class NotPlain extends Error {}

interface Line {
  readonly text: string;
  readonly number: number;
  readonly indent: number;
}

class Reader {
  readonly #lines: readonly Line[];
  #at = 0;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  whole(): Tree {
    const tree = this.#block(0, 0);
    if (this.#at < this.#lines.length) throw new NotPlain();
    return tree;
  }

  #block(indent: number, depth: number): Tree {
    const line = this.#lines[this.#at];
    if (line === undefined || line.indent !== indent || depth > MOST_DEPTH) throw new NotPlain();
    return line.text[indent] === "-" ? this.#list(indent, depth) : this.#mapping(indent, depth);
  }

  #mapping(indent: number, depth: number): Tree {
    const entries = new Map<string, { key: Place; value: Tree }>();
    const first = this.#lines[this.#at] as Line;
    for (let line: Line | undefined = first; line?.indent === indent; line = this.#lines[this.#at]) {
      const match = matched(ENTRY, line, 0);
      const name = match[2] as string;
      if (NO_TEXT.test(name) || entries.has(name)) throw new NotPlain();
      this.#at++;
      const key = placeIn(line, indent);
      const [end, isBlock] = [ENTRY.lastIndex, ENTRY.lastIndex === line.text.length];
      entries.set(name, { key, value: isBlock ? this.#below(indent, depth) : onLine(line, end, depth) });
    }
    return { kind: "map", place: placeIn(first, indent), entries };
  }

  /** Where nothing stands below, the library knows what place that has. */
  #below(indent: number, depth: number): Tree {
    const next = this.#lines[this.#at];
    if (next === undefined || next.indent <= indent) throw new NotPlain();
    return this.#block(next.indent, depth + 1);
  }

  #list(indent: number, depth: number): Tree {
    const items: Tree[] = [];
    const first = this.#lines[this.#at] as Line;
    for (let line: Line | undefined = first; line?.indent === indent; line = this.#lines[this.#at]) {
      matched(ITEM, line, 0);
      this.#at++;
      items.push(onLine(line, ITEM.lastIndex, depth));
    }
    return { kind: "list", place: placeIn(first, indent), items };
  }
}

/** A value that ends on its line. What stands deeper in the next line would be more of it: nobody reads that here. */
function onLine(line: Line, from: number, depth: number): Tree {
  const value = new Flow(line, from).value(depth + 1, LONG_WORD);
  matched(REST, line, value.end);
  return value.tree;
}

interface Read {
  readonly tree: Tree;
  readonly end: number;
}

/** Values on one line. */
class Flow {
  readonly #line: Line;
  #at: number;

  constructor(line: Line, from: number) {
    this.#line = line;
    this.#at = from;
  }

  value(depth: number, word: RegExp): Read {
    const { text } = this.#line;
    const place = placeIn(this.#line, this.#at);
    const tree = this.#tree(text[this.#at], { place, depth, word });
    return { tree, end: this.#at };
  }

  #tree(first: string | undefined, { place, depth, word }: { place: Place; depth: number; word: RegExp }): Tree {
    if (depth > MOST_DEPTH) throw new NotPlain();
    if (first === "{") return { kind: "map", place, entries: this.#entries(depth) };
    if (first === "[") return { kind: "list", place, items: this.#items(depth) };
    if (first === '"' || first === "'") {
      const match = this.#take(QUOTATION);
      return { kind: "value", place, value: match[1] ?? match[2] ?? "" };
    }
    if (first !== undefined && first >= "0" && first <= "9")
      return { kind: "value", place, value: Number(this.#take(NUMBER)[0]) };
    const [text] = this.#take(word);
    if (text === "true" || text === "false") return { kind: "value", place, value: text === "true" };
    if (NO_TEXT.test(text)) throw new NotPlain();
    return { kind: "value", place, value: text };
  }

  #entries(depth: number): Map<string, { key: Place; value: Tree }> {
    const entries = new Map<string, { key: Place; value: Tree }>();
    for (let more = this.#opened("}"); more; more = this.#goesOn("}")) {
      const key = placeIn(this.#line, this.#at);
      const name = this.#take(KEY)[1] as string;
      if (NO_TEXT.test(name) || entries.has(name)) throw new NotPlain();
      entries.set(name, { key, value: this.value(depth + 1, WORD).tree });
    }
    return entries;
  }

  #items(depth: number): Tree[] {
    const items: Tree[] = [];
    for (let more = this.#opened("]"); more; more = this.#goesOn("]")) items.push(this.value(depth + 1, WORD).tree);
    return items;
  }

  /** Past the bracket that opens it. @returns whether anything is in it */
  #opened(close: string): boolean {
    this.#at++;
    this.#blanks();
    return !this.#is(close);
  }

  /** Past the comma, or the bracket that closes it. @returns whether another one follows */
  #goesOn(close: string): boolean {
    this.#blanks();
    if (this.#is(close)) return false;
    if (!this.#is(",")) throw new NotPlain();
    this.#blanks();
    return true;
  }

  #is(sign: string): boolean {
    if (this.#line.text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #blanks(): void {
    while (this.#line.text[this.#at] === " ") this.#at++;
  }

  #take(pattern: RegExp): RegExpExecArray {
    const match = matched(pattern, this.#line, this.#at);
    this.#at = pattern.lastIndex;
    return match;
  }
}

function matched(pattern: RegExp, { text }: Line, from: number): RegExpExecArray {
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  if (match === null) throw new NotPlain();
  return match;
}

function placeIn({ number }: Line, at: number): Place {
  return { line: number, column: at + 1 };
}

/** The tree of a text; undefined where it has anything that is not read here, wrong or not. */
export function plainTree(text: string): Tree | undefined {
  if (!PLAIN_TEXT.test(text)) return undefined;
  const lines: Line[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (!NOTHING.test(line)) lines.push({ text: line, number: index + 1, indent: line.search(/[^ ]/) });
  }
  try {
    return new Reader(lines).whole();
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}
