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
  for (const error of document.errors) {
    const advice =
      error.code === "MULTIPLE_DOCS" ? "; keep one document and remove the rest" : "; correct the YAML here";
    faults.add(place(reading, error.pos[0]), `${error.message.replace(/\.$/, "")}${advice}`);
  }
  return document.errors.length > 0 || document.contents === null ? undefined : convert(reading, document.contents, 0);
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
    faults.add(at, `the alias *${node.source} is not understood in a policy; write the value out`);
    return nothing;
  }
  if (node.anchor !== undefined) faults.add(at, `the anchor &${node.anchor} is not understood in a policy; remove it`);
  if (node.tag !== undefined) faults.add(at, `the tag ${node.tag} is not understood in a policy; remove it`);
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
