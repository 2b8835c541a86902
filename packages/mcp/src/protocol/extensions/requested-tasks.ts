// The methods of tasks as 2025-11-25 has them: the client asks for a task, and fetches the result in one long request.
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import { checkCursor } from "../features/pagination.js";
import { CALL_TOOL } from "../features/tools.js";
import type { MethodRecord, ParamsCheck, ParamsFault, ResultKind } from "../method.js";
import { fault, requireString } from "../params-check.js";

/** `tools/call` with a `task` member that asks for a task. */
export const CALL_TOOL_AS_TASK: MethodRecord = {
  ...CALL_TOOL,
  check: (params) => CALL_TOOL.check(params) ?? checkTask(params["task"]),
};

export const REQUESTED_TASK_METHODS: readonly MethodRecord[] = [
  method("tasks/get", checkTaskId, "task"),
  method("tasks/result", checkTaskId, "callTool"),
  method("tasks/list", checkCursor, "tasks"),
  method("tasks/cancel", checkTaskId, "task"),
];

export function checkTaskId(params: JsonObject): ParamsFault | undefined {
  return requireString(params, "taskId");
}

function method(name: string, check: ParamsCheck, result: ResultKind): MethodRecord {
  return { name, check, capability: "tasks", cacheable: false, interactive: false, result };
}

function checkTask(task: unknown): ParamsFault | undefined {
  if (task === undefined) return undefined;
  if (!isJsonObject(task)) return fault(["task"], "an object");
  const { ttl } = task;
  // Some clients spell "as long as you can" as null.
  if (ttl === undefined || ttl === null || (Number.isSafeInteger(ttl) && (ttl as number) >= 0)) return undefined;
  return fault(["task", "ttl"], "an integer of milliseconds, at least 0");
}
