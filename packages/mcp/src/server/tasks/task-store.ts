// Where tasks are kept: the interface a store implements, and what it keeps of a task; and the timers of tasks.
import type { MaybePromise } from "../../endpoint/call.js";
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import type { ErrorObject, JsonObject } from "../../jsonrpc/message.js";
import type { Task } from "../../protocol/extensions/tasks.js";

/** All that is kept of a task: plain JSON. A record is never changed, only replaced. */
export interface TaskRecord {
  readonly task: Task;
  /** Who may see it, by name and program; absent for a caller the transport does not know, to whom the id alone is the key. */
  readonly principal?: string;
  /** What the call gave, once `completed`. */
  readonly result?: JsonObject;
  /** The error of the call, once `failed`. */
  readonly error?: ErrorObject;
}

/** Which part of a principal's tasks. */
export interface TaskPage {
  /** Goes on after this task id. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * Keeps tasks, bounded in number and bytes, and forgets them once their `ttlMs` has passed since `createdAt`. A task is
 * put when it begins and once more when it has ended.
 */
export interface TaskStore {
  /** Keeps a record in place of the one with its id. Rejects with a LocalError FULL when there is no room for it. */
  put(record: TaskRecord): MaybePromise<void>;
  /** The record, if there is one and it is the principal's. */
  get(taskId: string, principal: string | undefined): MaybePromise<TaskRecord | undefined>;
  /** Records of a principal in the order of their ids. */
  list(principal: string | undefined, page: TaskPage): MaybePromise<readonly TaskRecord[]>;
  delete(taskId: string): MaybePromise<void>;
}

/** What is answered about a task that does not exist, has expired, is somebody else's, or was lost with the process that ran it. */
export function noSuchTask(): RpcError {
  return new RpcError(ErrorCode.InvalidParams, "There is no such task: it may have expired", {
    path: "/taskId",
    constraint: "the id of a task of yours",
  });
}

/** What timers can count. Said here as well: a server's start has no use for what else stands beside `startTimer`. */
export const LONGEST_TASK_TIMER_MS: number = 2 ** 31 - 1;

/** A timer for any time, which must not keep a process alive that has nothing else to do. */
export function startTaskTimer(run: () => void, delayMs: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(run, Math.min(delayMs, LONGEST_TASK_TIMER_MS));
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
