// Projects what lists show (tools, resources, templates, prompts) and who serves them.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { Prompt } from "../protocol/features/prompts.js";
import type { Annotations, Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { AnySchema, ObjectSchema, Tool } from "../protocol/features/tools.js";

export function projectTool(revision: Revision, tool: Tool): JsonObject {
  const { fields, era } = revision;
  const copy = pick(tool, fields.tool);
  copy["inputSchema"] = projectInputSchema(tool.inputSchema, era === "handshake");
  const annotations = projectToolAnnotations(revision, tool);
  if (annotations !== undefined) copy["annotations"] = annotations;
  if (copy["outputSchema"] !== undefined && tool.outputSchema !== undefined && era === "handshake") {
    copy["outputSchema"] = objectProperties(projectOutputSchema(tool.outputSchema) as ObjectSchema);
  }
  return copy;
}

/** Where a tool has annotations but no title of its own, the title moves into them. */
function projectToolAnnotations({ fields }: Revision, tool: Tool): JsonObject | undefined {
  if (!fields.tool.includes("annotations")) return undefined;
  const title = fields.tool.includes("title") ? undefined : tool.title;
  if (tool.annotations === undefined) return title === undefined ? undefined : { title };
  const copy = pick(tool.annotations, fields.toolAnnotations);
  if (title !== undefined) copy["title"] ??= title;
  return copy;
}

function projectInputSchema(schema: ObjectSchema, strict: boolean): object {
  const typed = schema.type === "object" ? schema : { ...schema, type: "object" as const };
  return strict ? objectProperties(typed) : typed;
}

/** The handshake revisions want each property's schema to be an object, so `true` and `false` are spelt out. */
function objectProperties(schema: ObjectSchema): ObjectSchema {
  const { properties } = schema;
  if (properties === undefined || !Object.values(properties).some((value) => typeof value === "boolean")) return schema;
  const spelt = Object.entries(properties).map(([name, value]) => [name, spellOut(value)]);
  return { ...schema, properties: Object.fromEntries(spelt) };
}

function spellOut(schema: unknown): unknown {
  if (schema === true) return {};
  return schema === false ? { not: {} } : schema;
}

export function projectResource(revision: Revision, resource: Resource): JsonObject {
  return pickAnnotated(revision, resource, revision.fields.resource);
}

export function projectTemplate(revision: Revision, template: ResourceTemplate): JsonObject {
  return pickAnnotated(revision, template, revision.fields.resourceTemplate);
}

export function projectPrompt({ fields }: Revision, prompt: Prompt): JsonObject {
  const copy = pick(prompt, fields.prompt);
  if (prompt.arguments !== undefined) {
    copy["arguments"] = prompt.arguments.map((argument) => pick(argument, fields.promptArgument));
  }
  return copy;
}

export function projectImplementation({ fields }: Revision, implementation: Implementation): JsonObject {
  return pick(implementation, fields.implementation);
}

export function projectCapabilities(revision: Revision, capabilities: ServerCapabilities): JsonObject {
  return pick(capabilities, [...revision.serverCapabilities]);
}

// Copies the members a revision knows, and no others.

/** A new object with those of `members` that `source` has, in their order. */
export function pick(source: object, members: readonly string[]): JsonObject {
  const from = source as JsonObject;
  const copy: JsonObject = {};
  for (const member of members) {
    const value = from[member];
    if (value !== undefined) copy[member] = value;
  }
  return copy;
}

/** Like `pick`, and the copy's `annotations` are projected too. */
export function pickAnnotated(
  revision: Revision,
  source: { annotations?: Annotations },
  members: readonly string[],
): JsonObject {
  const copy = pick(source, members);
  if (source.annotations !== undefined && "annotations" in copy) {
    copy["annotations"] = pick(source.annotations, revision.fields.annotations);
  }
  return copy;
}

// Gives an output schema the object root that every revision before 2026-07-28 demands.

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
function projectOutputSchema(schema: AnySchema): AnySchema {
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
