// Describes a task: a tool call that goes on after its request was answered. The shape is that of the 2026-07-28 extension.
import { type ErrorObject, isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import { checkInputResponses, type InputRequests } from "../features/input-required.js";
import {
  checkCursor,
  fault,
  type MethodRecord,
  type ParamsCheck,
  type ParamsFault,
  requireObject,
  requireString,
  type ResultKind,
} from "../method.js";
import { CALL_TOOL } from "../features/tools.js";

/** Id of the extension, in the `extensions` of both sides' capabilities. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** A task is `working` or `input_required` until it ends; the other three are final. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

export interface Task {
  taskId: string;
  status: TaskStatus;
  /** For people: why it failed, why it was cancelled. */
  statusMessage?: string;
  /** ISO 8601. */
  createdAt: string;
  lastUpdatedAt: string;
  /** Milliseconds from creation after which the task may be forgotten; null: never. */
  ttlMs: number | null;
  /** How long a client should wait between two looks. */
  pollIntervalMs?: number;
}

/** A task with everything that can be known of it now. */
export interface DetailedTask extends Task {
  /** All open questions of a task that is `input_required`. */
  inputRequests?: InputRequests;
  /** What the call gave, when `completed`: a result with `isError` among it. */
  result?: JsonObject;
  /** The JSON-RPC error of the call, when `failed`. */
  error?: ErrorObject;
}

/** The answer that stands for a result that is still to come. */
export interface CreateTaskResult extends Task {
  resultType: "task";
}

export function isFinal(status: TaskStatus): boolean {
  return status !== "working" && status !== "input_required";
}

// The methods of tasks as 2025-11-25 has them: the client asks for a task, and fetches the result in one long request.

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

function checkTaskId(params: JsonObject): ParamsFault | undefined {
  return requireString(params, "taskId");
}

function checkTask(task: unknown): ParamsFault | undefined {
  if (task === undefined) return undefined;
  if (!isJsonObject(task)) return fault(["task"], "an object");
  const { ttl } = task;
  // Some clients spell "as long as you can" as null.
  if (ttl === undefined || ttl === null || (Number.isSafeInteger(ttl) && (ttl as number) >= 0)) return undefined;
  return fault(["task", "ttl"], "an integer of milliseconds, at least 0");
}

// The methods of tasks as the extension of 2026-07-28 has them: the server decides, and the client looks again and again.

export const DIRECTED_TASK_METHODS: readonly MethodRecord[] = [
  method("tasks/get", checkTaskId, "task"),
  method("tasks/update", checkUpdate, "plain"),
  method("tasks/cancel", checkTaskId, "plain"),
];

function method(name: string, check: ParamsCheck, result: ResultKind): MethodRecord {
  return { name, check, capability: "tasks", cacheable: false, interactive: false, result };
}

function checkUpdate(params: JsonObject): ParamsFault | undefined {
  return checkTaskId(params) ?? requireObject(params, "inputResponses") ?? checkInputResponses(params);
}
