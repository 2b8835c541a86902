// Compiles a JSON Schema into a validator: a fast yes or no, and faults a model can act on.
import type { Fault, JsonSchema, Outcome, Schema } from "../schema.js";
import {
  SchemaIndex,
  type Dialect,
  dialect07,
  dialect2020,
  type Draft,
  type Node,
  NOWHERE,
  type SchemaResource,
} from "./schema-index.js";
import { nativePatterns, type Pattern, type PatternEngine } from "./pattern.js";
import { resolveReferences, type Target, type Targets } from "./references.js";
import {
  below,
  charge,
  type Check,
  enoughFaults,
  has,
  isObject,
  isSchemaObject,
  MAX_LEVELS,
  MAX_STEPS,
  openBudget,
  run,
  SchemaError,
  type SchemaObject,
  tooExpensive,
  Trace,
} from "./run.js";
import { arrayKeywords, objectKeywords } from "./object-keywords.js";
import { always, join, type Keyword, logicKeywords, never, type Site, valueKeywords } from "./value-keywords.js";

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
  const standard = options.dialect === "draft-07" ? dialect07() : dialect2020;
  try {
    return compileIn<T>(standard, schema, options);
  } catch (error) {
    if (!(error instanceof SchemaError) || options.fallbackToDraft07 !== true || !isSilent(schema)) throw error;
    try {
      // Whoever reads `json` has to know as what it was read.
      return compileIn<T>(dialect07(), { $schema: DRAFT_07, ...schema }, options);
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
  const catalogue = new SchemaIndex(documents);
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

// Builds the check of every subschema: closures over closures, with no generated code.

/** The tests that `format` asserts, by name. */
type Formats = Readonly<Record<string, (text: string) => boolean>>;

const keywords: ReadonlyMap<string, Keyword> = new Map(
  [valueKeywords, arrayKeywords, objectKeywords, logicKeywords].flatMap((group) => Object.entries(group)),
);

interface BuildOptions {
  readonly engine: PatternEngine;
  readonly formats: Formats | undefined;
}

class Builder {
  /** The resources entered by the validation that runs now, outermost first; undefined when no `$dynamicRef` asks. */
  readonly scope: SchemaResource[] | undefined;
  readonly #catalogue: SchemaIndex;
  readonly #targets: Targets;
  readonly #options: BuildOptions;
  readonly #patterns = new Map<string, Pattern>();
  readonly #queue: Node[] = [];

  constructor(catalogue: SchemaIndex, targets: Targets, options: BuildOptions) {
    this.#catalogue = catalogue;
    this.#targets = targets;
    this.#options = options;
    if (!catalogue.references.some(({ keyword }) => keyword === "$dynamicRef")) return;
    this.scope = [];
    for (const { dynamic } of catalogue.resources.values()) this.#queue.push(...dynamic.values());
  }

  /** Builds `schema` and all it leads to: references from a queue, so that a long chain of them is no deep recursion. */
  build(schema: unknown): Check {
    const check = this.sub(schema);
    for (let node = this.#queue.pop(); node !== undefined; node = this.#queue.pop()) this.#check(node);
    return check;
  }

  /** The check of a subschema that stands where it is used. */
  readonly sub = (schema: unknown): Check => {
    if (!isSchemaObject(schema)) return schema === false ? never : always;
    return this.#check(this.#catalogue.nodeOf(schema));
  };

  #check(node: Node): Check {
    if (node.check !== undefined) return node.check;
    const check = this.#join(node);
    const isRoot = this.scope !== undefined && node.schema === node.resource.root;
    return (node.check = isRoot ? this.#inScope(node.resource, check) : check);
  }

  #join(node: Node): Check {
    const { schema, resource } = node;
    const site = this.#site(node);
    let type: Check | undefined;
    const body: Check[] = [];
    const last: Check[] = [];
    const used: string[] = [];
    for (const keyword of node.isBareReference ? ["$ref"] : Object.keys(schema)) {
      const check = resource.dialect.kinds.has(keyword) ? keywords.get(keyword)?.(schema[keyword], site) : undefined;
      if (check === undefined) continue;
      used.push(keyword);
      if (keyword === "type") type = check;
      else (keyword.startsWith("unevaluated") ? last : body).push(check);
    }
    return fastObject(site, used, join(type, body, last));
  }

  #site(node: Node): Site {
    return {
      node,
      schema: node.schema,
      sub: this.sub,
      format: (name) => {
        const { formats } = this.#options;
        return formats !== undefined && Object.hasOwn(formats, name) ? formats[name] : undefined;
      },
      pattern: (source, keyword) => this.#pattern(source, below(node.pointer, keyword)),
      reference: (keyword) => this.#reference(node, this.#targets.get(node)?.[keyword], keyword === "$dynamicRef"),
    };
  }

  #pattern(source: string, place: string): Pattern {
    const known = this.#patterns.get(source);
    if (known !== undefined) return known;
    try {
      const pattern = this.#options.engine(source);
      this.#patterns.set(source, pattern);
      return pattern;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const code = error instanceof SyntaxError ? "invalid-schema" : "unsafe-pattern";
      throw new SchemaError(code, place, `cannot be used as a regular expression: ${reason}`);
    }
  }

  #reference(from: Node, target: Target | undefined, isDynamic: boolean): Check {
    if (target === undefined) throw new Error("a reference was not resolved");
    const { schema, resource, anchor } = target;
    if (!isSchemaObject(schema)) return schema ? always : never;
    const to = this.#catalogue.nodeOf(schema);
    this.#queue.push(to);
    const weight = from.level + 1;
    const find =
      isDynamic && anchor !== undefined && resource.dynamic.has(anchor) ? this.#rebound(anchor, to) : undefined;
    const follow: Check = (value, trace, seen) => {
      charge(1);
      if ((run.levels += weight) > MAX_LEVELS) throw tooExpensive;
      const check = (find === undefined ? to.check : find()) as Check;
      const valid = check(value, trace, seen);
      run.levels -= weight;
      return valid;
    };
    return this.scope !== undefined && resource !== from.resource ? this.#inScope(resource, follow) : follow;
  }

  /** Finds what a `$dynamicRef` means now: the anchor of that name in the outermost resource entered that has one. */
  #rebound(anchor: string, otherwise: Node): () => Check | undefined {
    return () => {
      for (const { dynamic } of this.scope ?? []) {
        const node = dynamic.get(anchor);
        if (node !== undefined) return node.check;
      }
      return otherwise.check;
    };
  }

  #inScope(resource: SchemaResource, check: Check): Check {
    const { scope } = this;
    if (scope === undefined) return check;
    return (value, trace, seen) => {
      scope.push(resource);
      const valid = check(value, trace, seen);
      scope.pop();
      return valid;
    };
  }
}

/** Keywords that the fast check answers for; any other asserting keyword rules it out. */
const covered: ReadonlySet<string> = new Set(["type", "properties", "required", "additionalProperties"]);
/** Members looked up one by one; above this it is faster to walk over the members of the value. */
const MAX_MEMBERS = 24;

const { prototype } = Object;

interface Shape {
  readonly names: readonly string[];
  readonly checks: readonly Check[];
  readonly required: readonly boolean[];
  readonly closed: boolean;
}

/** The check of an object schema: quick for valid plain objects, and `general` in every other case. */
function fastObject(site: Site, used: readonly string[], general: Check): Check {
  const shape = used.every((keyword) => covered.has(keyword)) ? shapeOf(site) : undefined;
  if (shape === undefined) return general;
  const { names, checks, required, closed } = shape;
  const count = names.length;
  return (value, trace, seen) => {
    // The prototype also tells arrays and null apart, and makes sure that no member is inherited.
    if (trace !== null || seen !== null || !isPlain(value)) return general(value, trace, seen);
    charge(count);
    let present = 0;
    for (let i = 0; i < count; i++) {
      const member = value[names[i] as string];
      if (member === undefined) {
        if (required[i] === true) return false;
      } else {
        present++;
        if (!(checks[i] as Check)(member, null, null)) return false;
      }
    }
    if (!closed) return true;
    for (const _ in value) present--;
    return present === 0 || general(value, null, null);
  };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === prototype;
}

function shapeOf({ schema, sub }: Site): Shape | undefined {
  const { properties, required = [], additionalProperties = true } = schema;
  if (schema["type"] !== "object" || typeof additionalProperties !== "boolean") return undefined;
  const members = (properties ?? {}) as Readonly<Record<string, unknown>>;
  const names = Object.keys(members);
  const needed = required as readonly string[];
  // A name that every object inherits cannot be looked up without asking whose it is.
  if (names.length > MAX_MEMBERS || names.some((name) => name in prototype)) return undefined;
  if (needed.some((name) => !names.includes(name))) return undefined;
  return {
    names,
    checks: names.map((name) => sub(members[name])),
    required: names.map((name) => needed.includes(name)),
    closed: !additionalProperties,
  };
}

// Fills members that are missing from a value with the `default` of their schema.

/** Returns `value` itself when nothing was missing, and otherwise a copy of the parts that changed. */
type Fill = (value: unknown) => unknown;

/** One place that may be filled: a named property, or an index of a list. */
interface Place {
  readonly name: string;
  /** The default; undefined when there is none. */
  readonly value: unknown;
  readonly size: number;
  /** Fills what is inside the place. */
  readonly fill: Fill | undefined;
}

const same: Fill = (value) => value;

/** Makes the fillers of one schema. */
class Filler {
  readonly #catalogue: SchemaIndex;
  readonly #targets: Targets;
  readonly #compiled: (schema: unknown) => Check;
  readonly #fillers = new Map<Node, Fill>();
  readonly #queue: Node[] = [];

  /** `compiled` gives the check of a subschema: a default that its own schema refuses is not filled in. */
  constructor(catalogue: SchemaIndex, targets: Targets, compiled: (schema: unknown) => Check) {
    this.#catalogue = catalogue;
    this.#targets = targets;
    this.#compiled = compiled;
  }

  /** The filler of `root`; undefined when there is nothing to fill in anywhere. */
  fillerOf(root: unknown): Fill | undefined {
    if (!this.#catalogue.hasDefaults) return undefined;
    const fill = this.#sub(root);
    for (let node = this.#queue.pop(); node !== undefined; node = this.#queue.pop()) {
      if (!this.#fillers.has(node)) this.#fillers.set(node, this.#sub(node.schema) ?? same);
    }
    return fill;
  }

  #sub(schema: unknown): Fill | undefined {
    if (!isSchemaObject(schema)) return undefined;
    const node = this.#catalogue.nodeOf(schema);
    const own = node.isBareReference ? [] : [this.#members(schema), this.#items(schema), ...this.#parts(schema)];
    const steps = [...own, this.#reference(node)].filter((step) => step !== undefined);
    return steps.length === 0 ? undefined : (value) => steps.reduce((filled, step) => step(filled), value);
  }

  #parts({ allOf }: SchemaObject): (Fill | undefined)[] {
    return Array.isArray(allOf) ? allOf.map((part) => this.#sub(part)) : [];
  }

  #reference(node: Node): Fill | undefined {
    const target = this.#targets.get(node)?.["$ref"]?.schema;
    if (!isSchemaObject(target)) return undefined;
    const to = this.#catalogue.nodeOf(target);
    const weight = node.level + 1;
    this.#queue.push(to);
    return (value) => {
      charge(1);
      if ((run.levels += weight) > MAX_LEVELS) throw tooExpensive;
      const filled = (this.#fillers.get(to) ?? same)(value);
      run.levels -= weight;
      return filled;
    };
  }

  #members({ properties }: SchemaObject): Fill | undefined {
    if (!isObject(properties)) return undefined;
    const places = Object.keys(properties).map((name) => this.#place(name, properties[name]));
    const useful = places.filter(({ value, fill }) => value !== undefined || fill !== undefined);
    return useful.length === 0 ? undefined : (value) => (isObject(value) ? fillMembers(value, useful) : value);
  }

  #items({ items, prefixItems, additionalItems }: SchemaObject): Fill | undefined {
    const first = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
    const places = first.map((schema, index) => this.#place(String(index), schema));
    const rest = this.#sub(Array.isArray(items) ? additionalItems : items);
    const useful = rest !== undefined || places.some(({ value, fill }) => value !== undefined || fill !== undefined);
    return useful ? (value) => (Array.isArray(value) ? fillItems(value, places, rest) : value) : undefined;
  }

  #place(name: string, schema: unknown): Place {
    const value = this.#default(schema);
    const size = typeof value === "object" && value !== null ? JSON.stringify(value).length >> 3 : 0;
    return { name, value, size, fill: this.#sub(schema) };
  }

  #default(schema: unknown): unknown {
    const value = isSchemaObject(schema) ? schema["default"] : undefined;
    if (value === undefined) return undefined;
    openBudget();
    try {
      return this.#compiled(schema)(value, null, null) ? value : undefined;
    } catch {
      return undefined;
    }
  }
}

function fillMembers(object: Record<string, unknown>, places: readonly Place[]): Record<string, unknown> {
  charge(places.length);
  let result = object;
  for (const place of places) {
    const { name } = place;
    const old = has(object, name) ? object[name] : undefined;
    const filled = fillPlace(place, old);
    if (filled === old) continue;
    if (result === object) result = { ...object };
    // Not an assignment, which for `__proto__` would set the prototype.
    Object.defineProperty(result, name, { value: filled, enumerable: true, configurable: true, writable: true });
  }
  return result;
}

function fillItems(list: readonly unknown[], places: readonly Place[], rest: Fill = same): readonly unknown[] {
  charge(list.length + places.length);
  const result: unknown[] = [];
  let changed = false;
  for (let i = 0; i < Math.max(list.length, places.length); i++) {
    const place = places[i];
    const filled = place === undefined ? rest(list[i]) : fillPlace(place, list[i]);
    // A list cannot have gaps.
    if (filled === undefined && i >= list.length) break;
    changed ||= filled !== list[i];
    result.push(filled);
  }
  return changed ? result : list;
}

/** What stands at `place` once it is filled; undefined when nothing does and there is no default. */
function fillPlace({ value, size, fill = same }: Place, old: unknown): unknown {
  if (old !== undefined) return fill(old);
  if (typeof value !== "object" || value === null) return value;
  // A copy, so that whoever is handed it cannot change the schema.
  charge(size);
  return fill(structuredClone(value));
}
