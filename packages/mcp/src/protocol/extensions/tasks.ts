// Describes a task: a tool call that goes on after its request was answered. The shape is that of the 2026-07-28 extension.
import type { ErrorObject, JsonObject } from "../../jsonrpc/message.js";
import { checkInputResponses, type InputRequests, type InputResponses } from "../features/elicitation.js";
import {
  checkCursor,
  type MethodRecord,
  type PaginatedRequestParams,
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

/** Whether nothing follows after this status; one that nobody knows counts as final. */
export function isFinal(status: unknown): boolean {
  return status !== "working" && status !== "input_required";
}

// The methods of tasks as 2025-11-25 has them: the client asks for a task, and fetches the result in one long request.

/** Params of what is asked of one task. */
export interface TaskRequestParams {
  taskId: string;
}

/** Params of `tasks/update`: answers to what the task asked. */
export interface UpdateTaskRequestParams extends TaskRequestParams {
  inputResponses: InputResponses;
}

export const GET_TASK: MethodRecord<TaskRequestParams> = method("tasks/get", checkTaskId, "task");
export const TASK_RESULT: MethodRecord<TaskRequestParams> = method("tasks/result", checkTaskId, "callTool");
export const LIST_TASKS: MethodRecord<PaginatedRequestParams> = method("tasks/list", checkCursor, "tasks");
export const CANCEL_TASK: MethodRecord<TaskRequestParams> = method("tasks/cancel", checkTaskId, "task");

export const REQUESTED_TASK_METHODS: readonly MethodRecord[] = [GET_TASK, TASK_RESULT, LIST_TASKS, CANCEL_TASK];

function checkTaskId(params: JsonObject): ParamsFault | undefined {
  return requireString(params, "taskId");
}

// The methods of tasks as the extension of 2026-07-28 has them: the server decides, and the client looks again and again.

export const UPDATE_TASK: MethodRecord<UpdateTaskRequestParams> = method("tasks/update", checkUpdate, "plain");

export const DIRECTED_TASK_METHODS: readonly MethodRecord[] = [
  GET_TASK,
  UPDATE_TASK,
  { ...CANCEL_TASK, result: "plain" },
];

function method<Params extends object>(name: string, check: ParamsCheck, result: ResultKind): MethodRecord<Params> {
  return { name, check, capability: "tasks", cacheable: false, interactive: false, result };
}

function checkUpdate(params: JsonObject): ParamsFault | undefined {
  return checkTaskId(params) ?? requireObject(params, "inputResponses") ?? checkInputResponses(params);
}
