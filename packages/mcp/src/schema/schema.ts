// Names what the rest of the library validates with: a schema, the outcome of a validation and its faults.

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
