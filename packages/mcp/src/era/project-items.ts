// Projects what lists show (tools, resources, templates, prompts) and who serves them.
import type { JsonObject } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { Prompt } from "../protocol/features/prompts.js";
import type { Implementation } from "../protocol/implementation.js";
import type { Resource, ResourceTemplate } from "../protocol/resource.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { ObjectSchema, Tool } from "../protocol/tool.js";
import { pick, pickAnnotated } from "./project-members.js";
import { projectOutputSchema } from "./project-output-schema.js";

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
