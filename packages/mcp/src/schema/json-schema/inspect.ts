// Checks that a schema is a schema: its size, and the shape of every keyword's value.

import { MAX_JSON_DEPTH, MAX_SCHEMA_LENGTH } from "./budget.js";
import type { Kind } from "./dialect.js";
import { SchemaError } from "./schema-error.js";
import { describe, nearest } from "./show.js";

export type SchemaObject = { readonly [keyword: string]: unknown };

export const typeNames: readonly string[] = ["string", "number", "integer", "boolean", "object", "array", "null"];

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The pointer of `pointer`'s member `name`. */
export function below(pointer: string, name: string | number): string {
  return `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Refuses a schema whose JSON text would be too long or too deep. Cycles and shared branches count as often as met. */
export function checkSize(schema: unknown): void {
  let left = MAX_SCHEMA_LENGTH;
  const measure = (value: unknown, depth: number): void => {
    if (depth > MAX_JSON_DEPTH) {
      throw new SchemaError(
        "schema-too-large",
        "#",
        `nests JSON deeper than ${MAX_JSON_DEPTH} levels; make it flatter`,
      );
    }
    if (typeof value === "string") left -= value.length + 2;
    else if (typeof value !== "object" || value === null) left -= 4;
    else if (Array.isArray(value)) {
      left -= 2 + value.length;
      if (left >= 0) for (const item of value) measure(item, depth + 1);
    } else {
      left -= 2;
      for (const name in value) {
        left -= name.length + 4;
        measure((value as SchemaObject)[name], depth + 1);
      }
    }
    if (left < 0) {
      throw new SchemaError(
        "schema-too-large",
        "#",
        `is longer than ${MAX_SCHEMA_LENGTH} characters of JSON; shorten it`,
      );
    }
  };
  measure(schema, 0);
}

/** Throws a `SchemaError` when `value` is not what the keyword at `pointer` takes. Looks one level deep. */
export function checkKeyword(kind: Kind, value: unknown, pointer: string): void {
  const expected = mismatch(kind, value);
  if (expected !== undefined) {
    throw new SchemaError("invalid-schema", pointer, `must be ${expected}, but it is ${describe(value)}`);
  }
  if (kind === "type") checkTypeNames(value as string | readonly string[], pointer);
}

/** What `kind` expects, when `value` is something else. */
function mismatch(kind: Kind, value: unknown): string | undefined {
  switch (kind) {
    case "any":
    case "schema":
      return undefined;
    case "string":
    case "boolean":
      return typeof value === kind ? undefined : `a ${kind}`;
    case "number":
      return Number.isFinite(value) ? undefined : "a number";
    case "positive":
      return Number.isFinite(value) && (value as number) > 0 ? undefined : "a number above 0";
    case "count":
      return Number.isInteger(value) && (value as number) >= 0 ? undefined : "an integer of at least 0";
    case "list":
      return Array.isArray(value) ? undefined : "an array";
    case "strings":
      return isStrings(value) ? undefined : "an array of strings";
    case "type":
      return typeof value === "string" || (isStrings(value) && value.length > 0)
        ? undefined
        : "a type name or a list of them";
    case "schemas":
      return Array.isArray(value) && value.length > 0 ? undefined : "a non-empty array of schemas";
    case "schemaOrSchemas":
      return undefined;
    case "stringMap":
      return isSchemaObject(value) && Object.values(value).every(isStrings) ? undefined : "an object of string arrays";
    case "schemaMap":
    case "dependencies":
      return isSchemaObject(value) ? undefined : "an object";
  }
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function checkTypeNames(value: string | readonly string[], pointer: string): void {
  for (const name of typeof value === "string" ? [value] : value) {
    if (typeNames.includes(name)) continue;
    const near = nearest(name, typeNames);
    const hint = near === undefined ? `use one of ${typeNames.join(", ")}` : `did you mean "${near}"?`;
    throw new SchemaError("invalid-schema", pointer, `${describe(name)} is not a type; ${hint}`);
  }
}
