// Reads each kind of result into its neutral shape. Results that need no change are returned as they are.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { PromptMessage } from "../protocol/features/prompts.js";
import type { ResultKind } from "../protocol/method.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { invalidResponse } from "./invalid-response.js";
import { readBlock, readContent } from "./read-content.js";
import { readCreatedTask, readTask } from "./read-task.js";

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
  if (given === undefined || given === null) return { ...result, content: [] };
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
