// Compiles a JSON Schema into a validator: a fast yes or no, and faults a model can act on.

import type { Fault, JsonSchema, Outcome, Schema } from "../schema.js";
import { Builder, type Formats } from "./build.js";
import { Catalogue, NOWHERE } from "./catalogue.js";
import { Filler, type Fill } from "./defaults.js";
import { nativePatterns, type PatternEngine } from "./pattern.js";
import { resolveReferences } from "./references.js";
import { type Check, enoughFaults, MAX_STEPS, openBudget, tooExpensive, Trace } from "./run.js";
import { SchemaError } from "./schema-error.js";
import { type Dialect, dialect07, dialect2020, type Draft } from "./dialect.js";

export interface CompileOptions {
  /** Schemas that references may lead to, by absolute URI. Nothing is ever fetched. */
  readonly documents?: Readonly<Record<string, JsonSchema>>;
  /** The dialect of a schema without `$schema`; 2020-12 when absent. */
  readonly dialect?: Draft;
  /** Tries draft-07 when a schema without `$schema` is not valid in 2020-12; `json` then names it. */
  readonly fallbackToDraft07?: boolean;
  /** The engine behind `pattern` and `patternProperties`; the platform's `RegExp` when absent. */
  readonly regExp?: PatternEngine;
  /** What `format` asserts: nothing (the default), or a table such as `formats` of `./formats.js`. */
  readonly formats?: "annotate" | Formats;
}

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

/** A compiled JSON Schema. */
export interface JsonSchemaValidator<T = unknown> extends Schema<T> {
  readonly json: JsonSchema;
  /** Whether `value` is valid as it stands. Allocates nothing and throws nothing; what costs too much is not valid. */
  check(value: unknown): boolean;
  /** Fills in defaults, never in the caller's own object, and then checks. */
  validate(value: unknown): Outcome<T>;
  /** `value` with every missing member that has a default filled in; `value` itself when there is none. */
  applyDefaults(value: unknown): unknown;
}

/**
 * Compiles `schema`, in the dialect that its `$schema` names (2020-12 or draft-07).
 *
 * @throws {SchemaError} when the schema is malformed, too large, in another dialect, or refers to something not given.
 */
export function compileJsonSchema<T = unknown>(
  schema: JsonSchema,
  options: CompileOptions = {},
): JsonSchemaValidator<T> {
  const standard = options.dialect === "draft-07" ? dialect07 : dialect2020;
  try {
    return compileIn<T>(standard, schema, options);
  } catch (error) {
    if (!(error instanceof SchemaError) || options.fallbackToDraft07 !== true || !isSilent(schema)) throw error;
    try {
      // Whoever reads `json` has to know as what it was read.
      return compileIn<T>(dialect07, { $schema: DRAFT_07, ...schema }, options);
    } catch {
      throw error;
    }
  }
}

/** Whether a schema says nothing of its dialect, and so may be read in another. */
function isSilent(schema: JsonSchema): schema is Exclude<JsonSchema, boolean> {
  return typeof schema === "object" && schema !== null && schema["$schema"] === undefined;
}

function compileIn<T>(dialect: Dialect, schema: JsonSchema, options: CompileOptions): JsonSchemaValidator<T> {
  const { documents = {}, regExp = nativePatterns(), formats = "annotate" } = options;
  const catalogue = new Catalogue(documents);
  catalogue.add(schema, NOWHERE, dialect);
  const targets = resolveReferences(catalogue);
  const builder = new Builder(catalogue, targets, {
    engine: regExp,
    formats: formats === "annotate" ? undefined : formats,
  });
  const check = builder.build(schema);
  const fill = new Filler(catalogue, targets, builder.sub).fillerOf(schema);
  return new Validator<T>(schema, check, fill, builder.scope);
}

class Validator<T> implements JsonSchemaValidator<T> {
  readonly json: JsonSchema;
  readonly #check: Check;
  readonly #fill: Fill | undefined;
  readonly #scope: unknown[] | undefined;

  constructor(json: JsonSchema, check: Check, fill: Fill | undefined, scope: unknown[] | undefined) {
    this.json = json;
    this.#check = check;
    this.#fill = fill;
    this.#scope = scope;
  }

  check(value: unknown): boolean {
    this.#open();
    try {
      return this.#check(value, null, null);
    } catch {
      return false;
    }
  }

  validate(value: unknown): Outcome<T> {
    if (this.#fill === undefined) return this.check(value) ? { ok: true, value: value as T } : this.#explain(value);
    let filled: unknown;
    try {
      filled = this.applyDefaults(value);
    } catch (error) {
      return refused([budgetFault(error)]);
    }
    if (this.check(filled)) return { ok: true, value: filled as T };
    // Defaults may break a rule about the whole, such as `maxProperties`; they never make a good value bad.
    return filled !== value && this.check(value) ? { ok: true, value: value as T } : this.#explain(filled);
  }

  applyDefaults(value: unknown): unknown {
    if (this.#fill === undefined) return value;
    this.#open();
    return this.#fill(value);
  }

  #open(): void {
    openBudget();
    if (this.#scope !== undefined) this.#scope.length = 0;
  }

  /** Checks a refused value once more, and writes down why. */
  #explain(value: unknown): Outcome<never> {
    const trace = new Trace();
    this.#open();
    try {
      this.#check(value, trace, null);
    } catch (error) {
      if (error !== enoughFaults && trace.faults.length === 0) return refused([budgetFault(error)]);
    }
    // Looking for every fault takes other steps: what is too expensive only for `check` leaves none behind.
    return refused(trace.faults.length > 0 ? trace.faults : [budgetFault(tooExpensive)]);
  }
}

function refused(faults: readonly Fault[]): Outcome<never> {
  return { ok: false, faults };
}

/** The fault of a value that was given up on. Rethrows what is neither an empty budget nor a full stack. */
function budgetFault(error: unknown): Fault {
  if (error !== tooExpensive && !(error instanceof RangeError)) throw error;
  const message = `is too expensive to check against this schema (more than ${MAX_STEPS} steps); send a smaller value`;
  return { path: "", constraint: "budget", message };
}
