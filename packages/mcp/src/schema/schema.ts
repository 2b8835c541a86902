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

// What is wrong with the members of an object that a program gives, such as options: one that nobody reads is a mistake unheard.

/** Names of members. One whose value is an object has members of its own, which are held to those. */
export type KnownMembers = Readonly<Record<string, unknown>>;

/** The names of all members of `T`, none left out: the compiler holds the list to the type. */
export type MembersOf<T> = { readonly [K in keyof Required<T>]: unknown };

/** What is wrong with a member, as the end of a sentence; undefined when nothing is. */
export function memberFault(given: unknown, known: KnownMembers): string | undefined {
  if (typeof given !== "object" || given === null) {
    return `takes one object, not ${typeof given === "function" ? "a function" : String(given)}`;
  }
  for (const [name, value] of ownMembers(given)) {
    if (!Object.hasOwn(known, name)) return unknownMember(name, Object.keys(known));
    const inner = known[name];
    if (typeof inner !== "object" || inner === null || typeof value !== "object" || value === null) continue;
    const fault = memberFault(value, inner as KnownMembers);
    if (fault !== undefined) return `in "${name}" ${fault}`;
  }
  return undefined;
}

/** The sentence for a member that does not exist. */
export function unknownMember(name: string, members: readonly string[]): string {
  const near = nearest(name, members);
  return `there is no member "${name}"${near === undefined ? `: there are ${members.join(", ")}` : `, did you mean "${near}"?`}`;
}

/** Members that say something. Those of an author's own class are the author's business. */
export function ownMembers(given: object): readonly (readonly [string, unknown])[] {
  const prototype: unknown = Object.getPrototypeOf(given);
  if (prototype !== Object.prototype && prototype !== null) return [];
  return Object.entries(given).filter(([, value]) => value !== undefined);
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
