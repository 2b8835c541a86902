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

export type SchemaObject = { readonly [keyword: string]: unknown };

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The pointer of `pointer`'s member `name`. */
export function below(pointer: string, name: string | number): string {
  return `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
