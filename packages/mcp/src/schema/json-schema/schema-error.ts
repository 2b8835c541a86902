// Reports a JSON Schema that cannot be used, with the place in it and what to do.

export type SchemaErrorCode =
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
