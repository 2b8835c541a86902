// Projects tasks: the revision in which clients ask for them names some members differently and shows less at a look.
import type { JsonObject } from "../jsonrpc/message.js";
import type { CreateTaskResult, DetailedTask, Task } from "../protocol/extensions/task.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** A task as `tasks/get` and the notifications show it. `projectCall` projects the result it may hold. */
export function projectTask(
  revision: Revision,
  task: DetailedTask,
  projectCall: (revision: Revision, result: CallToolResult) => object,
): object {
  if (revision.rules.tasks !== "directed") return requestedTask(task);
  if (task.result === undefined) return task;
  return { ...task, result: projectCall(revision, task.result as unknown as CallToolResult) };
}

/** The answer that announces a task. */
export function projectCreatedTask(revision: Revision, created: CreateTaskResult): object {
  return revision.rules.tasks === "directed" ? created : { task: requestedTask(created) };
}

/** 2025-11-25: a call whose result is an error has failed, and only `tasks/result` shows results. */
export function requestedTask(task: DetailedTask): JsonObject {
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
