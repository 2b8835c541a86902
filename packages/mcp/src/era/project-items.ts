// Projects what lists show (tools, resources, templates, prompts) and who serves them.
import type { JsonObject } from "../jsonrpc/message.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { Prompt } from "../protocol/features/prompts.js";
import type { Annotations, Resource, ResourceTemplate } from "../protocol/features/resources.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { CallToolResult, Tool } from "../protocol/features/tools.js";
import type { ContentBlock } from "../protocol/content.js";
import type { DetailedTask } from "../protocol/extensions/tasks.js";

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
export interface Target {
  readonly revision: Revision;
  /** Undefined for the newest revision, whose shapes are those of the inside. */
  readonly fitting: Fitting | undefined;
}

export function projectTool({ revision, fitting }: Target, tool: Tool): JsonObject {
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
