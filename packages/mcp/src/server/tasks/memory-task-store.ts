// Keeps tasks in memory: they die with the process.
import { entryOf, type TaskEntry, TaskIndex, type TaskStoreLimits } from "./task-manager.js";
import { DEFAULT_SERVER_LIMITS } from "../limits.js";
import type { TaskPage, TaskRecord, TaskStore } from "./task-store.js";

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
