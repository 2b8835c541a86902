// JSON Schema of zod schemas that cannot export their own: zod 3, zod/mini, and zod 4 before 4.2.
import type { JsonSchema } from "./schema.js";
import type { StandardSchema } from "./standard-schema.js";

/** Deeper than any form a model fills in; a recursive schema is cut here and accepts everything below. */
const MOST_DEPTH = 24;

type Json = Record<string, unknown>;
type Members = Readonly<Record<string, unknown>>;

/** What is asked of a schema, whichever zod made it. */
interface Node {
  /** `string`, `object`, `optional`, …: the names of zod 4. */
  readonly kind: string;
  readonly def: Members;
  /** The bounds that zod 4 collects. */
  readonly bag: Members;
  readonly description: string | undefined;
}

/** The JSON Schema of a value before (`input`) or after (`output`) its defaults. `{}` for what JSON Schema cannot say. */
export function zodJson(schema: unknown, side: "input" | "output"): JsonSchema {
  return describe(schema, side, 0);
}

/** The JSON Schema of a schema of zod/mini, or of zod 4 before 4.2, which cannot export their own; undefined for any other. */
export function zodExport(schema: StandardSchema, side: "input" | "output"): JsonSchema | undefined {
  const { jsonSchema, vendor } = schema["~standard"];
  return jsonSchema === undefined && vendor === "zod" && "_zod" in schema ? zodJson(schema, side) : undefined;
}

/** Whether a member with this schema may be left out of its object. */
export function mayBeAbsent(schema: unknown, side: "input" | "output"): boolean {
  const inside = record(record(schema)["_zod"]);
  // zod 4 marks what comes in as "optional" or "defaulted", what goes out as "optional".
  if (inside["def"] !== undefined) return inside[side === "input" ? "optin" : "optout"] !== undefined;
  const { kind, def } = nodeOf(schema);
  if (kind === "optional" || kind === "undefined") return true;
  if (kind === "default" || kind === "catch") return side === "input";
  const inner = def["innerType"] ?? (kind === "effects" ? def["schema"] : undefined);
  return inner !== undefined && mayBeAbsent(inner, side);
}

function describe(schema: unknown, side: "input" | "output", depth: number): Json {
  if (depth > MOST_DEPTH) return {};
  const node = nodeOf(schema);
  const shown = shape(node, (inner) => describe(inner, side, depth + 1), side);
  return node.description === undefined ? shown : { ...shown, description: node.description };
}

/** zod 3 says `_def.typeName: "ZodString"`, zod 4 `_zod.def.type: "string"`. */
function nodeOf(schema: unknown): Node {
  const outer = record(schema);
  const four = record(outer["_zod"]);
  const def = four["def"] === undefined ? record(outer["_def"]) : record(four["def"]);
  const named = def["typeName"];
  const kind = typeof named === "string" ? named.replace(/^Zod/, "").toLowerCase() : textOf(def["type"]);
  const description = outer["description"];
  return {
    kind,
    def,
    bag: record(four["bag"]),
    description: typeof description === "string" ? description : undefined,
  };
}

type Inner = (schema: unknown) => Json;

function shape(node: Node, inner: Inner, side: "input" | "output"): Json {
  const { kind, def } = node;
  switch (kind) {
    case "string":
      return { type: "string", ...stringBounds(node) };
    case "number":
    case "int":
      return numberShape(node);
    case "boolean":
    case "null":
      return { type: kind };
    case "array":
      // Its items are `element` in zod 4 and `type` in zod 3, where the type's own name stands elsewhere.
      return { type: "array", items: inner(def["element"] ?? def["type"]), ...lengths(node) };
    case "object":
      return objectShape(def, inner, side);
    case "record":
      return { type: "object", additionalProperties: inner(def["valueType"]) };
    case "tuple":
      return { type: "array", prefixItems: list(def["items"]).map(inner) };
    case "nullable":
      return { anyOf: [inner(def["innerType"]), { type: "null" }] };
    case "default":
    case "prefault":
      return { ...inner(def["innerType"]), default: defaultOf(def["defaultValue"]) };
    default:
      return choice(node, inner) ?? wrapped(node, inner) ?? {};
  }
}

function choice({ kind, def }: Node, inner: Inner): Json | undefined {
  switch (kind) {
    case "enum":
      return { type: "string", enum: values(def["entries"] ?? def["values"]) };
    case "nativeenum":
      return { enum: values(def["values"]) };
    case "literal":
      return literal(def["values"] ?? [def["value"]]);
    case "union":
    case "discriminatedunion":
      return { anyOf: list(def["options"]).map(inner) };
    case "intersection":
      return { allOf: [inner(def["left"]), inner(def["right"])] };
    default:
      return undefined;
  }
}

/** Wrappers that JSON Schema does not know: what they hold is described instead. */
function wrapped({ kind, def }: Node, inner: Inner): Json | undefined {
  if (kind === "lazy" && typeof def["getter"] === "function") return inner(Reflect.apply(def["getter"], undefined, []));
  const held = def["innerType"] ?? def["schema"] ?? def["in"] ?? (kind === "branded" ? def["type"] : undefined);
  return held === undefined ? undefined : inner(held);
}

function objectShape(def: Members, inner: Inner, side: "input" | "output"): Json {
  const members = typeof def["shape"] === "function" ? Reflect.apply(def["shape"], undefined, []) : def["shape"];
  const fields = Object.entries(record(members));
  const required = fields.filter(([, field]) => !mayBeAbsent(field, side)).map(([name]) => name);
  const strict = def["unknownKeys"] === "strict" || nodeOf(def["catchall"]).kind === "never";
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(([name, field]) => [name, inner(field)])),
    ...(required.length === 0 ? {} : { required }),
    ...(strict && def["unknownKeys"] !== "strip" ? { additionalProperties: false } : {}),
  };
}

function literal(allowed: unknown): Json {
  const all = list(allowed);
  return all.length === 1 ? { const: all[0] } : { enum: all };
}

/** zod 3 formats that JSON Schema has a name for. */
const FORMATS: Readonly<Record<string, string>> = { email: "email", url: "uri", uuid: "uuid", datetime: "date-time" };

function stringBounds(node: Node): Json {
  const bounds: Json = {};
  for (const check of list(node.def["checks"]).map(record)) {
    const kind = textOf(check["kind"]);
    if (kind === "min") bounds["minLength"] = check["value"];
    else if (kind === "max") bounds["maxLength"] = check["value"];
    else if (kind === "regex" && check["regex"] instanceof RegExp) bounds["pattern"] = check["regex"].source;
    else if (FORMATS[kind] !== undefined) bounds["format"] = FORMATS[kind];
  }
  const { minimum, maximum, format } = node.bag;
  if (typeof minimum === "number") bounds["minLength"] = minimum;
  if (typeof maximum === "number") bounds["maxLength"] = maximum;
  if (typeof format === "string" && FORMATS[format] !== undefined) bounds["format"] = FORMATS[format];
  return bounds;
}

function numberShape({ def, bag }: Node): Json {
  const shown: Json = { type: "number" };
  for (const check of list(def["checks"]).map(record)) {
    const { kind, value, inclusive } = check;
    if (kind === "int") shown["type"] = "integer";
    else if (kind === "min") shown[inclusive === false ? "exclusiveMinimum" : "minimum"] = value;
    else if (kind === "max") shown[inclusive === false ? "exclusiveMaximum" : "maximum"] = value;
    else if (kind === "multipleOf") shown["multipleOf"] = value;
  }
  for (const bound of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
    const value = bag[bound];
    // The bounds of safe integers, which zod 4 adds to every integer, tell a model nothing.
    if (typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER) shown[bound] = value;
  }
  if (typeof bag["format"] === "string" && bag["format"].includes("int")) shown["type"] = "integer";
  return shown;
}

function lengths({ def, bag }: Node): Json {
  const exact = record(def["exactLength"])["value"];
  const least = exact ?? record(def["minLength"])["value"] ?? bag["minimum"];
  const most = exact ?? record(def["maxLength"])["value"] ?? bag["maximum"];
  return { ...(least === undefined ? {} : { minItems: least }), ...(most === undefined ? {} : { maxItems: most }) };
}

function defaultOf(value: unknown): unknown {
  return typeof value === "function" ? Reflect.apply(value, undefined, []) : value;
}

/** The values of an enum: of a list, or of a TypeScript enum, whose numbers lead back to their names. */
function values(entries: unknown): unknown[] {
  if (Array.isArray(entries)) return entries;
  const members = record(entries);
  const names = Object.keys(members).filter((name) => typeof members[String(members[name])] !== "number");
  return names.map((name) => members[name]);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function list(value: unknown): readonly unknown[] {
  if (value instanceof Map) return [...value.values()];
  return Array.isArray(value) ? value : [];
}

/** Members may be inherited getters, so the value itself is read, never a copy. */
function record(value: unknown): Members {
  const readable = (typeof value === "object" && value !== null) || typeof value === "function";
  return readable ? (value as Members) : {};
}
