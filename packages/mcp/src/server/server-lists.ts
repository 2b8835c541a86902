// The four lists of a server, and who may see what in them.
import type { Call } from "../endpoint/call.js";
import type { ServerCore } from "./core.js";
import { List } from "./lists.js";
import type { PromptEntry } from "./prompt.js";
import type { ResourceEntry, TemplateEntry } from "./resource.js";
import type { ToolEntry } from "./tool.js";

/** Whether a caller may see an item of a list. Refusing calls to what is hidden is a middleware's work. */
export type Visibility = (kind: "tool" | "resource" | "template" | "prompt", name: string, call: Call) => boolean;

export interface ServerLists {
  readonly tools: List<ToolEntry>;
  readonly prompts: List<PromptEntry>;
  readonly resources: List<ResourceEntry>;
  readonly templates: List<TemplateEntry>;
}

/** Makes the lists over a server's registries. */
export function serverLists(core: ServerCore, visible: Visibility | undefined): ServerLists {
  const common = { identity: core.identity, ttlMs: core.listTtlMs, pageSize: core.limits.pageSize };
  return {
    tools: new List<ToolEntry>({
      ...common,
      member: "tools",
      registry: core.tools,
      item: (entry) => entry.tool,
      visible: visible && ((entry, call) => visible("tool", entry.tool.name, call)),
    }),
    prompts: new List<PromptEntry>({
      ...common,
      member: "prompts",
      registry: core.prompts,
      item: (entry) => entry.prompt,
      visible: visible && ((entry, call) => visible("prompt", entry.prompt.name, call)),
    }),
    resources: new List<ResourceEntry>({
      ...common,
      member: "resources",
      registry: core.resources,
      item: (entry) => entry.resource,
      visible: visible && ((entry, call) => visible("resource", entry.resource.uri, call)),
    }),
    templates: new List<TemplateEntry>({
      ...common,
      member: "resourceTemplates",
      registry: core.templates,
      item: (entry) => entry.template,
      visible: visible && ((entry, call) => visible("template", entry.template.uriTemplate, call)),
    }),
  };
}
