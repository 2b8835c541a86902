// Gives an output schema the object root that every revision before 2026-07-28 demands.
import { isJsonObject } from "../jsonrpc/message.js";
import type { AnySchema } from "../protocol/tool.js";

/** What instances a schema can hold: `object` only, `other` only, or it may be `both`. */
type Kind = "object" | "other" | "both";

interface Search {
  readonly root: object;
  steps: number;
}

/** Subschemas looked at to tell the kind; schemas that refer to themselves twice would otherwise never be done. */
const MAX_STEPS = 256;

/**
 * A schema for what the codecs make of structured content: objects stay as they are, all else becomes `{ result: value }`.
 * Pointers inside the schema are rewritten when it moves.
 */
export function projectOutputSchema(schema: AnySchema): AnySchema {
  if (schema["type"] === "object") return schema;
  const kind = kindOf(schema, { root: schema, steps: 0 });
  if (kind === "object") return { type: "object", ...schema };
  const { $schema, ...body } = schema;
  const dialect = $schema === undefined ? {} : { $schema };
  if (kind === "other") {
    const result = moved(body, "#/properties/result");
    return { ...dialect, type: "object", properties: { result }, required: ["result"] };
  }
  const value = { $ref: "#/$defs/value" };
  return {
    ...dialect,
    type: "object",
    anyOf: [value, { properties: { result: value }, required: ["result"] }],
    $defs: { value: moved(body, "#/$defs/value") },
  };
}

function kindOf(schema: unknown, search: Search): Kind {
  if (!isJsonObject(schema) || search.steps++ > MAX_STEPS) return "both";
  const { type, enum: values, anyOf, oneOf, allOf, $ref } = schema;
  if (typeof type === "string") return type === "object" ? "object" : "other";
  if (Array.isArray(type)) return together(type.map((name) => (name === "object" ? "object" : "other")));
  if ("const" in schema) return kindOfValue(schema["const"]);
  if (Array.isArray(values)) return together(values.map(kindOfValue));
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) return together(alternatives.map((part) => kindOf(part, search)));
  if (Array.isArray(allOf)) return allOf.map((part) => kindOf(part, search)).find((kind) => kind !== "both") ?? "both";
  return typeof $ref === "string" ? kindOf(resolved($ref, search.root), search) : "both";
}

function kindOfValue(value: unknown): Kind {
  return isJsonObject(value) ? "object" : "other";
}

function together(kinds: readonly Kind[]): Kind {
  const [first = "both"] = kinds;
  return kinds.every((kind) => kind === first) ? first : "both";
}

/** What a pointer inside the document names, or undefined. */
function resolved(ref: string, root: object): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const token of ref.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isJsonObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/** Keywords whose value is data, not a schema. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required"]);
/** Keywords whose value names schemas. */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);
const REFERENCES: ReadonlySet<string> = new Set(["$ref", "$dynamicRef"]);

/** The schema as it must read when its root stands at `base`. A part with an `$id` is a document of its own and stays. */
function moved(schema: unknown, base: string): unknown {
  if (Array.isArray(schema)) return schema.map((part) => moved(part, base));
  if (!isJsonObject(schema) || startsDocument(schema["$id"])) return schema;
  const entries = Object.entries(schema).map(([keyword, value]) => [keyword, movedKeyword(keyword, value, base)]);
  return Object.fromEntries(entries);
}

function movedKeyword(keyword: string, value: unknown, base: string): unknown {
  if (DATA.has(keyword)) return value;
  if (MAPS.has(keyword) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, moved(part, base)]));
  }
  if (REFERENCES.has(keyword) && typeof value === "string") {
    return value === "#" || value.startsWith("#/") ? base + value.slice(1) : value;
  }
  return moved(value, base);
}

function startsDocument(id: unknown): boolean {
  return typeof id === "string" && !id.startsWith("#");
}
