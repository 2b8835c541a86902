// Describes a task: a tool call that goes on after its request was answered. The shape is that of the 2026-07-28 extension.
import type { ErrorObject, JsonObject } from "../../jsonrpc/message.js";
import { checkInputResponses, type InputRequests } from "../features/input-required.js";
import {
  checkCursor,
  type MethodRecord,
  type ParamsCheck,
  type ParamsFault,
  requireObject,
  requireString,
  type ResultKind,
} from "../method.js";

/** Id of the extension, in the `extensions` of both sides' capabilities. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** A task is `working` or `input_required` until it ends; the other three are final. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** How a task is now: its id, state, times as ISO 8601, and the milliseconds it is kept (basic/utilities/tasks). */
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

export const REQUESTED_TASK_METHODS: readonly MethodRecord[] = [
  method("tasks/get", checkTaskId, "task"),
  method("tasks/result", checkTaskId, "callTool"),
  method("tasks/list", checkCursor, "tasks"),
  method("tasks/cancel", checkTaskId, "task"),
];

function checkTaskId(params: JsonObject): ParamsFault | undefined {
  return requireString(params, "taskId");
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
