// Compares what was approved with what is offered now, item by item, and says the difference in words.
import { excerptOf } from "../texts/finding.js";

/** Items by a name of theirs, such as `tool greet`; each is a JSON value. */
export type Items = ReadonlyMap<string, unknown>;

export interface Change {
  readonly item: string;
  readonly kind: "added" | "changed" | "removed";
  /** What is different, one place a line: a JSON Pointer, what it was, what it is. At most 20 lines. */
  readonly lines: readonly string[];
}

/** More is a new item in all but name. */
const MAX_LINES = 20;

/** In the order of the items' names. Equal values in another order of keys are no change. */
export function driftOf(approved: Items, offered: Items): Change[] {
  const names = [...new Set([...approved.keys(), ...offered.keys()])].sort();
  return names.flatMap((item): Change[] => {
    if (!offered.has(item)) return [{ item, kind: "removed", lines: [] }];
    if (!approved.has(item)) return [{ item, kind: "added", lines: [] }];
    const [before, after] = [approved.get(item), offered.get(item)];
    // What was approved is held against itself at each start.
    if (before === after || canonicalJson(before) === canonicalJson(after)) return [];
    return [{ item, kind: "changed", lines: differingPlaces(before, after) }];
  });
}

/** One line for each place in which two values differ. */
export function differingPlaces(before: unknown, after: unknown): string[] {
  const lines: string[] = [];
  compare(before, after, { at: "", lines });
  return lines.length <= MAX_LINES
    ? lines
    : [...lines.slice(0, MAX_LINES - 1), `and ${lines.length - MAX_LINES + 1} more places`];
}

function compare(before: unknown, after: unknown, place: { readonly at: string; readonly lines: string[] }): void {
  const { at, lines } = place;
  if (isMapping(before) && isMapping(after)) {
    for (const key of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort())
      compare(own(before, key), own(after, key), {
        at: `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
        lines,
      });
  } else if (Array.isArray(before) && Array.isArray(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index += 1)
      compare(before[index], after[index], { at: `${at}/${index}`, lines });
  } else if (textOf(before) !== textOf(after)) lines.push(`${excerptOf(at)}: ${shown(before)} -> ${shown(after)}`);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function own(mapping: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(mapping, key) ? mapping[key] : undefined;
}

function textOf(value: unknown): string {
  return value === undefined ? "" : canonicalJson(value);
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : excerptOf(textOf(value));
}

// Writes a JSON value the one way RFC 8785 writes it: equal values give equal text, whatever order their keys came in.

/** Deeper than any honest schema, and far from where recursion would overflow the stack. */
const MAX_DEPTH = 512;

/**
 * Keys in the order of their UTF-16 code units, no blanks, numbers as ECMAScript writes them. Members that JSON does not have (undefined,
 * functions) are left out. @throws RangeError for what is nested deeper than 512 levels; TypeError for a number that JSON does not have
 */
export function canonicalJson(value: unknown): string {
  return written(value, 0);
}

function written(value: unknown, depth: number): string {
  if (depth > MAX_DEPTH) throw new RangeError(`The value is nested deeper than ${MAX_DEPTH} levels.`);
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`JSON has no ${value}.`);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((item: unknown) => written(item, depth + 1)).join(",")}]`;
  let members = "";
  for (const key of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (member === undefined || typeof member === "function") continue;
    members += `${members === "" ? "" : ","}${quoted(key)}:${written(member, depth + 1)}`;
  }
  return `{${members}}`;
}

/** Nearly every name of a member is a word. */
function quoted(key: string): string {
  return /^\w+$/.test(key) ? `"${key}"` : JSON.stringify(key);
}
