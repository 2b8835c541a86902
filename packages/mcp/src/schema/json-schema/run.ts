// Defines a compiled check and what it needs while it runs: a budget, a list of faults with the values shown in them,
// and what was evaluated.

import type { Fault } from "../schema.js";

/** Characters shown of one string: enough to recognise it, too few to flood an answer. */
const MAX_SHOWN = 60;
/** Alternatives listed in one message. */
const MAX_LISTED = 20;

let invisible: RegExp | undefined;

function escapeInvisible(character: string): string {
  return [...character].map((c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`).join("");
}

/** `text` with every character that cannot be seen written as an escape. */
export function visible(text: string): string {
  // Control, format (bidirectional, zero-width), private, ignorable and separator characters, and halves of surrogate pairs. As a
  // literal V8 would look it up in Unicode's tables while it reads the file, and delay every start.
  invisible ??= new RegExp(
    "[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\u2800\\ufffc]",
    "gu",
  );
  return text.replace(invisible, escapeInvisible);
}

/** Quotes `text` as JSON, cut to a readable length. */
export function quoteValue(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return visible(JSON.stringify(cut));
}

/** Names the type of `value` and shows it where it is short: `the string "five"`, `an array of 3 items`. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `the string ${quoteValue(value)}`;
    case "number":
      return `the number ${value}`;
    case "boolean":
      return `the boolean ${value}`;
    case "undefined":
      return "missing";
    case "object":
      if (value === null) return "null";
      if (!Array.isArray(value)) return "an object";
      return value.length === 0 ? "an empty array" : `an array of ${plural(value.length, "item")}`;
    default:
      return `a ${typeof value}, which is not JSON`;
  }
}

/** Shows a value of the schema, such as a member of `enum`. */
export function literal(value: unknown): string {
  if (typeof value === "string") return quoteValue(value);
  if (typeof value !== "object" || value === null) return String(value);
  const text = JSON.stringify(value);
  return visible(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** Shows `values` with commas between them, and says how many were left out. */
export function list(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_LISTED).map(literal).join(", ");
  return values.length <= MAX_LISTED ? shown : `${shown} and ${values.length - MAX_LISTED} more`;
}

export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

/** Steps of one validation. A step is a subschema applied or a member visited: 100,000 take a few milliseconds. */
export const MAX_STEPS = 100_000;
/** Levels of schema entered at once through references: two stack frames each stay far below the smallest stack. */
export const MAX_LEVELS = 1_500;
/** Subschemas below the root of one schema: the largest tool schemas seen in the wild hold a few hundred. */
export const MAX_SUBSCHEMAS = 2_000;
/** Subschemas inside one another, references not followed: people write fewer than ten. */
export const MAX_SCHEMA_DEPTH = 32;
/** Length of one schema as JSON text, in characters: 256 KiB hold ten times the largest tool schema seen in the wild. */
export const MAX_SCHEMA_LENGTH = 262_144;
/** Nesting of plain JSON inside a schema: 32 subschemas through maps and lists, and what `const` or `default` add. */
export const MAX_JSON_DEPTH = 128;

/** Thrown inside a validation that has used up its budget, and caught where the validation began. */
export const tooExpensive: Error = new Error("the value is too expensive to check against this schema");

/** The account of the validation that runs now. Validations are synchronous, so one is enough. */
export const run = { steps: 0, levels: 0 };

/** Opens a fresh account. */
export function openBudget(): void {
  run.steps = MAX_STEPS;
  run.levels = 0;
}

/** Takes `steps` off the account; throws `tooExpensive` when it is empty. */
export function charge(steps: number): void {
  if ((run.steps -= steps) < 0) throw tooExpensive;
}

/**
 * A compiled subschema. Answers whether `value` is valid. Without a trace it stops at the first fault and allocates
 * nothing; with one it goes on and writes every fault down. `seen`, when given, collects the members of `value` that
 * were evaluated, which `unevaluatedProperties` and `unevaluatedItems` ask for.
 */
export type Check = (value: unknown, trace: Trace | null, seen: Seen | null) => boolean;

/** Faults reported for one value: a model mends the first few, and the answer stays short. */
const MAX_FAULTS = 20;
/** Characters kept of one member name in a path: names are the sender's and can be megabytes. */
const MAX_SEGMENT = 100;

/** Thrown to leave a validation whose list of faults is full; caught where the validation began. */
export const enoughFaults: Error = new Error("the list of faults is full");

/** Writes down where a validation is and what it found wrong. */
export class Trace {
  readonly faults: Fault[] = [];
  readonly #path: (string | number)[] = [];

  enter(member: string | number): void {
    this.#path.push(member);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Adds a fault whose message is the path and then `sentence`, such as `must be an integer`. Always false. */
  fail(constraint: string, sentence: string): false {
    const path = this.path();
    this.faults.push({ path, constraint, message: path === "" ? sentence : `${visible(path)} ${sentence}` });
    if (this.faults.length >= MAX_FAULTS) throw enoughFaults;
    return false;
  }

  /** Adds a fault that also shows the value that came. Always false. */
  refuse(constraint: string, expected: string, value: unknown): false {
    const came = value === undefined ? "missing" : describe(value);
    return this.fail(constraint, `${expected}, but it is ${came}`);
  }

  /** The JSON pointer of the member being checked. */
  path(): string {
    let pointer = "";
    for (const member of this.#path) pointer += `/${segment(member)}`;
    return pointer;
  }
}

function segment(member: string | number): string {
  if (typeof member === "number") return String(member);
  const cut = member.length > MAX_SEGMENT ? `${member.slice(0, MAX_SEGMENT)}…` : member;
  return cut.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The members of one value that some keyword has evaluated. */
export class Seen {
  allNames = false;
  readonly names: Set<string> = new Set();
  allItems = false;
  /** Items before this index were evaluated. */
  items = 0;
  readonly indexes: Set<number> = new Set();

  merge(other: Seen): void {
    this.allNames ||= other.allNames;
    this.allItems ||= other.allItems;
    this.items = Math.max(this.items, other.items);
    for (const name of other.names) this.names.add(name);
    for (const index of other.indexes) this.indexes.add(index);
  }

  hasName(name: string): boolean {
    return this.allNames || this.names.has(name);
  }

  hasItem(index: number): boolean {
    return this.allItems || index < this.items || this.indexes.has(index);
  }
}

/** Checks one member of a value, with its name on the path of the trace. */
export function checkMember(check: Check, value: unknown, member: string | number, trace: Trace | null): boolean {
  if (trace === null) return check(value, null, null);
  trace.enter(member);
  const valid = check(value, trace, null);
  trace.leave();
  return valid;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether `object` itself has the member; `undefined` counts as absent, as it does in JSON. */
export function has(object: Record<string, unknown>, name: string): boolean {
  return object[name] !== undefined && Object.hasOwn(object, name);
}

// Compares JSON values by content, and finds equal ones in a list without comparing every pair.

/** Whether two JSON values are equal: numbers by value, objects whatever the order of their members. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  charge(1);
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equal(a[i], b[i])) return false;
    return true;
  }
  return !Array.isArray(b) && equalMembers(a as Record<string, unknown>, b as Record<string, unknown>);
}

function equalMembers(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  for (const name of names) if (!Object.hasOwn(b, name) || !equal(a[name], b[name])) return false;
  return true;
}

/** The indexes of the first two equal items, or undefined when all differ. Time grows with the size of the list. */
export function findEqualPair(items: readonly unknown[]): [number, number] | undefined {
  charge(items.length >> 3);
  const scalars = new Map<unknown, number>();
  const structures = new Map<number, number[]>();
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (typeof item !== "object" || item === null) {
      const earlier = scalars.get(item);
      if (earlier !== undefined) return [earlier, i];
      scalars.set(item, i);
      continue;
    }
    const key = hash(item, 0);
    const rivals = structures.get(key);
    if (rivals === undefined) structures.set(key, [i]);
    else {
      for (const earlier of rivals) if (equal(items[earlier], item)) return [earlier, i];
      rivals.push(i);
    }
  }
  return undefined;
}

/** Makes hashes differ between processes, so that nobody can prepare a list whose items collide. */
const seed = (Math.random() * 0x1_0000_0000) | 0;
/** Characters of a string that go into a hash, from either end; what differs only between them is compared in full. */
const HASHED = 32;
/** Members hashed for one step of the budget: hashing one takes far less time than a step. */
let members = 0;

function hash(value: unknown, depth: number): number {
  if ((++members & 7) === 0) charge(1);
  if (depth > MAX_LEVELS) throw tooExpensive;
  if (typeof value === "string") return hashText(value);
  if (typeof value === "number") return hashNumber(value);
  if (Array.isArray(value)) {
    let code = seed ^ value.length;
    for (const item of value) code = Math.imul(code, 31) + hash(item, depth + 1);
    return mix(code);
  }
  if (!isObject(value)) return value === true ? seed ^ 1 : value === false ? seed ^ 2 : seed ^ 3;
  // A sum, so that the order of members does not count.
  let sum = seed;
  for (const name of Object.keys(value))
    sum = (sum + mix(Math.imul(hashText(name), 31) + hash(value[name], depth + 1))) | 0;
  return mix(sum);
}

function hashText(text: string): number {
  let code = seed ^ text.length;
  const head = Math.min(text.length, HASHED);
  for (let i = 0; i < head; i++) code = Math.imul(code ^ text.charCodeAt(i), 0x01000193);
  for (let i = Math.max(head, text.length - HASHED); i < text.length; i++) {
    code = Math.imul(code ^ text.charCodeAt(i), 0x01000193);
  }
  return mix(code);
}

function hashNumber(value: number): number {
  const whole = value | 0;
  return whole === value ? mix(whole ^ seed) : hashText(String(value));
}

function mix(code: number): number {
  const high = Math.imul(code ^ (code >>> 16), 0x85ebca6b);
  return high ^ (high >>> 13);
}

// Reports a JSON Schema that cannot be used, with the place in it and what to do.

type SchemaErrorCode =
  | "invalid-schema"
  | "unsupported-dialect"
  | "unresolved-reference"
  | "network-reference"
  | "unsafe-pattern"
  | "schema-too-large"
  | "no-json-schema";

/** Thrown by `compileJsonSchema` and `fromStandard`. A local error: it never crosses the wire. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code: SchemaErrorCode;
  /** JSON pointer into the schema, as a fragment: `#/properties/name`. */
  readonly pointer: string;

  constructor(code: SchemaErrorCode, pointer: string, message: string) {
    super(`${pointer}: ${message}`);
    this.code = code;
    this.pointer = pointer;
  }
}

export type SchemaObject = { readonly [keyword: string]: unknown };

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The pointer of `pointer`'s member `name`. */
export function below(pointer: string, name: string | number): string {
  return `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
