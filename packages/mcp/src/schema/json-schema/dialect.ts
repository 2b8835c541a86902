// Knows the two dialects we compile: which keywords each has, and what shape a keyword's value must have.

import { describe, nearest } from "./show.js";
import { isSchemaObject, SchemaError } from "./schema-error.js";

/** What a keyword's value must be; the kinds with `schema` in their name hold subschemas. */
export type Kind =
  | "any"
  | "string"
  | "boolean"
  | "number"
  | "positive"
  | "count"
  | "strings"
  | "type"
  | "list"
  | "stringMap"
  | "schema"
  | "schemas"
  | "schemaMap"
  | "schemaOrSchemas"
  | "dependencies";

export type Draft = "2020-12" | "draft-07";

export interface Dialect {
  readonly draft: Draft;
  readonly kinds: ReadonlyMap<string, Kind>;
}

type Keywords = Readonly<Record<string, Kind>>;

/** Annotations other than these are not looked at: whatever they say, they cannot change an outcome. */
const annotations: Keywords = { default: "any", format: "string" };

const validation: Keywords = {
  type: "type",
  enum: "list",
  const: "any",
  multipleOf: "positive",
  maximum: "number",
  exclusiveMaximum: "number",
  minimum: "number",
  exclusiveMinimum: "number",
  maxLength: "count",
  minLength: "count",
  pattern: "string",
  maxItems: "count",
  minItems: "count",
  uniqueItems: "boolean",
  maxProperties: "count",
  minProperties: "count",
  required: "strings",
};

const applicators: Keywords = {
  contains: "schema",
  additionalProperties: "schema",
  properties: "schemaMap",
  patternProperties: "schemaMap",
  propertyNames: "schema",
  if: "schema",
  then: "schema",
  else: "schema",
  allOf: "schemas",
  anyOf: "schemas",
  oneOf: "schemas",
  not: "schema",
};

const core: Keywords = {
  $schema: "string",
  $id: "string",
  $ref: "string",
  $comment: "string",
  definitions: "schemaMap",
};

const VOCABULARY = "https://json-schema.org/draft/2020-12/vocab/";

/** The vocabularies of 2020-12, by the last part of their URI. */
const vocabularies: Readonly<Record<string, Keywords>> = {
  core: {
    ...core,
    $anchor: "string",
    $dynamicRef: "string",
    $dynamicAnchor: "string",
    $vocabulary: "any",
    $defs: "schemaMap",
  },
  applicator: { ...applicators, prefixItems: "schemas", items: "schema", dependentSchemas: "schemaMap" },
  unevaluated: { unevaluatedItems: "schema", unevaluatedProperties: "schema" },
  validation: { ...validation, minContains: "count", maxContains: "count", dependentRequired: "stringMap" },
  "meta-data": annotations,
  "format-annotation": { format: "string" },
  "format-assertion": { format: "string" },
  content: { contentSchema: "schema" },
};

export const dialect2020: Dialect = dialect("2020-12", Object.values(vocabularies));

export const dialect07: Dialect = dialect("draft-07", [
  core,
  annotations,
  validation,
  applicators,
  { items: "schemaOrSchemas", additionalItems: "schema", dependencies: "dependencies" },
]);

function dialect(draft: Draft, groups: readonly Keywords[]): Dialect {
  return { draft, kinds: new Map(groups.flatMap((group) => Object.entries(group))) };
}

/** The dialect that a `$schema` URI names; undefined when it is none of the two. */
export function knownDialect(uri: string): Dialect | undefined {
  if (/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(uri)) return dialect2020;
  if (/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(uri)) return dialect07;
  return undefined;
}

/** The dialect of a metaschema that picks its vocabularies from 2020-12. Throws when it requires one we lack. */
export function dialectOf(metaschema: Readonly<Record<string, unknown>>, pointer: string): Dialect {
  const wanted = metaschema["$vocabulary"];
  if (typeof wanted !== "object" || wanted === null) return dialect2020;
  const groups: Keywords[] = [];
  for (const [uri, required] of Object.entries(wanted)) {
    const name = uri.startsWith(VOCABULARY) ? uri.slice(VOCABULARY.length) : "";
    const group = Object.hasOwn(vocabularies, name) ? vocabularies[name] : undefined;
    if (group !== undefined) groups.push(group);
    else if (required === true) {
      throw new SchemaError(
        "unsupported-dialect",
        pointer,
        `requires the vocabulary "${uri}", which is not implemented`,
      );
    }
  }
  return dialect("2020-12", groups);
}

const typeNames: readonly string[] = ["string", "number", "integer", "boolean", "object", "array", "null"];

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
