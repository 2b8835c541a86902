// The handle of a call that the server answered at once, though it might have made a task of it.
import { LocalError } from "../jsonrpc/local-error.js";
import type { Task } from "../protocol/extensions/task.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { TaskHandle } from "./task-handle.js";

export class FinishedTask implements TaskHandle {
  readonly id = undefined;
  readonly #result: CallToolResult;
  readonly #at: string = new Date().toISOString();

  constructor(result: CallToolResult) {
    this.#result = result;
  }

  status(): Promise<Task> {
    const task: Task = {
      taskId: "",
      status: "completed",
      createdAt: this.#at,
      lastUpdatedAt: this.#at,
      ttlMs: 0,
    };
    return Promise.resolve(task);
  }

  result(): Promise<CallToolResult> {
    return Promise.resolve(this.#result);
  }

  cancel(): Promise<void> {
    return Promise.reject(new LocalError("NOT_SUPPORTED", "There is nothing to cancel: the server answered at once"));
  }

  async *updates(): AsyncIterable<Task> {
    yield await this.status();
  }
}
