// Takes schemas of other libraries (zod 4, valibot, arktype) through Standard Schema v1; see https://standardschema.dev.

import { SchemaError, visible } from "./json-schema/run.js";
import type { Fault, JsonSchema, Outcome, Schema } from "./schema.js";

/** A schema of any library that follows Standard Schema v1. Some are objects, some are functions. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Exports JSON Schema, in libraries that can (zod from 4.2, arktype from 2.1.28). */
    readonly jsonSchema?: StandardExport | undefined;
  };
}

/** How a schema library shows its schema as JSON Schema (Standard JSON Schema). */
export interface StandardExport {
  readonly input: (options: { readonly target: string }) => Record<string, unknown>;
  readonly output: (options: { readonly target: string }) => Record<string, unknown>;
}

/** What a schema library says of a value: the value, or the faults (Standard Schema). */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One fault that a schema library found (Standard Schema). */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type of the values that `S` lets through, after its transformations. */
export type InferStandard<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];

/** Faults reported for one value, as many as for JSON Schema. */
const MAX_FAULTS = 20;
/** Characters kept of a library's message: some quote the whole value that came. */
const MAX_MESSAGE = 500;
/** Characters kept of one member name in a path: names are the sender's and can be megabytes. */
const MAX_SEGMENT = 100;

export function isStandardSchema(value: unknown): value is StandardSchema {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard === "object" && standard !== null && typeof standard.validate === "function";
}

/**
 * Wraps a Standard Schema. Its JSON Schema is `published` where given, and else what the library exports for `side`.
 *
 * @throws {SchemaError} when there is no JSON Schema to be had.
 */
export function fromStandard<T = unknown>(
  schema: StandardSchema<unknown, T>,
  side: "input" | "output",
  published?: JsonSchema,
): Schema<T> {
  const json = published ?? exportJsonSchema(schema, side);
  return { json, validate: (value) => standardOutcome(schema, value) };
}

/** What a schema makes of a value, or what is wrong with it: bounded in number and length, and fit to be shown. */
export function standardOutcome<T>(
  schema: StandardSchema<unknown, T>,
  value: unknown,
): Outcome<T> | Promise<Outcome<T>> {
  const result = schema["~standard"].validate(value);
  return "then" in result ? Promise.resolve(result).then(outcomeOf) : outcomeOf(result);
}

function outcomeOf<T>(result: StandardResult<T>): Outcome<T> {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, faults: result.issues.slice(0, MAX_FAULTS).map(faultOf) };
}

function faultOf(issue: StandardIssue): Fault {
  const path = (issue.path ?? []).map((part) => `/${segmentOf(part)}`).join("");
  const message = issue.message.length > MAX_MESSAGE ? `${issue.message.slice(0, MAX_MESSAGE)}…` : issue.message;
  return { path, constraint: constraintOf(issue), message: visible(path === "" ? message : `${path}: ${message}`) };
}

function segmentOf(part: PropertyKey | { readonly key: PropertyKey }): string {
  const name = String(typeof part === "object" ? part.key : part);
  const cut = name.length > MAX_SEGMENT ? `${name.slice(0, MAX_SEGMENT)}…` : name;
  return cut.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** What the library calls the broken rule: zod and arktype say `code`, valibot `type`. */
function constraintOf(issue: StandardIssue & { readonly code?: unknown; readonly type?: unknown }): string {
  if (typeof issue.code === "string") return issue.code;
  return typeof issue.type === "string" ? issue.type : "schema";
}

/** zod 4 has `_zod`; zod 3 says `_def.typeName: "ZodString"`. */
export function isZod3(value: unknown): boolean {
  const { _def, _zod } = Object(value) as { readonly _def?: { readonly typeName?: unknown }; readonly _zod?: unknown };
  return _zod === undefined && typeof _def?.typeName === "string" && _def.typeName.startsWith("Zod");
}

/** What is wrong with what was given as a schema, as the end of a sentence; undefined when nothing is that shows at once. */
export function schemaFault(schema: unknown): string | undefined {
  if (typeof schema === "function" || typeof schema !== "object" || schema === null || isStandardSchema(schema))
    return undefined;
  if (isZod3(schema)) return "is of zod 3, which cannot say what it is as JSON Schema: use zod 4";
  const members = Object.entries(schema);
  const schemas = members.filter(([, member]) => isStandardSchema(member) || isZod3(member)).map(([name]) => name);
  if (schemas.length === 0 || ("type" in schema && typeof schema.type === "string")) return undefined;
  return `is a list of schemas by name (${schemas.slice(0, 3).join(", ")}): make it one schema, as in z.object({ ... })`;
}

/** What a schema says of itself as JSON Schema. Throws SchemaError where it says nothing. */
export function exportJsonSchema(schema: StandardSchema, side: "input" | "output"): JsonSchema {
  const { jsonSchema, vendor } = schema["~standard"];
  const converter =
    vendor === "zod" ? "as z.toJSONSchema(schema) makes it" : "as a converter such as @valibot/to-json-schema makes it";
  const advice = `give that beside it as "${side}JsonSchema", ${converter}`;
  if (isZod3(schema)) {
    const ways = `install zod 4 (npm install zod@4) or give "${side}JsonSchema" beside it`;
    throw new SchemaError("no-json-schema", "#", `this is a zod 3 schema, which cannot say what it is: ${ways}`);
  }
  if (jsonSchema === undefined) {
    throw new SchemaError("no-json-schema", "#", `this ${vendor} schema cannot export JSON Schema; ${advice}`);
  }
  try {
    return withoutNoise(jsonSchema[side]({ target: "draft-2020-12" })) as JsonSchema;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SchemaError("no-json-schema", "#", `${vendor} could not export JSON Schema (${reason}); ${advice}`);
  }
}

/** Keywords whose values are data, in which nothing is a keyword. */
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/** Drops the bounds of safe integers, which zod adds to every integer: they tell a model nothing and cost tokens. */
function withoutNoise(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutNoise);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([keyword, value]) => !isNoise(keyword, value));
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, data.has(keyword) ? value : withoutNoise(value)]));
}

function isNoise(keyword: string, value: unknown): boolean {
  if (keyword === "minimum") return value === Number.MIN_SAFE_INTEGER;
  return keyword === "maximum" && value === Number.MAX_SAFE_INTEGER;
}
