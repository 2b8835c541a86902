// Projects each kind of result for a revision, and the items of lists. Results that need no change are returned as they are.
import type { ContentBlock, EmbeddedResource, ResourceLink } from "../protocol/content.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { DiscoverResult } from "../protocol/features/lifecycle.js";
import type { GetPromptResult, ListPromptsResult, Prompt, PromptMessage } from "../protocol/features/prompts.js";
import type {
  Annotations,
  ListResourceTemplatesResult,
  ListResourcesResult,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplate,
} from "../protocol/features/resources.js";
import type { CreateTaskResult, DetailedTask } from "../protocol/extensions/tasks.js";
import type { CallToolResult, ListToolsResult, Tool } from "../protocol/features/tools.js";
import type { ResultKind } from "../protocol/method.js";
import { isSpecifiedNotification } from "../protocol/revisions/newest.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { jsonPieces, jsonText, type JsonObject } from "../jsonrpc/message.js";

/** What revisions before the newest need besides having members left out. */
export interface Fitting {
  /** A tool as a list shows it; `copy` has the members that the revision knows. */
  tool(revision: Revision, tool: Tool, copy: JsonObject): JsonObject;
  /** What stands for a block whose type the revision lacks. */
  block(block: ContentBlock): ContentBlock;
  /** A result whose structured content is as the revision can hold it. */
  structured(revision: Revision, result: CallToolResult): CallToolResult;
  /** A task, where a revision writes it in its own way. */
  task(task: DetailedTask): object;
}

/** Whom something is projected for. */
export interface Addressee {
  readonly revision: Revision;
  /** Undefined for the newest revision, whose shapes are those of the inside. */
  readonly fitting: Fitting | undefined;
}

type Projection = (to: Addressee, result: never) => object;

const PROJECTIONS: { readonly [kind in ResultKind]: Projection } = {
  plain: unchanged,
  empty: unchanged,
  complete: unchanged,
  // Only the handshake era has it, whose codec projects it.
  initialize: unchanged,
  discover: ({ revision }, result: DiscoverResult) => ({
    ...result,
    capabilities: projectCapabilities(revision, result.capabilities),
  }),
  tools: (to, result: ListToolsResult) => ({
    ...result,
    tools: result.tools.map((tool) => projectTool(to, tool)),
  }),
  resources: ({ revision }, result: ListResourcesResult) => ({
    ...result,
    resources: result.resources.map((resource) => projectResource(revision, resource)),
  }),
  templates: ({ revision }, result: ListResourceTemplatesResult) => ({
    ...result,
    resourceTemplates: result.resourceTemplates.map((template) => projectTemplate(revision, template)),
  }),
  prompts: ({ revision }, result: ListPromptsResult) => ({
    ...result,
    prompts: result.prompts.map((prompt) => projectPrompt(revision, prompt)),
  }),
  callTool: (to, result: CallToolResult | CreateTaskResult) =>
    isTask(result) ? projectCreatedTask(to, result) : projectCallTool(to, result),
  task: projectTask,
  tasks: (to, result: { tasks: DetailedTask[] }) => ({
    ...result,
    tasks: result.tasks.map((task) => projectTask(to, task)),
  }),
  readResource: ({ revision }, result: ReadResourceResult) => {
    const contents = mapChanged(result.contents, (each) => projectResourceContents(revision, each));
    return contents === result.contents ? result : { ...result, contents };
  },
  getPrompt: (to, result: GetPromptResult) => {
    const messages = mapChanged(result.messages, (each) => projectPromptMessage(to, each));
    return messages === result.messages ? result : { ...result, messages };
  },
};

/** The result as a peer of the revision may see it, but for what each era adds to or takes from every result. */
export function projectResult(to: Addressee, kind: ResultKind, result: object): object {
  return PROJECTIONS[kind](to, result as never);
}

function projectCallTool(to: Addressee, result: CallToolResult): CallToolResult {
  const { revision, fitting } = to;
  const complete = result.content === undefined ? { ...result, content: missingContent(result) } : result;
  const fitted = fitting === undefined ? complete : fitting.structured(revision, complete);
  const content = projectContent(to, fitted.content);
  return content === fitted.content ? fitted : { ...fitted, content: content as ContentBlock[] };
}

function isTask(result: CallToolResult | CreateTaskResult): result is CreateTaskResult {
  return (result as CreateTaskResult).resultType === "task";
}

/** Results that come from elsewhere sometimes lack `content`, which every revision demands. */
function missingContent({ structuredContent }: CallToolResult): ContentBlock[] {
  return structuredContent === undefined ? [] : [{ type: "text", text: jsonText(structuredContent) }];
}

function unchanged(_to: Addressee, result: object): object {
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

export function projectContent(to: Addressee, content: readonly ContentBlock[]): readonly ContentBlock[] {
  for (const block of content) {
    if (block.type !== "text" || !isBare(block)) return mapChanged(content, (each) => projectBlock(to, each));
  }
  return content;
}

export function projectBlock(to: Addressee, block: ContentBlock): ContentBlock {
  const { revision, fitting } = to;
  const { fields } = revision;
  if (fitting !== undefined && !revision.content.has(block.type)) return projectBlock(to, fitting.block(block));
  switch (block.type) {
    case "text":
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.text));
    case "image":
    case "audio":
      return isBare(block) ? block : asBlock(pickAnnotated(revision, block, fields.media));
    case "resource":
      return projectEmbedded(revision, nestResource(block));
    case "resource_link":
      return projectLink(revision, block);
    default:
      throw unknownBlock(block);
  }
}

export function unknownBlock(block: { readonly type: unknown }): TypeError {
  return new TypeError(`Unknown content block type: ${String(block.type)}`);
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

function projectLink(revision: Revision, link: ResourceLink): ContentBlock {
  if (isBare(link) && link.icons === undefined) return link;
  return asBlock({ type: link.type, ...pickAnnotated(revision, link, revision.fields.resource) });
}

function projectPromptMessage(to: Addressee, message: PromptMessage): PromptMessage {
  const content = projectBlock(to, message.content);
  return content === message.content ? message : { ...message, content };
}

/** A picked copy has the members its source had, so it is what its source was. */
function asBlock(copy: JsonObject): ContentBlock {
  return copy as unknown as ContentBlock;
}

/** A task as `tasks/get` and the notifications show it. */
function projectTask(to: Addressee, task: DetailedTask): object {
  if (to.fitting !== undefined) return to.fitting.task(task);
  if (task.result === undefined) return task;
  return { ...task, result: projectCallTool(to, task.result as unknown as CallToolResult) };
}

/** The answer that announces a task. */
function projectCreatedTask({ fitting }: Addressee, created: CreateTaskResult): object {
  return fitting === undefined ? created : { task: fitting.task(created) };
}

// Brings embedded resources into one shape: nested, and with a MIME type.

/** The flat shape some programs write: contents beside `type` instead of under `resource`. */
export interface FlatResource {
  type: "resource";
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** Returns the block itself when it is nested and names its MIME type, or a copy that does and is. */
export function nestResource(block: EmbeddedResource | FlatResource): EmbeddedResource {
  if (!("resource" in block)) {
    const { type, uri, mimeType, text, blob, ...rest } = block;
    const named = mimeType === undefined ? { uri } : { uri, mimeType };
    const contents = blob === undefined ? { ...named, text: text ?? "" } : { ...named, blob };
    return { type, resource: withMimeType(contents), ...rest };
  }
  const resource = withMimeType(block.resource);
  return resource === block.resource ? block : { ...block, resource };
}

function withMimeType(contents: ResourceContents): ResourceContents {
  if (contents.mimeType !== undefined) return contents;
  return { ...contents, mimeType: "text" in contents ? "text/plain" : "application/octet-stream" };
}

// Projects what a server notifies its client of.

/** Params of a notification, or undefined when the revision lacks it. What the specification does not know passes as it is. */
export function projectNotification(to: Addressee, method: string, params: object): object | undefined {
  const { serverNotifications, fields } = to.revision;
  if (!serverNotifications.has(method)) return isSpecifiedNotification(method) ? undefined : params;
  switch (method) {
    case "notifications/progress":
      return pick(params, fields.progress);
    case "notifications/tasks":
    case "notifications/tasks/status":
      return projectTask(to, params as DetailedTask);
    default:
      return params;
  }
}

// Projects what lists show (tools, resources, templates, prompts) and who serves them.

export function projectTool({ revision, fitting }: Addressee, tool: Tool): JsonObject {
  const { fields } = revision;
  const copy = pick(tool, fields.tool);
  const { inputSchema, annotations } = tool;
  copy["inputSchema"] = inputSchema.type === "object" ? inputSchema : { ...(inputSchema as object), type: "object" };
  if (annotations !== undefined && "annotations" in copy)
    copy["annotations"] = pick(annotations, fields.toolAnnotations);
  return fitting === undefined ? copy : fitting.tool(revision, tool, copy);
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
