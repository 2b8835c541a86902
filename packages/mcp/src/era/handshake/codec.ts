// Writes for the revisions that begin with `initialize`: no result types, no cache hints, their own error numbers.
import { ErrorCode, type RpcError } from "../../jsonrpc/errors.js";
import {
  asOneText,
  jsonPieces,
  jsonText,
  type ErrorObject,
  isJsonObject,
  type JsonObject,
} from "../../jsonrpc/message.js";
import { McpErrorCode, META } from "../../protocol/meta.js";
import type { ElicitRequestURLParams } from "../../protocol/features/elicitation.js";
import type { MethodRecord } from "../../protocol/method.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import type { Codec } from "../codec.js";
import type { DetailedTask, Task } from "../../protocol/extensions/tasks.js";
import type { InitializeResult } from "../../protocol/features/lifecycle.js";
import type { AudioContent, ContentBlock, EmbeddedResource, ResourceLink } from "../../protocol/content.js";
import type { AnySchema, CallToolResult, ObjectSchema, Tool } from "../../protocol/features/tools.js";
import { projectQuestion } from "../project-question.js";
import {
  type Fitting,
  plainToolPieces,
  projectCapabilities,
  projectImplementation,
  projectNotification,
  projectResult,
  unknownBlock,
} from "../project-result.js";

/** Members of results that only the stateless era has. Old clients read empty results strictly and choke on them. */
const STATELESS_MEMBERS = ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"];

/** Codes only the stateless era has, and what stands for them. */
const RENUMBERED: ReadonlyMap<number, number> = new Map([
  [McpErrorCode.HeaderMismatch, ErrorCode.InternalError],
  [McpErrorCode.MissingRequiredClientCapability, ErrorCode.InvalidParams],
  [McpErrorCode.UnsupportedProtocolVersion, ErrorCode.InvalidParams],
]);

/** The codec of one revision of the handshake era. */
export class HandshakeCodec implements Codec {
  readonly revision: Revision;
  readonly fitting: Fitting = FITTING;

  constructor(revision: Revision) {
    this.revision = revision;
  }

  resultText(record: MethodRecord, result: object): string {
    return asOneText(this.resultPieces(record, result));
  }

  resultPieces(record: MethodRecord, result: object): string | readonly string[] {
    if (record.result === "empty") return "{}";
    const plain = record.result === "callTool" ? plainToolPieces(result) : undefined;
    if (plain !== undefined) return plain;
    if ((result as JsonObject)["resultType"] === "input_required") {
      throw new TypeError(
        `${record.name} answered input_required to a ${this.revision.date} client, which cannot read it`,
      );
    }
    const projected =
      record.result === "initialize"
        ? projectInitialize(this.revision, result as InitializeResult)
        : projectResult(this, record.result, result);
    return jsonPieces(withoutStateless(projected));
  }

  error(error: RpcError): ErrorObject {
    const { code, message, data } = error;
    if (code === ErrorCode.InvalidParams && namesResource(data)) {
      return { code: this.revision.rules.resourceNotFound, message, data };
    }
    if (code === McpErrorCode.UrlElicitationRequired) return this.#urlsRequired(error);
    const other = RENUMBERED.get(code);
    return other === undefined ? error.toObject() : { ...error.toObject(), code: other };
  }

  notification(method: string, params: object): object | undefined {
    const projected = projectNotification(this, method, params);
    return projected && withoutSubscription(projected);
  }

  /** Where the code does not exist, the pages to open are at least named in the message. */
  #urlsRequired(error: RpcError): ErrorObject {
    const elicitations = elicitationsOf(error.data);
    if (this.revision.rules.urlElicitationRequired) {
      const projected = elicitations.map((each) => projectQuestion(this, "elicitation/create", each));
      return { ...error.toObject(), data: { ...(error.data as object), elicitations: projected } };
    }
    const urls = elicitations.map((each) => each.url).join(", ");
    return { code: ErrorCode.InternalError, message: urls === "" ? error.message : `${error.message}: ${urls}` };
  }
}

function withoutStateless(result: object): object {
  if (!STATELESS_MEMBERS.some((member) => member in result)) return result;
  const copy: JsonObject = { ...result };
  for (const member of STATELESS_MEMBERS) delete copy[member];
  return copy;
}

function withoutSubscription(params: object): object {
  const meta = (params as JsonObject)["_meta"];
  if (!isJsonObject(meta) || !(META.subscriptionId in meta)) return params;
  const { _meta, ...rest } = params as JsonObject;
  const { [META.subscriptionId]: _, ...kept } = meta;
  return Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}

/** Only "no such resource" carries `data.uri`; everything else that is wrong with params carries a path. */
function namesResource(data: unknown): boolean {
  return isJsonObject(data) && typeof data["uri"] === "string";
}

function elicitationsOf(data: unknown): readonly ElicitRequestURLParams[] {
  const list = isJsonObject(data) ? data["elicitations"] : undefined;
  return Array.isArray(list) ? list : [];
}

function projectInitialize(revision: Revision, result: InitializeResult): object {
  return {
    ...result,
    capabilities: projectCapabilities(revision, result.capabilities),
    serverInfo: projectImplementation(revision, result.serverInfo),
  };
}

// Fits the shapes of the inside, which are those of the newest revision, to what older ones had for the same.

const FITTING: Fitting = { tool: fitTool, block: fitBlock, structured: fitStructured, task: requestedTask };

function fitTool({ fields }: Revision, tool: Tool, copy: JsonObject): JsonObject {
  copy["inputSchema"] = objectProperties(copy["inputSchema"] as ObjectSchema);
  // Where a tool has annotations but no title of its own, the title moves into them.
  if (fields.tool.includes("annotations") && !fields.tool.includes("title") && tool.title !== undefined) {
    const annotations = (copy["annotations"] ??= {}) as JsonObject;
    annotations["title"] ??= tool.title;
  }
  if (copy["outputSchema"] !== undefined && tool.outputSchema !== undefined)
    copy["outputSchema"] = objectProperties(projectOutputSchema(tool.outputSchema) as ObjectSchema);
  return copy;
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

function fitBlock(block: ContentBlock): ContentBlock {
  if (block.type === "audio") return audioAsResource(block);
  if (block.type === "resource_link") return linkAsText(block);
  throw unknownBlock(block);
}

/** Revisions without links get the name, the URI and the description as text. */
function linkAsText(link: ResourceLink): ContentBlock {
  const description = link.description === undefined ? "" : `\n${link.description}`;
  return { type: "text", text: `${link.title ?? link.name}: ${link.uri}${description}` };
}

/** The URI is made up: nothing can be read under it. */
function audioAsResource({ type: _, data, mimeType, ...rest }: AudioContent): EmbeddedResource {
  return { type: "resource", resource: { uri: "embedded:audio", mimeType, blob: data }, ...rest };
}

/** 2025-11-25: a call whose result is an error has failed, and only `tasks/result` shows results. */
function requestedTask(task: DetailedTask): JsonObject {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = failedByResult(task);
  return {
    taskId,
    status,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    ...(pollIntervalMs === undefined ? {} : { pollInterval: pollIntervalMs }),
  };
}

function failedByResult(task: DetailedTask): Task {
  if (task.status !== "completed" || task.result?.["isError"] !== true) return task;
  return {
    ...task,
    status: "failed",
    statusMessage: task.statusMessage ?? "The tool reported an error: see its result",
  };
}

// Fits structured content to revisions that want it to be an object, or have never heard of it.

/** The result with `structuredContent` as the revision can hold it; the same object when it can hold it as it is. */
function fitStructured(revision: Revision, result: CallToolResult): CallToolResult {
  const value = result.structuredContent;
  if (value === undefined) return result;
  switch (revision.rules.structuredContent) {
    case "any":
      return result;
    case "object":
      return isJsonObject(value) ? result : { ...result, structuredContent: { result: value } };
    case "none": {
      const { structuredContent: _, ...rest } = result;
      return { ...rest, content: withJson(result.content, jsonText(value)) };
    }
  }
}

/** The content, with a text block that holds `json`. */
function withJson(content: readonly ContentBlock[], json: string): ContentBlock[] {
  const told = content.some((block) => block.type === "text" && saysJson(block.text, json));
  return told ? [...content] : [...content, { type: "text", text: json }];
}

/** Whether `text` is the same JSON value, however it is spaced. */
function saysJson(text: string, json: string): boolean {
  if (text === json) return true;
  if (text.length < json.length) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch {
    return false;
  }
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
