// What a client reads and writes besides requests: results in their neutral shape, and answers to questions as a
// revision knows them.
import { invalidResponse, LocalError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import { type ContentBlock, FILLED_IN } from "../protocol/content.js";
import type { ListRootsResult } from "../protocol/features/elicitation.js";
import type { PromptMessage } from "../protocol/features/prompts.js";
import { type CreateMessageResult, normalStopReason } from "../protocol/features/sampling.js";
import type { ResultKind } from "../protocol/method.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { type FlatResource, nestResource, pick } from "./project-result.js";

type Reading = (method: string, result: JsonObject, revision: Revision) => JsonObject;

const READINGS: { readonly [kind in ResultKind]: Reading } = {
  plain: unchanged,
  empty: unchanged,
  initialize: unchanged,
  discover: unchanged,
  tools: (method, result) => list(method, result, "tools"),
  resources: (method, result) => list(method, result, "resources"),
  templates: (method, result) => list(method, result, "resourceTemplates"),
  prompts: (method, result) => list(method, result, "prompts"),
  callTool: (method, result, revision) => {
    if (revision.rules.tasks === "requested" && announcesTask(method, result)) return readCreatedTask(method, result);
    if (result["resultType"] === "task") return result;
    return readCall(method, result);
  },
  readResource: (method, result) => list(method, result, "contents"),
  getPrompt: readPrompt,
  complete: readCompletion,
  task: (method, result, revision) => readTask(method, result, revision),
  tasks: (method, result, revision) => {
    const { tasks } = list(method, result, "tasks");
    return { ...result, tasks: (tasks as JsonObject[]).map((task) => readTask(method, task, revision)) };
  },
};

/** The neutral result. Throws INVALID_RESPONSE. */
export function readKind(kind: ResultKind, method: string, result: JsonObject, revision: Revision): JsonObject {
  return READINGS[kind](method, result, revision);
}

/** Whether a call was made a task as 2025-11-25 has it. What says something already is an answer, whatever else it holds. */
export function announcesTask(method: string, { task, content, structuredContent }: JsonObject): boolean {
  const says = Array.isArray(content) || isJsonObject(structuredContent);
  return method === "tools/call" && isJsonObject(task) && typeof task["taskId"] === "string" && !says;
}

/** What a tool call gave. Some servers leave `content` out where there is structured content, or nothing to say. */
export function readCall(method: string, result: JsonObject): JsonObject {
  const given = result["content"];
  if (given === undefined || given === null) {
    const content: unknown[] = [];
    FILLED_IN.add(content);
    return { ...result, content };
  }
  const content = readContent(method, given);
  return content === given ? result : { ...result, content };
}

function readPrompt(method: string, result: JsonObject): JsonObject {
  const { messages } = list(method, result, "messages");
  const given = messages as PromptMessage[];
  let changed = false;
  const read = given.map((message) => {
    const content = readBlock(method, message.content);
    if (content === message.content) return message;
    changed = true;
    return { ...message, content };
  });
  return changed ? { ...result, messages: read } : result;
}

function readCompletion(method: string, result: JsonObject): JsonObject {
  const { completion } = result;
  const values = isJsonObject(completion) ? completion["values"] : undefined;
  if (Array.isArray(values) && values.every((value) => typeof value === "string")) return result;
  throw invalidResponse(method, "completion.values is no array of strings");
}

function list(method: string, result: JsonObject, member: string): JsonObject {
  const items = result[member];
  if (!Array.isArray(items)) throw invalidResponse(method, `${member} is no array`);
  if (!items.every(isJsonObject)) throw invalidResponse(method, `${member} holds something that is no object`);
  const cursor = result["nextCursor"];
  // Null for "no more" is common where optional members are written as nulls.
  if (cursor === null) return { ...result, nextCursor: undefined };
  if (cursor !== undefined && typeof cursor !== "string") throw invalidResponse(method, "nextCursor is no string");
  return result;
}

function unchanged(_method: string, result: JsonObject): JsonObject {
  return result;
}

// Reads content blocks a server wrote: flat resource blocks become nested ones, what is no block is refused.

/** The same array when nothing had to change. Blocks of kinds nobody knows yet are kept. */
function readContent(method: string, content: unknown): readonly ContentBlock[] {
  if (!Array.isArray(content)) throw invalidResponse(method, "its content is no array");
  for (let i = 0; i < content.length; i++) {
    if (readBlock(method, content[i]) !== content[i]) return content.map((block) => readBlock(method, block));
  }
  return content as ContentBlock[];
}

function readBlock(method: string, block: unknown): ContentBlock {
  if (!isJsonObject(block)) throw invalidResponse(method, "a content block is no object");
  const { type } = block;
  if (type === "text") {
    if (typeof block["text"] !== "string") throw invalidResponse(method, "a text block has no text");
  } else if (type === "resource") {
    return isFlat(block) ? nestResource(block as unknown as FlatResource) : (block as unknown as ContentBlock);
  } else if (typeof type !== "string") {
    throw invalidResponse(method, "a content block has no type");
  }
  return block as unknown as ContentBlock;
}

function isFlat(block: JsonObject): boolean {
  return block["resource"] === undefined && typeof block["uri"] === "string";
}

// Reads errors: codes that mean the same in different revisions, and in the documents servers were written from, become one.

// Reads tasks of both shapes into that of the 2026-07-28 extension.

const STATUSES: ReadonlySet<unknown> = new Set(["working", "input_required", "completed", "failed", "cancelled"]);

/** The answer `{ task }` of 2025-11-25 as one that announces a task. */
function readCreatedTask(method: string, result: JsonObject): JsonObject {
  const task = neutral(method, result["task"] as JsonObject);
  const { _meta } = result;
  return { ...task, resultType: "task", ...(_meta === undefined ? {} : { _meta }) };
}

/** A task as `tasks/get` shows it. Some servers nest it under `task`. */
function readTask(method: string, result: JsonObject, { rules }: Revision): JsonObject {
  const nested = result["taskId"] === undefined && isJsonObject(result["task"]) ? result["task"] : result;
  return rules.tasks === "requested" ? neutral(method, nested) : checked(method, nested);
}

function neutral(method: string, task: JsonObject): JsonObject {
  // What a later era asks and answers in a task comes in requests of their own here.
  const { ttl, pollInterval, pollIntervalMs: _, inputRequests: _questions, ...rest } = task;
  const interval = typeof pollInterval === "number" ? { pollIntervalMs: pollInterval } : {};
  return checked(method, { ...rest, ttlMs: ttl ?? null, ...interval });
}

function checked(method: string, task: JsonObject): JsonObject {
  if (typeof task["taskId"] !== "string") throw invalidResponse(method, "the task has no taskId");
  if (!STATUSES.has(task["status"])) throw invalidResponse(method, "the task has no status anybody knows");
  return task;
}

// Writes a client's answers to a server's questions as a revision knows them.

/** Throws a LocalError with code NOT_EXPRESSIBLE when the revision cannot carry the answer. */
export function writeAnswer(revision: Revision, method: string, result: object): object {
  switch (method) {
    case "roots/list":
      return { ...result, roots: (result as ListRootsResult).roots.map((root) => pick(root, revision.fields.root)) };
    case "sampling/createMessage":
      return message(revision, result as CreateMessageResult);
    default:
      return result;
  }
}

/** The kinds of blocks a sampled message may be made of. */
function blocks({ sampling: { audio, tools } }: Revision): ReadonlySet<string> {
  return new Set(["text", "image", ...(audio ? ["audio"] : []), ...(tools ? ["tool_use", "tool_result"] : [])]);
}

function message(revision: Revision, result: CreateMessageResult): object {
  const { content, stopReason } = result;
  const copy: JsonObject = { ...result };
  if (stopReason !== undefined) copy["stopReason"] = normalStopReason(stopReason);
  for (const { type } of Array.isArray(content) ? content : [content]) {
    if (blocks(revision).has(type)) continue;
    const text = `The server speaks ${revision.date}, in which a sampled message cannot hold a block of type ${JSON.stringify(type)}`;
    throw new LocalError("NOT_EXPRESSIBLE", text);
  }
  if (!Array.isArray(content) || revision.sampling.contentArrays) return copy;
  if (content.length !== 1) {
    const text = `The server speaks ${revision.date}, in which a sampled message holds one block, not ${content.length}`;
    throw new LocalError("NOT_EXPRESSIBLE", text);
  }
  return { ...copy, content: content[0] };
}

// Writes a client's capabilities as one revision knows them.

/** The capabilities a client may declare in the revision. Unknown members stay: the object is open. */
export function projectClientCapabilities(revision: Revision, capabilities: ClientCapabilities): ClientCapabilities {
  const { roots, sampling, elicitation, tasks, ...rest } = capabilities;
  const stateless = revision.era === "stateless";
  const copy: ClientCapabilities = { ...rest };
  if (roots !== undefined) copy.roots = stateless ? withoutListChanged(roots) : roots;
  if (sampling !== undefined) copy.sampling = revision.sampling.tools ? sampling : {};
  if (elicitation !== undefined && revision.elicitation.form) {
    copy.elicitation = revision.elicitation.url ? elicitation : {};
  }
  if (tasks !== undefined && revision.rules.tasks === "requested") copy.tasks = tasks;
  return copy;
}

function withoutListChanged(roots: object): object {
  const { listChanged: _, ...rest } = roots as { listChanged?: boolean };
  return rest;
}
