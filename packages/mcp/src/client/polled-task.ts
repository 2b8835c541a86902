// Follows a task on the server: looks at intervals, earlier when the server says that something happened.
import { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { type DetailedTask, isFinal, type Task } from "../protocol/extensions/task.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { CallOptions } from "./call-options.js";
import type { Requests, SendOptions } from "./requests.js";
import type { TaskHandle } from "./task-handle.js";
import { pause } from "./pause.js";
import type { Wire } from "./wire.js";

export interface PolledTaskOptions {
  readonly wire: Wire;
  readonly requests: Requests;
  check(result: CallToolResult): CallToolResult;
  /** Tells the handle of notifications until the function it returns is called. */
  watch(id: string, task: PolledTask): () => void;
  /** Told that the task has come to its end. */
  over(id: string): void;
}

/** Between two looks, where the server does not say: soon enough for a person who waits. */
const INTERVAL_MS = 1_000;
/** However often a server wants to be asked, it is not asked more often. */
const LEAST_INTERVAL_MS = 50;
/** However seldom: a notification may get lost. */
const MOST_INTERVAL_MS = 30_000;

export class PolledTask implements TaskHandle {
  readonly id: string;
  readonly #options: PolledTaskOptions;
  readonly #answered = new Set<string>();
  #last: DetailedTask | undefined;
  #stir: AbortController | undefined;

  constructor(options: PolledTaskOptions, task: DetailedTask | string) {
    this.#options = options;
    this.id = typeof task === "string" ? task : task.taskId;
    this.#last = typeof task === "string" ? undefined : task;
  }

  status(options?: CallOptions): Promise<Task> {
    return this.#look(options);
  }

  async result(options?: CallOptions): Promise<CallToolResult> {
    const { revision } = this.#options.wire.established;
    // In a session the result comes in one long request, and so do the questions the task asks.
    if (revision.rules.tasks === "requested") return this.#resultOfSession(options);
    for await (const task of this.updates(options)) if (isFinal(task.status)) return this.#conclusion(task);
    throw new LocalError("CANCELLED", `Waiting for the task ${this.id} was cancelled`);
  }

  async cancel(options?: CallOptions): Promise<void> {
    await this.#ask("tasks/cancel", undefined, options);
  }

  async *updates(options?: CallOptions): AsyncIterable<Task> {
    const signal = options?.signal;
    const unwatch = this.#options.watch(this.id, this);
    try {
      let seen = "";
      for (;;) {
        const task = await this.#look(options);
        const now = JSON.stringify([task.status, task.statusMessage, task.lastUpdatedAt]);
        if (now !== seen) yield task;
        seen = now;
        if (isFinal(task.status)) return;
        if (task.status === "input_required") await this.#answer(task, options);
        await this.#wait(task, signal);
        if (signal?.aborted)
          throw new LocalError("CANCELLED", `Waiting for the task ${this.id} was cancelled`, { cause: signal.reason });
      }
    } finally {
      unwatch();
    }
  }

  /** Something happened to the task: the next look is now. */
  stirred(): void {
    this.#stir?.abort();
  }

  async #look(options: CallOptions | undefined): Promise<DetailedTask> {
    this.#last = (await this.#ask("tasks/get", undefined, options)) as unknown as DetailedTask;
    if (isFinal(this.#last.status)) this.#options.over(this.id);
    return this.#last;
  }

  #ask(method: string, params: JsonObject | undefined, options: CallOptions | undefined): Promise<JsonObject> {
    const { requests, wire } = this.#options;
    const directed = wire.established.revision.rules.tasks === "directed";
    const sent: SendOptions | undefined = directed ? { ...options, tasks: true } : options;
    return requests.run(method, { taskId: this.id, ...params }, sent);
  }

  async #resultOfSession(options: CallOptions | undefined): Promise<CallToolResult> {
    const { maxTimeoutMs = Number.POSITIVE_INFINITY, ...rest } = options ?? {};
    const waiting = { ...rest, timeoutMs: Number.POSITIVE_INFINITY, maxTimeoutMs };
    try {
      const result = await this.#ask("tasks/result", undefined, waiting);
      this.#options.over(this.id);
      return this.#options.check(result as unknown as CallToolResult);
    } catch (error) {
      // What a server answers for a cancelled task is its own business; that it was cancelled is not.
      if (!(error instanceof RpcError)) throw error;
      const { status, statusMessage } = await this.#look(rest);
      if (status === "cancelled") throw this.#cancelled(statusMessage);
      throw error;
    }
  }

  #conclusion({ status, statusMessage, result, error }: DetailedTask): CallToolResult {
    if (status === "completed" && result !== undefined) return this.#options.check(result as unknown as CallToolResult);
    if (status === "failed" && error !== undefined) throw new RpcError(error.code, error.message, error.data);
    if (status === "cancelled") throw this.#cancelled(statusMessage);
    const said = statusMessage === undefined ? "" : `: ${statusMessage}`;
    throw new LocalError(
      "INVALID_RESPONSE",
      `The task ${this.id} is ${status}, but the server shows no outcome${said}`,
    );
  }

  #cancelled(statusMessage: string | undefined): LocalError {
    const said = statusMessage === undefined ? "" : `: ${statusMessage}`;
    return new LocalError("CANCELLED", `The task ${this.id} was cancelled${said}`);
  }

  /** Answers the questions that are new: each is shown until the server has taken the answer. */
  async #answer({ inputRequests = {} }: DetailedTask, options: CallOptions | undefined): Promise<void> {
    const open = Object.entries(inputRequests).filter(([key]) => !this.#answered.has(key));
    if (open.length === 0) return;
    const { signal } = options ?? {};
    const inputResponses = await this.#options.requests.answers(Object.fromEntries(open), signal);
    for (const [key] of open) this.#answered.add(key);
    await this.#ask("tasks/update", { inputResponses }, options);
  }

  async #wait({ pollIntervalMs }: DetailedTask, signal: AbortSignal | undefined): Promise<void> {
    const wanted = typeof pollIntervalMs === "number" ? pollIntervalMs : INTERVAL_MS;
    const interval = Math.min(Math.max(wanted, LEAST_INTERVAL_MS), MOST_INTERVAL_MS);
    const stir = new AbortController();
    this.#stir = stir;
    const either = signal === undefined ? stir.signal : AbortSignal.any([signal, stir.signal]);
    await pause(interval, either);
    this.#stir = undefined;
  }
}
