// Tasks by hand, as SDK v1 has them experimentally: a tool that makes its task runs as one of our own.
import type { Extra } from "./extra.js";

/** Tasks kept at once: what is older than the newest hundred was fetched, or will not be. */
const MOST_TASKS = 100;

/** One task of an `InMemoryTaskStore`. */
export interface TaskState {
  readonly taskId: string;
  status: string;
  statusMessage?: string;
  readonly ttl: number | null;
  readonly pollInterval: number;
  readonly createdAt: string;
  lastUpdatedAt: string;
}

interface KeptTask {
  readonly state: TaskState;
  result?: object;
  ended(): void;
  readonly end: Promise<void>;
}

/** A tool that makes a task, says how it is, and gives its result. */
export interface ToolTaskHandler {
  createTask(...args: unknown[]): unknown;
  getTask(...args: unknown[]): unknown;
  getTaskResult(...args: unknown[]): unknown;
}

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Keeps tasks in memory. Ours are kept by our core; this one serves handlers that write their own. */
export class InMemoryTaskStore {
  readonly #tasks = new Map<string, KeptTask>();

  createTask({
    ttl = null,
    pollInterval = 1_000,
  }: { readonly ttl?: number | null; readonly pollInterval?: number } = {}): Promise<TaskState> {
    const oldest = this.#tasks.keys().next().value;
    if (oldest !== undefined && this.#tasks.size >= MOST_TASKS) this.#tasks.delete(oldest);
    const now = new Date().toISOString();
    const state = {
      taskId: crypto.randomUUID(),
      status: "working",
      ttl,
      pollInterval,
      createdAt: now,
      lastUpdatedAt: now,
    };
    let ended = (): void => undefined;
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    this.#tasks.set(state.taskId, { state, ended, end });
    return Promise.resolve(state);
  }

  async getTask(taskId: string): Promise<TaskState> {
    return { ...this.#find(taskId).state };
  }

  async updateTaskStatus(taskId: string, status: string, statusMessage?: string): Promise<void> {
    const task = this.#find(taskId);
    task.state.status = status;
    if (statusMessage !== undefined) task.state.statusMessage = statusMessage;
    task.state.lastUpdatedAt = new Date().toISOString();
    if (ENDED.has(status)) task.ended();
  }

  async storeTaskResult(taskId: string, status: string, result: object): Promise<void> {
    this.#find(taskId).result = result;
    await this.updateTaskStatus(taskId, status);
  }

  async getTaskResult(taskId: string): Promise<object> {
    const { result, state } = this.#find(taskId);
    if (result === undefined) throw new Error(state.statusMessage ?? `Task ${taskId} has no result`);
    return result;
  }

  async listTasks(): Promise<{ tasks: TaskState[] }> {
    return { tasks: [...this.#tasks.values()].map(({ state }) => ({ ...state })) };
  }

  /** Resolves once the task has ended. */
  ended(taskId: string): Promise<void> {
    return this.#find(taskId).end;
  }

  cleanup(): void {
    this.#tasks.clear();
  }

  #find(taskId: string): KeptTask {
    const task = this.#tasks.get(taskId);
    if (task === undefined) throw new Error(`Task with ID ${taskId} not found`);
    return task;
  }
}

/** Our core delivers the questions of a task itself: nothing is queued here. */
export class InMemoryTaskMessageQueue {
  size(): number {
    return 0;
  }
}

const store = new InMemoryTaskStore();

/** The handler of a tool that runs as one of our tasks: it makes its own, waits for it, and gives its result. */
export function taskCallback(handler: ToolTaskHandler, takesArguments: boolean): (...args: never[]) => unknown {
  return async (...given: unknown[]): Promise<unknown> => {
    const extra = given.at(-1) as Extra;
    extra.taskStore = store;
    const args = takesArguments ? given : [extra];
    const made = (await handler.createTask(...args)) as { readonly task: TaskState };
    const { taskId } = made.task;
    extra.taskId = taskId;
    const cancelled = (): void =>
      void store.updateTaskStatus(taskId, "cancelled", "The task was cancelled").catch(() => undefined);
    extra.signal.addEventListener("abort", cancelled, { once: true });
    try {
      await store.ended(taskId);
      return await handler.getTaskResult(...args);
    } finally {
      extra.signal.removeEventListener("abort", cancelled);
    }
  };
}
