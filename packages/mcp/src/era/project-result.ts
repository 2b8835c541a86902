// Projects each kind of result for a revision. Results that need no change are returned as they are.
import type { ContentBlock } from "../protocol/content.js";
import type { DiscoverResult, InitializeResult } from "../protocol/features/lifecycle.js";
import type { GetPromptResult, ListPromptsResult } from "../protocol/features/prompts.js";
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from "../protocol/features/resources.js";
import type { CreateTaskResult, DetailedTask } from "../protocol/extensions/task.js";
import type { CallToolResult, ListToolsResult } from "../protocol/features/tools.js";
import type { ResultKind } from "../protocol/method.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { mapChanged, projectContent, projectPromptMessage, projectResourceContents } from "./project-content.js";
import {
  projectCapabilities,
  projectImplementation,
  projectPrompt,
  projectResource,
  projectTemplate,
  projectTool,
} from "./project-items.js";
import { projectStructured, withJson } from "./project-structured.js";
import { projectCreatedTask, projectTask } from "./project-task.js";

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
  return structuredContent === undefined ? [] : withJson([], JSON.stringify(structuredContent));
}

function unchanged(_revision: Revision, result: object): object {
  return result;
}
