// Begins tool calls as tasks, in the shape the server's revision has for them.
import { isPassing, LocalError, RpcError } from "../jsonrpc/errors.js";
import { type Awaitable, isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { announcesTask } from "../era/read-result.js";
import { type DetailedTask, isFinal, type Task, TASKS_EXTENSION } from "../protocol/extensions/tasks.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { CallOptions } from "./options.js";
import { pause } from "../jsonrpc/outgoing.js";
import { type Requests, type SendOptions, type Wire, signalOf } from "./wire.js";
import type { ToolCache } from "./caches.js";

/** Options of `callTask`: those of a call, and how many milliseconds the task should be kept. */
export interface TaskOptions extends CallOptions {
  /** Milliseconds the server should keep the task after it was begun (2025-11-25; later the server decides). */
  readonly ttlMs?: number;
}

interface TasksOptions {
  readonly wire: Wire;
  readonly requests: Requests;
  readonly toolCache: ToolCache;
}

/** Tasks begun whose end nobody has seen: the oldest are told of no longer. */
const MOST_TELLING = 1_000;

export class Tasks {
  readonly #options: TasksOptions;
  readonly #open = new Map<string, Set<PolledTask>>();
  /** Tasks whose progress is told under the token of the call that began them, and what ends it. */
  readonly #telling = new Map<string, () => void>();

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  async start(name: string, args: JsonObject | undefined, options: TaskOptions = {}): Promise<TaskHandle> {
    const { requests, toolCache, wire } = this.#options;
    requests.gate("tools", "tools/call");
    const { ttlMs, ...rest } = options;
    const known = toolCache.get(name);
    const forbidden = known !== undefined && (known.tool.execution?.taskSupport ?? "forbidden") === "forbidden";
    const asked = this.requested && !forbidden ? { task: ttlMs === undefined ? {} : { ttl: ttlMs } } : {};
    const params = { name, ...(args === undefined ? {} : { arguments: args }), ...asked };
    const directed = wire.established.revision.rules.tasks === "directed";
    const mirrored = known?.mirrored;
    let told: (() => void) | undefined;
    const result = await requests.run("tools/call", params, {
      ...rest,
      ...(this.requested ? { taker: { take: ({ result: given }) => announcesTask("tools/call", given) } } : {}),
      onSent: (id) => {
        const { conversation } = wire;
        told = () => conversation.endProgress(id);
      },
      ...(directed ? { tasks: true } : {}),
      ...(mirrored === undefined ? {} : { mirrored }),
    });
    if (result["resultType"] === "task") return this.begun(result, name, told);
    return new FinishedTask(await this.#checked(name, result as unknown as CallToolResult));
  }

  /** The handle of a task a server announced in its answer. */
  begun(result: JsonObject, name: string, told?: () => void): TaskHandle {
    const { resultType: _, ...task } = result;
    const check = (found: CallToolResult): Awaitable<CallToolResult> => this.#checked(name, found);
    const about = { ...this.#options, check, watch: this.#watch, over: this.#over };
    const handle = new PolledTask(about, task as unknown as DetailedTask);
    if (told !== undefined) this.#telling.set(handle.id, told);
    const [oldest] = this.#telling.keys();
    if (isFinal(task["status"])) this.#over(handle.id);
    else if (this.#telling.size > MOST_TELLING && oldest !== undefined) this.#over(oldest);
    return handle;
  }

  /** The handle of a task begun before. Throws NOT_SUPPORTED where the server has no tasks. */
  known(id: string): TaskHandle {
    const { capabilities, revision } = this.#options.wire.established;
    const served =
      revision.rules.tasks === "directed" ? capabilities.extensions?.[TASKS_EXTENSION] : capabilities.tasks;
    if (served === undefined)
      throw new LocalError("NOT_SUPPORTED", `Task ${id} was not asked for: the server has no tasks`);
    return new PolledTask({ ...this.#options, check: (found) => found, watch: this.#watch, over: this.#over }, id);
  }

  /** What a notification says of a task. */
  notified(params: JsonObject): void {
    const { taskId } = params;
    if (typeof taskId !== "string") return;
    for (const task of this.#open.get(taskId) ?? []) task.stirred();
    if (isFinal(params["status"])) this.#over(taskId);
  }

  // Whoever saw the end: no progress comes behind it.
  readonly #over = (id: string): void => {
    this.#telling.get(id)?.();
    this.#telling.delete(id);
  };

  // Handles that wait are told of notifications; those that do not are not kept.
  readonly #watch = (id: string, task: PolledTask): (() => void) => {
    const watching = this.#open.get(id) ?? new Set();
    this.#open.set(id, watching.add(task));
    return () => {
      watching.delete(task);
      if (watching.size === 0) this.#open.delete(id);
    };
  };

  /** Whether calls ask for tasks themselves: those of a 2025-11-25 session whose server takes tool calls as tasks. */
  get requested(): boolean {
    const { capabilities, revision } = this.#options.wire.established;
    const requests = capabilities.tasks?.["requests"];
    const tools = isJsonObject(requests) ? requests["tools"] : undefined;
    return revision.rules.tasks === "requested" && isJsonObject(tools) && tools["call"] !== undefined;
  }

  #checked(name: string, result: CallToolResult): Awaitable<CallToolResult> {
    const { toolCache } = this.#options;
    const known = toolCache.get(name);
    const asks = (result as unknown as JsonObject)["resultType"] === "input_required";
    return known === undefined || asks ? result : toolCache.checked(known, result);
  }
}

// The handle of a call that the server answered at once, though it might have made a task of it.

class FinishedTask implements TaskHandle {
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

// Follows a task on the server: looks at intervals, earlier when the server says that something happened.

interface PolledTaskOptions {
  readonly wire: Wire;
  readonly requests: Requests;
  check(result: CallToolResult): Awaitable<CallToolResult>;
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
/** Milliseconds before a look that failed is taken again, the first time and at most. */
const AGAIN_MS = 100;
const MOST_AGAIN_MS = 5_000;
/** Milliseconds after which looks that fail are given up: a server is started again, or another one found, in less. */
const PATIENCE_MS = 60_000;

class PolledTask implements TaskHandle {
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
    const signal = signalOf(options);
    const unwatch = this.#options.watch(this.id, this);
    try {
      let seen = "";
      for (;;) {
        const task = await patiently(() => this.#look(options), signal);
        const now = JSON.stringify([task.status, task.statusMessage, task.lastUpdatedAt]);
        if (now !== seen) yield task;
        seen = now;
        if (isFinal(task.status)) return;
        if (task.status === "input_required") await this.#answer(task, options, signal);
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
    const asked = async (): Promise<CallToolResult> => {
      try {
        const result = await this.#ask("tasks/result", undefined, waiting);
        this.#options.over(this.id);
        return await this.#options.check(result as unknown as CallToolResult);
      } catch (error) {
        // What a server answers for a cancelled task is its own business; that it was cancelled is not.
        if (!(error instanceof RpcError) || isPassing(error)) throw error;
        const { status, statusMessage } = await patiently(() => this.#look(rest), signalOf(options));
        if (status === "cancelled") throw this.#cancelled(statusMessage);
        const isOfTask = isFinal(status) || !isJsonObject(error.data) || error.data["outcome"] !== "unknown";
        throw isOfTask ? error : new LocalError("OUTCOME_UNKNOWN", error.message, { cause: error });
      }
    };
    return patiently(asked, signalOf(options));
  }

  #conclusion({ status, statusMessage, result, error }: DetailedTask): Awaitable<CallToolResult> {
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
  async #answer(
    { inputRequests = {} }: DetailedTask,
    options: CallOptions | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const open = Object.entries(inputRequests).filter(([key]) => !this.#answered.has(key));
    if (open.length === 0) return;
    const inputResponses = await this.#options.requests.answers(Object.fromEntries(open), options);
    for (const [key] of open) this.#answered.add(key);
    await patiently(() => this.#ask("tasks/update", { inputResponses }, options), signal);
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

/**
 * Looks at a task, again and again where a look fails in a way that says nothing of the task: who was asked is ending, or could not be
 * reached, and whoever is asked next may know. What changes something is asked so too where it counts once.
 */
async function patiently<T>(look: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  for (let wait = AGAIN_MS; ; wait = Math.min(2 * wait, MOST_AGAIN_MS)) {
    try {
      return await look();
    } catch (error) {
      if (!isPassing(error) || signal?.aborted === true || performance.now() + wait > until) throw error;
    }
    await pause(wait, signal);
  }
}

// One task on the server, whichever of the two shapes of tasks it has.

/** A task on the server, and its result once there is one (basic/utilities/tasks). */
export interface TaskHandle {
  /** Undefined when the server answered at once instead of beginning a task. */
  readonly id: string | undefined;
  /** What is known of the task now. */
  status(options?: CallOptions): Promise<Task>;
  /**
   * The result, once there is one; questions the task asks on the way are answered. Rejects with the call's RpcError,
   * and with CANCELLED when the task was. `timeoutMs` bounds each look, `signal` the whole wait.
   */
  result(options?: CallOptions): Promise<CallToolResult>;
  /** Asks the server to stop the task. It may still end otherwise: see `status`. */
  cancel(options?: CallOptions): Promise<void>;
  /** Each state that is seen, until the last. */
  updates(options?: CallOptions): AsyncIterable<Task>;
}
