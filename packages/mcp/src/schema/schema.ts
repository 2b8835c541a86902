// Names what the rest of the library validates with: a schema, the outcome of a validation and its faults, and the type
// a JSON Schema describes.
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
