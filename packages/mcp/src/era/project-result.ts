// Projects each kind of result for a revision. Results that need no change are returned as they are.
import {
  type AudioContent,
  type ContentBlock,
  type EmbeddedResource,
  type ResourceLink,
  type SamplingMessageContentBlock,
  type ToolResultContent,
  blocksOf,
  nestResource,
} from "../protocol/content.js";
import type { DiscoverResult, InitializeResult } from "../protocol/features/lifecycle.js";
import type { GetPromptResult, ListPromptsResult, PromptMessage } from "../protocol/features/prompts.js";
import type {
  ListResourceTemplatesResult,
  ListResourcesResult,
  ReadResourceResult,
  ResourceContents,
} from "../protocol/features/resources.js";
import type { CreateTaskResult, DetailedTask, Task } from "../protocol/extensions/tasks.js";
import type { CallToolResult, ListToolsResult } from "../protocol/features/tools.js";
import type { ResultKind } from "../protocol/method.js";
import type { ElicitationRules, Revision } from "../protocol/revisions/revision.js";
import {
  pick,
  pickAnnotated,
  projectCapabilities,
  projectImplementation,
  projectPrompt,
  projectResource,
  projectTemplate,
  projectTool,
} from "./project-items.js";
import { jsonPieces, jsonText, type JsonObject, isJsonObject } from "../jsonrpc/message.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import { LocalError } from "../jsonrpc/errors.js";
import {
  type ElicitRequestFormParams,
  type ElicitRequestParams,
  type ElicitRequestURLParams,
  optionKey,
  type PrimitiveSchemaDefinition,
  type RequestedSchema,
  type TitledChoice,
} from "../protocol/features/elicitation.js";
import type { CreateMessageRequestParams, SamplingMessage } from "../protocol/features/sampling.js";

type Projection = (revision: Revision, result: never) => object;

const PROJECTIONS: { readonly [kind in ResultKind]: Projection } = {
  plain: unchanged,
  empty: unchanged,
  complete: unchanged,
  initialize: (revision, result: InitializeResult) => ({
    ...result,
    capabilities: projectCapabilities(revision, result.capabilities),
    serverInfo: projectImplementation(revision, result.serverInfo),
  }),
  discover: (revision, result: DiscoverResult) => ({
    ...result,
    capabilities: projectCapabilities(revision, result.capabilities),
  }),
  tools: (revision, result: ListToolsResult) => ({
    ...result,
    tools: result.tools.map((tool) => projectTool(revision, tool)),
  }),
  resources: (revision, result: ListResourcesResult) => ({
    ...result,
    resources: result.resources.map((resource) => projectResource(revision, resource)),
  }),
  templates: (revision, result: ListResourceTemplatesResult) => ({
    ...result,
    resourceTemplates: result.resourceTemplates.map((template) => projectTemplate(revision, template)),
  }),
  prompts: (revision, result: ListPromptsResult) => ({
    ...result,
    prompts: result.prompts.map((prompt) => projectPrompt(revision, prompt)),
  }),
  callTool: (revision, result: CallToolResult | CreateTaskResult) =>
    isTask(result) ? projectCreatedTask(revision, result) : projectCallTool(revision, result),
  task: (revision, task: DetailedTask) => projectTask(revision, task, projectCallTool),
  tasks: (revision, result: { tasks: DetailedTask[] }) => ({
    ...result,
    tasks: result.tasks.map((task) => projectTask(revision, task, projectCallTool)),
  }),
  readResource: (revision, result: ReadResourceResult) => {
    const contents = mapChanged(result.contents, (each) => projectResourceContents(revision, each));
    return contents === result.contents ? result : { ...result, contents };
  },
  getPrompt: (revision, result: GetPromptResult) => {
    const messages = mapChanged(result.messages, (each) => projectPromptMessage(revision, each));
    return messages === result.messages ? result : { ...result, messages };
  },
};

/** The result as a peer of the revision may see it, but for what each era adds to or takes from every result. */
export function projectResult(revision: Revision, kind: ResultKind, result: object): object {
  return PROJECTIONS[kind](revision, result as never);
}

function projectCallTool(revision: Revision, result: CallToolResult): CallToolResult {
  const complete = result.content === undefined ? { ...result, content: missingContent(result) } : result;
  const fitting = projectStructured(revision, complete);
  const content = projectContent(revision, fitting.content);
  return content === fitting.content ? fitting : { ...fitting, content: content as ContentBlock[] };
}

function isTask(result: CallToolResult | CreateTaskResult): result is CreateTaskResult {
  return (result as CreateTaskResult).resultType === "task";
}

/** Results that come from elsewhere sometimes lack `content`, which every revision demands. */
function missingContent({ structuredContent }: CallToolResult): ContentBlock[] {
  return structuredContent === undefined ? [] : withJson([], jsonText(structuredContent));
}

function unchanged(_revision: Revision, result: object): object {
  return result;
}

// Writes the commonest tool result, one text, without going through the general serialiser: a tenth of a small call's cost.

/**
 * The JSON of a tool result that is one text block and perhaps `isError`, and nothing else, in pieces where it is long: every
 * revision reads the same.
 * Undefined for any other result. `head`: members that come first, each followed by a comma: to put them into a long text later
 * would copy it.
 */
export function plainToolPieces(result: object, head = ""): string | readonly string[] | undefined {
  if (!isPlain(result)) return undefined;
  const { content, isError } = result;
  for (const key in result) if (key !== "content" && key !== "isError") return undefined;
  const text = Array.isArray(content) && content.length === 1 ? plainText(content[0]) : undefined;
  if (text === undefined) return undefined;
  if (isError !== undefined && typeof isError !== "boolean") return undefined;
  const tail = isError === undefined ? "]}" : `],"isError":${isError}}`;
  if (text.length < LONG) return `{${head}"content":[{"type":"text","text":${JSON.stringify(text)}}${tail}`;
  const block = jsonPieces((content as readonly unknown[])[0]);
  return [`{${head}"content":[`, ...(typeof block === "string" ? [block] : block), tail];
}

/** Texts from this length on are not asOneText with what stands around them: that would copy them. */
const LONG = 64 * 1024;

function plainText(block: unknown): string | undefined {
  if (!isPlain(block) || block["type"] !== "text") return undefined;
  for (const key in block) if (key !== "type" && key !== "text") return undefined;
  const text = block["text"];
  return typeof text === "string" ? text : undefined;
}

/** Whether this is an object literal: one of a class may have a `toJSON` of its own. */
function isPlain(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

// Projects content blocks. What needs no change is returned as it is, so that plain answers are never copied.

/** Maps `items`, and returns the very same array when nothing changed. */
function mapChanged<T>(items: readonly T[], map: (item: T) => T): readonly T[] {
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as T;
    const first = map(item);
    if (first !== item) return [...items.slice(0, i), first, ...items.slice(i + 1).map(map)];
  }
  return items;
}

function projectContent(revision: Revision, content: readonly ContentBlock[]): readonly ContentBlock[] {
  for (const block of content) {
    if (block.type !== "text" || !isBare(block)) return mapChanged(content, (each) => projectBlock(revision, each));
  }
  return content;
}

function projectBlock(revision: Revision, block: ContentBlock): ContentBlock {
  const { fields } = revision;
  switch (block.type) {
    case "text":
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.text));
    case "image":
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.media));
    case "audio":
      if (!revision.content.has("audio")) return projectBlock(revision, audioAsResource(block));
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.media));
    case "resource":
      return projectEmbedded(revision, nestResource(block));
    case "resource_link":
      return projectLink(revision, block);
    default:
      throw new TypeError(`Unknown content block type: ${String((block as { type: unknown }).type)}`);
  }
}

/** Whether a block has none of the members that some revision lacks. */
function isBare(block: { annotations?: unknown; _meta?: unknown }): boolean {
  return block.annotations === undefined && block._meta === undefined;
}

function projectEmbedded(revision: Revision, block: EmbeddedResource): ContentBlock {
  const resource = projectResourceContents(revision, block.resource);
  if (isBare(block)) return resource === block.resource ? block : { ...block, resource };
  return asBlock({ ...pickAnnotated(revision, block, revision.fields.embeddedResource), resource });
}

function projectResourceContents(revision: Revision, contents: ResourceContents): ResourceContents {
  return contents._meta === undefined
    ? contents
    : (pick(contents, revision.fields.resourceContents) as unknown as ResourceContents);
}

/** Revisions without links get the name, the URI and the description as text. */
function projectLink(revision: Revision, link: ResourceLink): ContentBlock {
  if (revision.content.has("resource_link")) {
    if (isBare(link) && link.icons === undefined) return link;
    return asBlock({ type: link.type, ...pickAnnotated(revision, link, revision.fields.resource) });
  }
  const description = link.description === undefined ? "" : `\n${link.description}`;
  return { type: "text", text: `${link.title ?? link.name}: ${link.uri}${description}` };
}

/** The URI is made up: nothing can be read under it. */
function audioAsResource({ type: _, data, mimeType, ...rest }: AudioContent): EmbeddedResource {
  return { type: "resource", resource: { uri: "embedded:audio", mimeType, blob: data }, ...rest };
}

function projectPromptMessage(revision: Revision, message: PromptMessage): PromptMessage {
  const content = projectBlock(revision, message.content);
  return content === message.content ? message : { ...message, content };
}

/** A picked copy has the members its source had, so it is what its source was. */
function asBlock(copy: JsonObject): ContentBlock {
  return copy as unknown as ContentBlock;
}

// Projects tasks: the revision in which clients ask for them names some members differently and shows less at a look.

/** A task as `tasks/get` and the notifications show it. `projectCall` projects the result it may hold. */
function projectTask(
  revision: Revision,
  task: DetailedTask,
  projectCall: (revision: Revision, result: CallToolResult) => object,
): object {
  if (revision.rules.tasks !== "directed") return requestedTask(task);
  if (task.result === undefined) return task;
  return { ...task, result: projectCall(revision, task.result as unknown as CallToolResult) };
}

/** The answer that announces a task. */
function projectCreatedTask(revision: Revision, created: CreateTaskResult): object {
  return revision.rules.tasks === "directed" ? created : { task: requestedTask(created) };
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

// Projects what a server notifies its client of.

/** Every notification the specification knows; others are a program's own and pass as they are. */
const KNOWN: ReadonlySet<string> = new Set(REVISIONS.flatMap((revision) => [...revision.serverNotifications]));

/** Params of a notification, or undefined when the revision lacks it. */
export function projectNotification(revision: Revision, method: string, params: object): object | undefined {
  if (!revision.serverNotifications.has(method)) return KNOWN.has(method) ? undefined : params;
  switch (method) {
    case "notifications/progress":
      return pick(params, revision.fields.progress);
    case "notifications/tasks":
      return projectResult(revision, "task", params);
    case "notifications/tasks/status":
      return requestedTask(params as DetailedTask);
    default:
      return params;
  }
}

// Fits structured content to revisions that want it to be an object, or have never heard of it.

/** The result with `structuredContent` as the revision can hold it; the same object when it can hold it as it is. */
function projectStructured(revision: Revision, result: CallToolResult): CallToolResult {
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

// Projects what a server asks its client: forms, pages to open, completions of the client's model, roots.

/** Params of a question. Throws a LocalError with code `NOT_EXPRESSIBLE` when the revision cannot put it. */
export function projectQuestion(revision: Revision, method: string, params: object): object {
  if (!revision.serverRequests.has(method)) throw notExpressible(revision, `there is no ${method}`);
  switch (method) {
    case "elicitation/create":
      return projectElicitation(revision, params as ElicitRequestParams);
    case "sampling/createMessage":
      return projectSampling(revision, params as CreateMessageRequestParams);
    default:
      return params;
  }
}

function projectElicitation(revision: Revision, params: ElicitRequestParams): object {
  return params.mode === "url" ? projectUrl(revision, params) : projectFormParams(revision, params);
}

function projectUrl(revision: Revision, params: ElicitRequestURLParams): object {
  if (!revision.elicitation.url) throw notExpressible(revision, "a person cannot be sent to a page");
  const { elicitationId, ...rest } = params;
  return revision.elicitation.elicitationId ? { ...rest, elicitationId: elicitationId ?? crypto.randomUUID() } : rest;
}

function projectFormParams({ elicitation }: Revision, params: ElicitRequestFormParams): object {
  const { mode, ...rest } = params;
  const requestedSchema = projectForm(elicitation, params.requestedSchema);
  return elicitation.mode && mode !== undefined ? { mode, ...rest, requestedSchema } : { ...rest, requestedSchema };
}

function notExpressible({ date }: Revision, what: string): LocalError {
  return new LocalError("NOT_EXPRESSIBLE", `The client speaks ${date}, in which ${what}`);
}

// Projects a form for clients whose revision knows fewer kinds of fields.

/** The form with the fields the revision has; the same object when it has them all. */
function projectForm(rules: ElicitationRules, form: RequestedSchema): RequestedSchema {
  if (rules.arrays && rules.titledEnums && rules.allDefaults) return form;
  const properties: RequestedSchema["properties"] = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(form.properties)) {
    const fields = field.type === "array" ? oneSwitchEach(name, field) : { [name]: plainField(field) };
    Object.assign(properties, fields);
    if (form.required?.includes(name)) required.push(...Object.keys(fields));
  }
  return { type: "object", properties, ...(form.required && { required }) };
}

/** Titles travel as `enumNames`; defaults stay on booleans only. */
function plainField(field: PrimitiveSchemaDefinition): PrimitiveSchemaDefinition {
  if (field.type === "boolean") return field;
  const { default: _, ...rest } = field;
  if (!("oneOf" in rest)) return rest;
  const { oneOf, ...described } = rest;
  return { ...described, enum: oneOf.map((choice) => choice.const), enumNames: oneOf.map((choice) => choice.title) };
}

/** A field of several choices becomes a switch for each choice; `readAnswer` folds them back. */
function oneSwitchEach(
  name: string,
  field: Extract<PrimitiveSchemaDefinition, { type: "array" }>,
): RequestedSchema["properties"] {
  const chosen = field.default ?? [];
  const heading = field.title ?? name;
  const description = field.description === undefined ? {} : { description: field.description };
  const switches = choicesOf(field.items).map(({ const: value, title }) => [
    optionKey(name, value),
    { type: "boolean", title: `${heading}: ${title}`, ...description, default: chosen.includes(value) },
  ]);
  return Object.fromEntries(switches) as RequestedSchema["properties"];
}

function choicesOf(items: { enum: readonly string[] } | { anyOf: readonly TitledChoice[] }): readonly TitledChoice[] {
  return "anyOf" in items ? items.anyOf : items.enum.map((value) => ({ const: value, title: value }));
}

// Projects a sampling request: tools, several blocks in one message and audio came later than sampling itself.

/** Params of `sampling/createMessage`. Throws a LocalError with code `NOT_EXPRESSIBLE` when tools are used where there are none. */
function projectSampling(revision: Revision, params: CreateMessageRequestParams): JsonObject {
  const { tools, toolChoice } = params;
  if ((tools !== undefined || toolChoice !== undefined) && !revision.sampling.tools) throw toolsUnknown(revision);
  const copy = pick(params, revision.fields.createMessage);
  copy["messages"] = params.messages.flatMap((message) => projectMessage(revision, message));
  if (tools !== undefined) copy["tools"] = tools.map((tool) => projectTool(revision, tool));
  return copy;
}

/** Where a message holds one block only, several become messages of the same role in a row. */
function projectMessage(revision: Revision, message: SamplingMessage): JsonObject[] {
  const { contentArrays } = revision.sampling;
  const blocks = blocksOf(message.content).map((block) => projectSamplingBlock(revision, block));
  const rest = pick(message, revision.fields.samplingMessage);
  if (contentArrays) return [{ ...rest, content: Array.isArray(message.content) ? blocks : blocks[0] }];
  return blocks.map((content) => ({ ...rest, content }));
}

function projectSamplingBlock(revision: Revision, block: SamplingMessageContentBlock): unknown {
  switch (block.type) {
    case "tool_use":
      if (!revision.sampling.tools) throw toolsUnknown(revision);
      return block;
    case "tool_result":
      if (!revision.sampling.tools) throw toolsUnknown(revision);
      return projectToolResult(revision, block);
    case "audio":
      if (!revision.sampling.audio)
        return { type: "text", text: `[audio, ${block.mimeType}: cannot be sent to this client]` };
      return projectBlock(revision, block);
    default:
      return projectBlock(revision, block);
  }
}

function projectToolResult(revision: Revision, block: ToolResultContent): object {
  const fitting = projectStructured(revision, block);
  return { ...fitting, content: projectContent(revision, fitting.content) };
}

function toolsUnknown({ date }: Revision): LocalError {
  return new LocalError("NOT_EXPRESSIBLE", `The client speaks ${date}, in which sampling has no tools`);
}
