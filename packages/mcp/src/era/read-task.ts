// Reads tasks of both shapes into that of the 2026-07-28 extension.
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { invalidResponse } from "./invalid-response.js";

const STATUSES: ReadonlySet<unknown> = new Set(["working", "input_required", "completed", "failed", "cancelled"]);

/** The answer `{ task }` of 2025-11-25 as one that announces a task. */
export function readCreatedTask(method: string, result: JsonObject): JsonObject {
  const task = neutral(method, result["task"] as JsonObject);
  const { _meta } = result;
  return { ...task, resultType: "task", ...(_meta === undefined ? {} : { _meta }) };
}

/** A task as `tasks/get` shows it. Some servers nest it under `task`. */
export function readTask(method: string, result: JsonObject, { rules }: Revision): JsonObject {
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
