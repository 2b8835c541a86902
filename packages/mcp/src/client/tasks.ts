// Begins tool calls as tasks, in the shape the server's revision has for them.
import { LocalError } from "../jsonrpc/local-error.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { announcesTask } from "../era/read-result.js";
import { type DetailedTask, isFinal, type Task, TASKS_EXTENSION } from "../protocol/extensions/task.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { Tool } from "../protocol/tool.js";
import type { CallOptions } from "./call-options.js";
import { FinishedTask } from "./finished-task.js";
import { PolledTask } from "./polled-task.js";
import type { Requests } from "./requests.js";
import type { TaskHandle } from "./task-handle.js";
import type { ToolBook } from "./tool-book.js";
import type { Wire } from "./wire.js";

export interface TaskOptions extends CallOptions {
  /** Milliseconds the server should keep the task after it was begun (2025-11-25; later the server decides). */
  readonly ttlMs?: number;
}

export interface TasksOptions {
  readonly wire: Wire;
  readonly requests: Requests;
  readonly book: ToolBook;
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

  /** Whether a plain call of the tool would be refused. */
  mustBeTask(tool: Tool | undefined): boolean {
    return tool?.execution?.taskSupport === "required" && this.#requested;
  }

  async start(name: string, args: JsonObject | undefined, options: TaskOptions = {}): Promise<TaskHandle> {
    const { requests, book, wire } = this.#options;
    requests.gate("tools", "tools/call");
    const { ttlMs, ...rest } = options;
    const known = book.get(name);
    const forbidden = known !== undefined && (known.tool.execution?.taskSupport ?? "forbidden") === "forbidden";
    const asked = this.#requested && !forbidden ? { task: ttlMs === undefined ? {} : { ttl: ttlMs } } : {};
    const params = { name, ...(args === undefined ? {} : { arguments: args }), ...asked };
    const directed = wire.established.revision.rules.tasks === "directed";
    const mirrored = known?.mirrored;
    let told: (() => void) | undefined;
    const result = await requests.run("tools/call", params, {
      ...rest,
      ...(this.#requested ? { outlives: (answer) => announcesTask("tools/call", answer) } : {}),
      onSent: (id) => {
        const { conversation } = wire;
        told = () => conversation.endProgress(id);
      },
      ...(directed ? { tasks: true } : {}),
      ...(mirrored === undefined ? {} : { mirrored }),
    });
    if (result["resultType"] === "task") return this.begun(result, name, told);
    return new FinishedTask(this.#checked(name, result as unknown as CallToolResult));
  }

  /** The handle of a task a server announced in its answer. */
  begun(result: JsonObject, name: string, told?: () => void): TaskHandle {
    const { resultType: _, ...task } = result;
    const check = (found: CallToolResult): CallToolResult => this.#checked(name, found);
    const about = { ...this.#options, check, watch: this.#watch, over: this.#over };
    const handle = new PolledTask(about, task as unknown as DetailedTask);
    if (told !== undefined) this.#telling.set(handle.id, told);
    const [oldest] = this.#telling.keys();
    if (isFinal(task["status"] as Task["status"])) this.#over(handle.id);
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
    if (isFinal(params["status"] as Task["status"])) this.#over(taskId);
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

  /** Whether the server of a 2025-11-25 session takes tool calls as tasks. */
  get #requested(): boolean {
    const { capabilities, revision } = this.#options.wire.established;
    const requests = capabilities.tasks?.["requests"];
    const tools = isJsonObject(requests) ? requests["tools"] : undefined;
    return revision.rules.tasks === "requested" && isJsonObject(tools) && tools["call"] !== undefined;
  }

  #checked(name: string, result: CallToolResult): CallToolResult {
    const { book } = this.#options;
    const known = book.get(name);
    return known === undefined ? result : book.checked(known, result);
  }
}
