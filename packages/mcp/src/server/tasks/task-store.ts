// Where tasks are kept: the interface a store implements, what it keeps of a task, and the store in memory.
import type { MaybePromise } from "../../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import type { ErrorObject, JsonObject } from "../../jsonrpc/message.js";
import type { Task } from "../../protocol/extensions/tasks.js";
import { DEFAULT_SERVER_LIMITS } from "../limits.js";

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

// What task stores share: which tasks there are, whose, until when, and whether there is room for more.

/** Bounds of a store. */
export interface TaskStoreLimits {
  /** Tasks kept at once. */
  readonly tasks: number;
  /** Tasks kept at once for one principal, so that nobody takes all the room. */
  readonly tasksPerPrincipal: number;
  /** Characters of JSON kept at once. */
  readonly taskBytes: number;
}

/** One task in the index. */
export interface TaskEntry {
  readonly taskId: string;
  readonly principal: string | undefined;
  /** Time in milliseconds since 1970; infinite for a task that is kept for ever. */
  readonly expiresAt: number;
  readonly bytes: number;
}

/** Room taken for every task, so that one which began can always end with an error in place of a result that is too large. */
const LEAST_BYTES = 4_096;

/** Compares by UTF-16 code unit: the same order on every machine and in every locale. */
function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Bounded, expiring, and blind to tasks of others. */
export class TaskIndex<E extends TaskEntry> {
  readonly #limits: TaskStoreLimits;
  readonly #expired: (entry: E) => void;
  readonly #entries = new Map<string, E>();
  readonly #counts = new Map<string | undefined, number>();
  #bytes = 0;

  /** `expired` is told of every entry whose time is over. */
  constructor(limits: TaskStoreLimits, expired: (entry: E) => void = () => undefined) {
    this.#limits = limits;
    this.#expired = expired;
  }

  get(taskId: string, principal: string | undefined): E | undefined {
    const entry = this.#entries.get(taskId);
    if (entry === undefined || entry.principal !== principal) return undefined;
    if (entry.expiresAt > Date.now()) return entry;
    this.#expire(entry);
    return undefined;
  }

  /** Adds or replaces an entry. Throws FULL, and keeps the one that was there, when there is no room. */
  set(entry: E): void {
    const before = this.#entries.get(entry.taskId);
    if (!this.#fits(entry, before)) {
      this.#sweep();
      if (!this.#fits(entry, this.#entries.get(entry.taskId))) {
        throw new LocalError("FULL", "There is no room for more tasks: fetch those that have ended, or wait");
      }
    }
    this.delete(entry.taskId);
    this.#entries.set(entry.taskId, entry);
    this.#bytes += entry.bytes;
    this.#counts.set(entry.principal, this.#countOf(entry.principal) + 1);
  }

  delete(taskId: string): boolean {
    const entry = this.#entries.get(taskId);
    if (entry === undefined) return false;
    this.#entries.delete(taskId);
    this.#bytes -= entry.bytes;
    const left = this.#countOf(entry.principal) - 1;
    if (left > 0) this.#counts.set(entry.principal, left);
    else this.#counts.delete(entry.principal);
    return true;
  }

  page(principal: string | undefined, { after = "", limit }: TaskPage): readonly E[] {
    this.#sweep();
    const own = [...this.#entries.values()].filter((entry) => entry.principal === principal && entry.taskId > after);
    return own.sort((a, b) => byCodeUnit(a.taskId, b.taskId)).slice(0, limit);
  }

  #countOf(principal: string | undefined): number {
    return this.#counts.get(principal) ?? 0;
  }

  #fits(entry: E, before: E | undefined): boolean {
    const { tasks, tasksPerPrincipal, taskBytes } = this.#limits;
    if (this.#bytes - (before?.bytes ?? 0) + entry.bytes > taskBytes) return false;
    return before !== undefined || (this.#entries.size < tasks && this.#countOf(entry.principal) < tasksPerPrincipal);
  }

  #sweep(): void {
    const now = Date.now();
    for (const entry of this.#entries.values()) if (entry.expiresAt <= now) this.#expire(entry);
  }

  #expire(entry: E): void {
    this.delete(entry.taskId);
    this.#expired(entry);
  }
}

/** The index's view of a record whose JSON has `characters` characters. */
export function entryOf({ task, principal }: TaskRecord, characters: number): TaskEntry {
  return {
    taskId: task.taskId,
    principal,
    expiresAt: task.ttlMs === null ? Number.POSITIVE_INFINITY : Date.parse(task.createdAt) + task.ttlMs,
    bytes: Math.max(LEAST_BYTES, characters),
  };
}

interface Kept extends TaskEntry {
  readonly record: TaskRecord;
}

/** The store a server has when it is given no other. */
export class MemoryTaskStore implements TaskStore {
  readonly #index: TaskIndex<Kept>;

  constructor(limits: TaskStoreLimits = DEFAULT_SERVER_LIMITS) {
    this.#index = new TaskIndex(limits);
  }

  put(record: TaskRecord): void {
    this.#index.set({ ...entryOf(record, JSON.stringify(record).length), record });
  }

  get(taskId: string, principal: string | undefined): TaskRecord | undefined {
    return this.#index.get(taskId, principal)?.record;
  }

  list(principal: string | undefined, page: TaskPage): readonly TaskRecord[] {
    return this.#index.page(principal, page).map(({ record }) => record);
  }

  delete(taskId: string): void {
    this.#index.delete(taskId);
  }
}
