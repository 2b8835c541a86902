// Names what the rest of the library validates with: a schema, the outcome of a validation and its faults, and the type
// a JSON Schema describes; and what is wrong with names that a program gives.
/** A JSON Schema document as plain JSON: a boolean, or an object of keywords. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** One reason why a value was refused. */
export interface Fault {
  /** JSON pointer to the part of the value that is at fault; `""` is the whole value. */
  readonly path: string;
  /** The keyword or rule that was broken, such as `required` or `type`. */
  readonly constraint: string;
  /** A sentence saying where, what was expected and what came; fit for a model to act on. */
  readonly message: string;
}

/** A validated value, or every reason (at most 20) why it was refused. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** What the rest of the library validates with, whatever it was written in. */
export interface Schema<T = unknown> {
  /** The schema as JSON Schema, where there is one to publish. */
  readonly json: JsonSchema | undefined;
  /** Checks `value`. Synchronous for JSON Schema and for our own shapes; a Standard Schema may answer later. */
  validate(value: unknown): Outcome<T> | Promise<Outcome<T>>;
}

// Infers the type of the values that a JSON Schema written in place describes.

type Members = Readonly<Record<string, unknown>>;

/**
 * The type of the values that `S` lets through, when `S` is the literal type of a JSON Schema (a `const` type parameter,
 * or `as const`). Members with a `default` are always there, since defaults are filled in before anyone sees the value.
 * What cannot be told from the type alone, such as `$ref`, is `unknown`.
 */
export type FromJsonSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer Branch)[] }
      ? Alternatives<Branch>
      : S extends { readonly oneOf: readonly (infer Branch)[] }
        ? Alternatives<Branch>
        : S extends { readonly type: infer Name }
          ? Name extends readonly (infer Each)[]
            ? Named<Each, S>
            : Named<Name, S>
          : S extends { readonly properties: Members }
            ? ObjectOf<S>
            : S extends false
              ? never
              : unknown;

type Alternatives<Branch> = Branch extends unknown ? FromJsonSchema<Branch> : never;

/** The values of the type called `Name`, narrowed by the other keywords of `S`. */
type Named<Name, S> = Name extends "string"
  ? string
  : Name extends "number" | "integer"
    ? number
    : Name extends "boolean"
      ? boolean
      : Name extends "null"
        ? null
        : Name extends "array"
          ? ArrayOf<S>
          : Name extends "object"
            ? ObjectOf<S>
            : S extends { readonly properties: Members }
              ? ObjectOf<S>
              : unknown;

type ArrayOf<S> = S extends { readonly items: infer Item }
  ? Item extends readonly unknown[]
    ? unknown[]
    : FromJsonSchema<Item>[]
  : unknown[];

type ObjectOf<S> = S extends { readonly properties: infer Properties extends Members }
  ? Flat<
      {
        -readonly [Name in keyof Properties as Name extends Always<S, Properties> ? Name : never]: FromJsonSchema<
          Properties[Name]
        >;
      } & {
        -readonly [Name in keyof Properties as Name extends Always<S, Properties> ? never : Name]?: FromJsonSchema<
          Properties[Name]
        >;
      }
    >
  : S extends { readonly additionalProperties: infer Rest extends Members }
    ? Record<string, FromJsonSchema<Rest>>
    : Record<string, unknown>;

type Flat<T> = { [Name in keyof T]: T[Name] };

/** Names of members that are always there: required, or filled in. */
type Always<S, Properties> = Required<S> | Filled<Properties>;

// A list of plain `string` says nothing about which names it holds.
type Required<S> = S extends { readonly required: readonly (infer Name)[] }
  ? string extends Name
    ? never
    : Name
  : never;

type Filled<Properties> = {
  [Name in keyof Properties]: Properties[Name] extends { readonly default: unknown } ? Name : never;
}[keyof Properties];

// What is wrong with the members of an object that a program gives, such as options: one that nobody reads is a mistake unheard,
// and so is a value of another kind than the one that is read.

/** Members by name, and what may stand at each. */
export interface KnownMembers {
  readonly [name: string]: Kind;
}

/**
 * What may stand at a member: one of the words of `WORDS`, `=word` for that word alone, `each one two` for a list of these, `get() set()` for an object with these methods,
 * an object with members of its own, or any of several. A number is a limit's default: whoever reads the limit judges it.
 */
export type Kind = string | number | KnownMembers | readonly Kind[];

/** The names of all members of `T`, none left out, and a kind its type has: the compiler holds the table to the type. */
export type MembersOf<T> = { readonly [K in keyof T]-?: KindOf<Exclude<T[K], undefined>> };

/** The kinds that fit a type. `any` is for what is judged elsewhere, or by nobody. */
type KindOf<V> = "any" | WordOf<V> | readonly WordOf<V>[];

type WordOf<V> = unknown extends V
  ? Kind
  : (boolean extends V ? "flag" : false extends V ? "false" : never) | PlainWord<Exclude<V, boolean | null>>;

type PlainWord<V> = V extends string
  ? string extends V
    ? "text"
    : `=${V}`
  : V extends number
    ? number | "number" | "ms" | "whole"
    : V extends (...args: never[]) => unknown
      ? "function"
      : V extends readonly unknown[]
        ? "list" | (V extends readonly string[] ? "texts" | `each ${string}` : "functions")
        : V extends object
          ?
              | "object"
              | MethodsOf<V>
              | (string extends keyof V ? "texts by name" | "lists by name" | KnownMembers : MembersOf<V>)
          : never;

/** Methods an object of the type has: the first is held to the type, for all of several are too many types. */
type MethodsOf<V> = Called<
  { [K in keyof V]-?: NonNullable<V[K]> extends (...args: never[]) => unknown ? K : never }[keyof V]
>;
type Called<K> = `${K & string}()` | `${K & string}() ${string}()`;

/** Begins the kind of a list of some words: `each user assistant`. */
const EACH = "each ";

/** What each word says of a value, whether it is one, and how one is written. */
const WORDS: Readonly<Record<string, readonly [says: string, holds: (value: unknown) => boolean, written: string]>> = {
  text: ["a text", isText, '"..."'],
  flag: ["true or false", (value) => typeof value === "boolean", "true"],
  false: ["false", (value) => value === false, "false"],
  number: ["a number from 0", (value) => Number.isFinite(value) && (value as number) >= 0, "1"],
  ms: ["a number of milliseconds", (value) => typeof value === "number" && value >= 0, "5000"],
  whole: ["a positive whole number", (value) => Number.isSafeInteger(value) && (value as number) > 0, "10"],
  function: ["a function", isFunction, "() => { ... }"],
  list: ["a list", Array.isArray, "[...]"],
  texts: ["a list of texts", (value) => Array.isArray(value) && value.every(isText), '["..."]'],
  "texts by name": [
    "an object of texts",
    (value) => isOpen(value) && Object.values(value).every((each) => each === undefined || isText(each)),
    '{ NAME: "..." }',
  ],
  "lists by name": [
    "an object of lists of texts",
    (value) => isOpen(value) && Object.values(value).every((each) => Array.isArray(each) && each.every(isText)),
    '{ NAME: ["..."] }',
  ],
  functions: [
    "a list of functions",
    (value) => Array.isArray(value) && value.every(isFunction),
    "[(request, next) => next()]",
  ],
  object: ["an object", isOpen, "{ ... }"],
  any: ["anything", () => true, "..."],
};

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Whether its members can be read by name: no list, map or promise, whose members say nothing. */
function isOpen(value: unknown): value is Readonly<Record<string, unknown>> {
  return ["[object Object]", "[object Module]"].includes(Object.prototype.toString.call(value));
}

/** What is wrong with a member, as the end of a sentence; undefined when nothing is. `unknown` words that one does not exist. */
export function memberFault(
  given: unknown,
  known: KnownMembers,
  unknown: typeof unknownMember = unknownMember,
): string | undefined {
  if (!isOpen(given)) return `takes one object, not ${shownValue(given)}`;
  // Further members of an author's own class are the author's business.
  const names = isPlain(given) ? Object.keys(given) : Object.keys(known);
  for (const name of names) {
    const value = given[name];
    if (value === undefined) continue;
    if (!Object.hasOwn(known, name)) return unknown(name, Object.keys(known));
    const fault = valueFault(name, value, known[name] as Kind);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What is wrong with the value of a member: what it takes, and what to write instead. */
export function valueFault(name: string, value: unknown, kind: Kind): string | undefined {
  const kinds = Array.isArray(kind) ? (kind as readonly Kind[]) : [kind];
  for (const each of kinds) {
    if (typeof each === "object" && isOpen(value)) {
      const fault = memberFault(value, each as KnownMembers);
      return fault && `in "${name}" ${fault}`;
    }
    if (holds(value, each)) return undefined;
  }
  const said = kinds.map((each) => inWords(each)).join(" or ");
  const isPromise = typeof (Object(value) as { readonly then?: unknown }).then === "function";
  const first = isPromise ? "await it first, or " : "";
  return `"${name}" is ${said}, not ${shownValue(value)}: ${first}write ${/^\w+$/.test(name) ? name : `"${name}"`}: ${written(kinds, value)}`;
}

function holds(value: unknown, kind: Kind): boolean {
  if (typeof kind !== "string") return typeof kind === "number";
  if (kind.startsWith("=")) return value === kind.slice(1);
  if (kind.startsWith(EACH))
    return Array.isArray(value) && value.every((one) => kind.split(" ").indexOf(one as string) > 0);
  const word = WORDS[kind];
  if (word !== undefined) return word[1](value);
  const methods = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  return kind.split(" ").every((method) => typeof methods[method.slice(0, -2)] === "function");
}

function inWords(kind: Kind): string {
  if (typeof kind === "object") return `{ ${Object.keys(kind).join(", ")} }`;
  const text = String(kind);
  if (text.startsWith(EACH)) return `a list of ${text.slice(EACH.length).replaceAll(" ", ", ")}`;
  return text.startsWith("=") ? `"${text.slice(1)}"` : (WORDS[text]?.[0] ?? `an object with ${text}`);
}

/** What could stand there: what was given, where only its form is wrong. */
function written([kind = "any"]: readonly Kind[], value?: unknown): string {
  const given = isText(value) && value.length <= SHOWN ? value : undefined;
  if (kind === "texts" && given !== undefined) return JSON.stringify([given]);
  if (
    given !== undefined &&
    (kind === "flag" ? /^(true|false)$/ : /^(number|whole|ms)$/.test(kind as string) ? /^\d+$/ : /^$/).test(given)
  )
    return given;
  if (typeof kind === "number") return String(typeof value === "number" ? value : kind);
  if (typeof kind === "object") {
    const [name, inner] = Object.entries(kind)[0] ?? ["", "any"];
    return `{ ${name}: ${written([inner], value)} }`;
  }
  if (kind.startsWith(EACH)) return `["${kind.split(" ")[1]}"]`;
  if (kind.startsWith("=")) return `"${kind.slice(1)}"`;
  return WORDS[kind]?.[2] ?? `{ ${kind.replaceAll("()", "() { ... },")} }`;
}

/** Longest text that is repeated: tokens and keys are longer. */
const SHOWN = 20;

/** What was given, in words that tell no secret. */
export function shownValue(value: unknown): string {
  if (isText(value)) return value.length > SHOWN ? "a text" : JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return "a list";
  const kind = Object.prototype.toString.call(value).slice(8, -1).toLowerCase();
  return kind === "object" ? "an object" : `a ${kind}`;
}

/** The sentence for a member that does not exist. */
export function unknownMember(name: string, members: readonly string[]): string {
  // Or what was cut short, as "readOnly" is.
  const near =
    nearest(name, members) ??
    members.find((each) => name.length > 3 && each.toLowerCase().startsWith(name.toLowerCase()));
  return `there is no member "${name}"${near === undefined ? `: there are ${members.join(", ")}` : `, did you mean "${near}"?`}`;
}

function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === Object.prototype || prototype === null;
}

// Finds the name that was meant.

/** Longest names compared when looking for a near one: the comparison is quadratic. */
const MAX_COMPARED = 40;
/** Names compared: enough for any tool, few enough to take no time. */
const MAX_CANDIDATES = 200;

/** The string among `names` that `name` was probably meant to be: about a third of its letters may differ. */
export function nearest(name: string, names: readonly unknown[]): string | undefined {
  if (name.length > MAX_COMPARED) return undefined;
  let best: string | undefined;
  let bestDistance = Math.floor(Math.max(name.length, 3) / 3) + 1;
  for (const candidate of names.slice(0, MAX_CANDIDATES)) {
    if (typeof candidate !== "string" || Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Letters to insert, drop, replace or swap with their neighbour to get from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
