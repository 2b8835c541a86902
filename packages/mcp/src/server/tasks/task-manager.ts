// The tasks of a server: begun, looked up, cancelled, concluded, and kept in memory where no other store is given.

import { type Answer, type Call, ReadyResult, unexpected } from "../../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import { isFinal, type Task } from "../../protocol/extensions/tasks.js";
import { ToolError, toBase64Url } from "../content.js";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../limits.js";
import { type TaskCall, TaskRun } from "./task-run.js";
import {
  LONGEST_TASK_TIMER_MS,
  startTaskTimer,
  noSuchTask,
  type TaskPage,
  type TaskRecord,
  type TaskStore,
} from "./task-store.js";
import { byCodeUnit } from "../registry.js";
import { asOneText, type ErrorObject, type JsonObject } from "../../jsonrpc/message.js";
import { AskError } from "../content.js";

export interface Conclusion {
  readonly status: "completed" | "failed" | "cancelled";
  readonly statusMessage?: string;
  readonly result?: JsonObject;
  readonly error?: ErrorObject;
}

/** What the whole chain of a call came to. */
export type Settled = { readonly answer: Answer } | { readonly error: unknown };

/**
 * Whose the task of a call is, or may be seen by it: the principal's, and of the principal's programs that one's, where they are told
 * apart. Undefined for a caller the transport does not know.
 */
export function ownerOf({ carrier, identity }: Call): string | undefined {
  const program = identity?.program;
  return program === undefined ? carrier.principal : `${carrier.principal ?? ""}\nprogram ${program}`;
}

/** Waits for a call's outcome; never rejects. */
export function settled(outcome: Promise<Answer>): Promise<Settled> {
  return outcome.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
}

/** A call that failed after its client cancelled it was cancelled; one that succeeded all the same has completed. */
export function conclude(
  call: TaskCall,
  outcome: Settled,
  report: (error: unknown, call: TaskCall, errorId: string) => void,
): Conclusion {
  if ("answer" in outcome) {
    const result = plain(call, outcome.answer);
    return call.unwanted && result["isError"] === true ? cancelledTask(call) : { status: "completed", result };
  }
  if (call.unwanted) return cancelledTask(call);
  const error = toRpcError(call, outcome.error, report);
  return { status: "failed", statusMessage: error.message, error: error.toObject() };
}

export function cancelledTask(call: TaskCall): Conclusion {
  return { status: "cancelled", statusMessage: call.cancellation?.reason ?? "The task was cancelled" };
}

function plain(call: TaskCall, answer: Answer): JsonObject {
  return answer instanceof ReadyResult
    ? (JSON.parse(asOneText(answer.textFor(call.caller.codec))) as JsonObject)
    : answer;
}

function toRpcError(call: TaskCall, error: unknown, report: Parameters<typeof conclude>[2]): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof AskError || error instanceof ToolError)
    return new RpcError(ErrorCode.InternalError, error.message);
  const { id, message } = unexpected();
  report(error, call, id);
  return new RpcError(ErrorCode.InternalError, message, { errorId: id });
}

/** Bytes of a task id: nobody guesses it, and for a caller without a name it is the only key. */
const ID_BYTES = 32;

/** Records that are looked up at a time. */
const A_PAGE = 100;

const SENT_AWAY = "Who began the task may not call any more";
const SAID_ELSEWHERE = "Another process has said that this task ended, since this one did not answer";
/** Of work that was cut off nobody knows what it has done: calls say the same. */
const CUT_OFF: JsonObject = { outcome: "unknown" };
/** Milliseconds between two tries to keep how a task ended. */
const AGAIN_MS = 1_000;
/** Times between two polls after which a client has fetched how its task ended. */
const FETCHED_IN = 1.5;

/** What the manager needs of its server. */
interface TaskOffice {
  readonly limits: ServerLimits;
  readonly store: TaskStore;
  /** Whether other processes may say how a task of this one ended: when it did not answer them. The first word counts. */
  readonly leased: boolean;
  /** Put before every task id, so that every process knows who runs the task. */
  readonly prefix: string;
  /** Hears of every change of a task that runs, and of its end. */
  readonly changed: (run: TaskRun, record: TaskRecord, call: TaskCall) => void;
  /** Told of exceptions nobody expected. */
  readonly failed: (error: unknown, call: Call, errorId: string) => void;
}

interface Running {
  readonly run: TaskRun;
  readonly call: TaskCall;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** One for a server. Tasks belong to it and not to a connection. */
export class TaskManager {
  readonly #office: TaskOffice;
  readonly #running = new Map<string, Running>();
  /** Those that are being kept, and are in no table yet. */
  readonly #opening = new Map<TaskCall, { isOver: boolean }>();
  #closing = false;
  /** When the last one ended, by `performance.now()`. */
  #lastEnd = Number.NEGATIVE_INFINITY;
  /** Handlers at work, also those of tasks that were cancelled and do not care. */
  #handlers = 0;

  constructor(office: TaskOffice) {
    this.#office = office;
  }

  get store(): TaskStore {
    return this.#office.store;
  }

  /** A run to be, for a caller. `ttlMs` is what the client asked for. Throws -32603 when too many tasks run. */
  prepare(principal: string | undefined, ttlMs: number | undefined): TaskRun {
    const { runningTasks, taskPollMs } = this.#office.limits;
    if (this.#handlers >= runningTasks) {
      const what = `Too many tasks are running (limit ${runningTasks}): wait for one to end and try again`;
      throw new RpcError(ErrorCode.InternalError, what, { limit: runningTasks });
    }
    const now = new Date().toISOString();
    const task: Task = {
      taskId: this.#office.prefix + toBase64Url(crypto.getRandomValues(new Uint8Array(ID_BYTES))),
      status: "working",
      createdAt: now,
      lastUpdatedAt: now,
      ttlMs: this.#lifetime(ttlMs),
      pollIntervalMs: taskPollMs,
    };
    return new TaskRun(task, principal);
  }

  /** Counts a handler until it is done. `outcome` never rejects. */
  track(outcome: Promise<unknown>): void {
    this.#handlers++;
    void outcome.then(() => this.#handlers--);
  }

  /** Keeps the task; from then on it can be found. Rejects with -32603 when the store has no room. */
  async open(call: TaskCall): Promise<Task> {
    const { run } = call;
    const { task } = run.record({ status: "working" });
    const state = { isOver: false };
    this.#opening.set(call, state);
    try {
      await this.#office.store.put(run.record({ status: "working" }));
    } catch (error) {
      throw isFull(error) ? new RpcError(ErrorCode.InternalError, error.message) : error;
    } finally {
      this.#opening.delete(call);
    }
    if (state.isOver) {
      await this.#office.store.delete(run.taskId);
      throw new RpcError(ErrorCode.InternalError, SENT_AWAY);
    }
    const timer = startTaskTimer(() => void this.#expire(call), task.ttlMs as number);
    this.#running.set(run.taskId, { run, call, timer });
    run.onChange = () => void this.#moved(call);
    return task;
  }

  /** Ends a task with its outcome, unless it has ended already. */
  async conclude(call: TaskCall, conclusion: Conclusion): Promise<void> {
    const { run } = call;
    if (run.concluded) return;
    call.progress?.finish();
    run.concluded = true;
    call.ended = true;
    run.giveUp();
    const { status, statusMessage, ...outcome } = conclusion;
    const change: Partial<Task> = { status, lastUpdatedAt: new Date().toISOString() };
    if (statusMessage !== undefined) change.statusMessage = statusMessage;
    const kept = await this.#keep(call, { ...run.record(change), ...outcome });
    const record = this.#office.leased ? await this.#believed(kept) : kept;
    clearTimeout(this.#running.get(run.taskId)?.timer);
    this.#running.delete(run.taskId);
    this.#lastEnd = performance.now();
    run.end(record);
    this.#tell(call, record);
  }

  /** Cancels a task that runs and waits until its record says so; undefined when it does not run here. */
  async cancel(taskId: string, principal: string | undefined): Promise<TaskRecord | undefined> {
    const running = this.running(taskId, principal);
    if (running === undefined || running.run.concluded) return undefined;
    this.stop(running.call);
    await this.conclude(running.call, cancelledTask(running.call));
    return running.run.ended;
  }

  /**
   * Tells a handler to stop: because its client wants it no more, or for the reason given. False where it could not be told, which is
   * reported: there are runtimes in which no request may reach into the work of another.
   */
  stop(call: TaskCall, reason?: string): boolean {
    try {
      if (reason === undefined) call.cancelForClient();
      else call.cancel({ reason, answered: false });
      return true;
    } catch (error) {
      this.#unexpected(call, error);
      return false;
    }
  }

  /** The task while it runs, if it is the principal's. */
  running(taskId: string, principal: string | undefined): Running | undefined {
    const found = this.#running.get(taskId);
    return found?.run.principal === principal ? found : undefined;
  }

  /** The same, once what all processes share was asked whether another one has said how the task ended: then it runs no more. */
  async current(taskId: string, principal: string | undefined): Promise<Running | undefined> {
    const running = this.running(taskId, principal);
    if (running === undefined || running.run.concluded || !this.#office.leased) return running;
    this.accept(await this.#believed(running.run.record()));
    return this.running(taskId, principal);
  }

  /** Ends a task that runs here and has ended by its shared record: what its handler gives can count no more, so that is told to stop. */
  accept(record: TaskRecord): void {
    const running = this.running(record.task.taskId, record.principal);
    if (running === undefined || running.run.concluded || !isFinal(record.task.status)) return;
    const { run, call, timer } = running;
    this.stop(call, SAID_ELSEWHERE);
    call.progress?.finish();
    run.concluded = true;
    call.ended = true;
    run.giveUp();
    clearTimeout(timer);
    this.#running.delete(run.taskId);
    run.end(record);
    this.#tell(call, record);
  }

  /** What is known of a task. Throws -32602 for one that does not exist, has expired, or is somebody else's. */
  async find(taskId: string, principal: string | undefined): Promise<TaskRecord> {
    const running = await this.current(taskId, principal);
    if (running !== undefined) {
      const { run } = running;
      // Where its end cannot be kept now, it has none that anybody can be told of.
      return run.concluded ? Promise.race([run.ended, again().then(() => run.record())]) : run.record();
    }
    const kept = await this.#office.store.get(taskId, principal);
    if (kept !== undefined) return kept;
    throw noSuchTask();
  }

  /** Whether any task is begun, runs, or has an end that is being kept, or that its client has hardly had the time to fetch. */
  get busy(): boolean {
    if (this.#opening.size + this.#running.size > 0) return true;
    return performance.now() - this.#lastEnd < FETCHED_IN * this.#office.limits.taskPollMs;
  }

  runsOver(connection: Call["connection"]): boolean {
    return [...this.#running.values()].some(({ call }) => call.connection === connection);
  }

  /** Ends all that runs, because the server stops. */
  async close(): Promise<void> {
    const reason = "The server stopped before the task ended";
    this.#closing = true;
    // Those whose end is being kept are waited for.
    await Promise.all(
      [...this.#running.values()].map(({ call, run }) => this.#fail(call, reason, CUT_OFF).then(() => run.ended)),
    );
  }

  /** Cancels what a principal has running, by whatever program, and forgets what else there is of theirs. Says how many ran. */
  async endOf(principal: string): Promise<number> {
    const running = [...this.#running.values()].filter(({ call }) => call.carrier.principal === principal);
    for (const [call, state] of this.#opening) if (call.carrier.principal === principal) state.isOver = true;
    const reason = SENT_AWAY;
    for (const { call } of running) {
      this.stop(call, reason);
      await this.conclude(call, { status: "cancelled", statusMessage: reason });
    }
    for (const owner of new Set([principal, ...running.map(({ run }) => run.principal)])) await this.#forget(owner);
    return running.length;
  }

  async #forget(owner: string | undefined): Promise<void> {
    const { store } = this.#office;
    for (;;) {
      const records = await store.list(owner, { limit: A_PAGE });
      if (records.length === 0) return;
      for (const { task } of records) await store.delete(task.taskId);
    }
  }

  async #expire(call: TaskCall): Promise<void> {
    await this.#fail(call, "The task did not end within its time to live");
    try {
      await this.#office.store.delete(call.run.taskId);
    } catch (error) {
      this.#unexpected(call, error);
    }
  }

  /** Long enough to be looked at once, and no longer than the server likes. */
  #lifetime(asked: number | undefined): number {
    const { taskTtlMs, taskMaxTtlMs, taskPollMs } = this.#office.limits;
    return Math.min(asked === undefined ? taskTtlMs : Math.max(asked, taskPollMs), taskMaxTtlMs, LONGEST_TASK_TIMER_MS);
  }

  /** The record others have of a leased task where that has ended; else, and where nobody can be asked, the one given. */
  async #believed(record: TaskRecord): Promise<TaskRecord> {
    try {
      const kept = await this.#office.store.get(record.task.taskId, record.principal);
      return kept !== undefined && isFinal(kept.task.status) ? kept : record;
    } catch {
      return record;
    }
  }

  /** Tells that a task which runs has changed. */
  async #moved(call: TaskCall): Promise<void> {
    const { run } = call;
    if (this.#office.leased) await this.current(run.taskId, run.principal);
    if (!run.concluded) this.#tell(call, run.record());
  }

  /** A listener's trouble is not the task's. */
  #tell(call: TaskCall, record: TaskRecord): void {
    try {
      this.#office.changed(call.run, record, call);
    } catch (error) {
      this.#unexpected(call, error);
    }
  }

  #fail(call: TaskCall, reason: string, data?: JsonObject): Promise<void> {
    this.stop(call, reason);
    const error = { code: ErrorCode.InternalError, message: reason, ...(data && { data }) };
    return this.conclude(call, { status: "failed", statusMessage: reason, error });
  }

  /** Keeps how a task ended; what cannot be kept becomes an error that says so. */
  async #keep(call: TaskCall, record: TaskRecord): Promise<TaskRecord> {
    const { leased, store } = this.#office;
    try {
      await (leased ? this.#put(record) : store.put(record));
      return record;
    } catch (error) {
      const message = isFull(error) ? "The result of this task is too large to be kept" : this.#unexpected(call, error);
      const task: Task = { ...record.task, status: "failed", statusMessage: message };
      const failed: TaskRecord = { ...call.run.record(task), error: { code: ErrorCode.InternalError, message } };
      try {
        await store.put(failed);
      } catch (again) {
        this.#unexpected(call, again);
      }
      return failed;
    }
  }

  /** Puts the end of a leased task; while what processes share is away, once that is back, as long as the task is kept at all. */
  async #put(record: TaskRecord): Promise<void> {
    const until = Date.parse(record.task.createdAt) + (record.task.ttlMs ?? 0);
    for (;;) {
      try {
        return await this.#office.store.put(record);
      } catch (error) {
        if (!(error instanceof RpcError) || this.#closing || Date.now() > until) throw error;
      }
      await again();
    }
  }

  #unexpected(call: TaskCall, error: unknown): string {
    // Who threw it has said what the client is told.
    if (error instanceof RpcError) return error.message;
    const { id, message } = unexpected();
    this.#office.failed(error, call, id);
    return message;
  }
}

function again(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, AGAIN_MS);
    (timer as { unref?: () => void }).unref?.();
  });
}

function isFull(error: unknown): error is LocalError {
  return error instanceof LocalError && error.code === "FULL";
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
