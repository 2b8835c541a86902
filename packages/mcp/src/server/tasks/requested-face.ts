// Tasks toward sessions of 2025-11-25: the client asks for a task in its call, and the result comes as one long answer.
import type { Answer } from "../../endpoint/answer.js";
import type { Call } from "../../endpoint/call.js";
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import { isFinal } from "../../protocol/extensions/task.js";
import { META } from "../../protocol/meta.js";
import type { AskServices } from "../context.js";
import { cursorAfter, readCursor } from "../cursor.js";
import type { ToolEntry } from "../tool.js";
import { cancelled } from "./conclusion.js";
import { ResultStream } from "./result-stream.js";
import { taskDetail } from "./task-detail.js";
import type { TaskDesk } from "./task-desk.js";
import type { TaskFace } from "./task-face.js";
import type { TaskRecord } from "./task-store.js";

/** Name that cursors of `tasks/list` are bound to. */
const LIST = "tasks";

export class RequestedFace implements TaskFace {
  readonly #desk: TaskDesk;
  readonly #services: AskServices;

  constructor(desk: TaskDesk, services: AskServices) {
    this.#desk = desk;
    this.#services = services;
  }

  /** A task is what the client asked for; what the tool does not do, or cannot do without, is refused. */
  wants(call: Call, { tool, task }: ToolEntry): boolean {
    const asked = call.params["task"] !== undefined;
    if (asked && task === undefined) throw notThisWay(`Tool ${tool.name} does not run as a task: leave "task" out`);
    if (!asked && task === "required")
      throw notThisWay(`Tool ${tool.name} runs as a task only: send "task" with the call`);
    return asked;
  }

  requestedTtl(call: Call): number | undefined {
    const { ttl } = call.params["task"] as { ttl?: number | null };
    return ttl ?? undefined;
  }

  async get(call: Call): Promise<Answer> {
    return taskDetail(call.caller.codec, await this.#find(call));
  }

  /** Cancels at once: the status is final before the answer, whatever the handler does. */
  async cancel(call: Call): Promise<Answer> {
    const { task } = await this.#find(call);
    const running = this.#desk.running(task.taskId, call.carrier.principal);
    if (running === undefined || running.run.concluded) throw alreadyEnded(task.status);
    running.call.cancelForClient();
    await this.#desk.conclude(running.call, cancelled(running.call));
    return taskDetail(call.caller.codec, await running.run.ended);
  }

  async result(call: Call): Promise<Answer> {
    const running = this.#desk.running(call.params["taskId"] as string, call.carrier.principal);
    if (running === undefined) return outcomeOf(await this.#find(call));
    return outcomeOf(await new ResultStream(running.run, call, this.#services).serve());
  }

  /** Only for callers the transport knows: anybody else would see everybody's. */
  async list(call: Call): Promise<Answer> {
    const { principal } = call.carrier;
    if (principal === undefined) throw new RpcError(ErrorCode.MethodNotFound, "Method not found: tasks/list");
    const limit = this.#services.limits.pageSize;
    const after = position(call.params["cursor"]);
    const records = await this.#desk.store.list(principal, { after, limit: limit + 1 });
    const shown = records.slice(0, limit);
    const tasks = shown.map((record) => this.#desk.running(record.task.taskId, principal)?.run.record() ?? record);
    const result: JsonObject = { tasks: tasks.map((record) => taskDetail(call.caller.codec, record)) };
    const last = shown.at(-1);
    if (last !== undefined && records.length > limit) result["nextCursor"] = cursorAfter(LIST, last.task.taskId);
    return result;
  }

  #find(call: Call): Promise<TaskRecord> {
    return this.#desk.find(call.params["taskId"] as string, call.carrier.principal);
  }
}

/** What the plain call would have given. */
function outcomeOf({ task, result, error }: TaskRecord): Answer {
  if (error !== undefined) throw new RpcError(error.code, error.message, error.data);
  if (result === undefined) {
    const what = isFinal(task.status) ? "was cancelled and has no result" : "has not ended";
    throw new RpcError(ErrorCode.InternalError, `The task ${what}`);
  }
  const own = result["_meta"] as object | undefined;
  return { ...result, _meta: { ...own, [META.relatedTask]: { taskId: task.taskId } } };
}

function position(cursor: unknown): string | undefined {
  if (cursor === undefined) return undefined;
  const after = readCursor(LIST, cursor as string);
  if (after !== undefined) return after;
  const what = `Invalid cursor ${JSON.stringify(cursor)}: use the nextCursor of tasks/list, or none to start again`;
  throw new RpcError(ErrorCode.InvalidParams, what, { path: "/cursor", constraint: "a cursor of this list" });
}

function notThisWay(what: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, what);
}

function alreadyEnded(status: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `The task has ended already: it is ${status}`, {
    path: "/taskId",
    constraint: "the id of a task that still runs",
  });
}
