// The tasks of one server put together: desk, faces, the middleware that begins them, and who hears of them.
import type { Answer } from "../../endpoint/answer.js";
import type { Call } from "../../endpoint/call.js";
import type { Handler, Middleware } from "../../endpoint/middleware.js";
import type { Codec } from "../../era/codec.js";
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import type { ServerCore } from "../core.js";
import { Session } from "../session.js";
import { beginTask, type TaskOrigin } from "./begin-task.js";
import { DirectedFace, requireTasks } from "./directed-face.js";
import { RequestedFace } from "./requested-face.js";
import type { TaskCall } from "./task-call.js";
import { TaskDesk } from "./task-desk.js";
import { taskDetail } from "./task-detail.js";
import type { TaskFace } from "./task-face.js";
import type { TaskRun } from "./task-run.js";
import type { TaskRecord, TaskStore } from "./task-store.js";
import { peerWords } from "../../jsonrpc/visible-text.js";

/** A task a caller may listen to, and how it looks now. */
export interface VisibleTask {
  readonly taskId: string;
  detail(codec: Codec): object;
}

export class ServerTasks {
  readonly #core: ServerCore;
  readonly #desk: TaskDesk;
  readonly #requested: RequestedFace;
  readonly #directed: DirectedFace;
  readonly #origin: TaskOrigin;
  #enabled = false;

  constructor(core: ServerCore, store: TaskStore) {
    this.#core = core;
    const { limits, seal, failed } = core;
    const changed = (run: TaskRun, record: TaskRecord, call: TaskCall): void => this.#changed(run, record, call);
    this.#desk = new TaskDesk({ limits, store, changed, failed });
    this.#requested = new RequestedFace(this.#desk, core);
    this.#directed = new DirectedFace(this.#desk);
    this.#origin = {
      desk: this.#desk,
      seal,
      graceMs: limits.taskGraceMs,
      get chain() {
        return core.middleware;
      },
      handler: (call) => core.toolCaller.call(call),
      failed,
    };
  }

  /** Puts the middleware of tasks before all others: called with the first tool that can be one, so that nobody else pays. */
  enable(): void {
    if (this.#enabled) return;
    this.#enabled = true;
    this.#core.hadTasks = true;
    const first: Middleware = (call, next) => {
      const face = call.method === "tools/call" ? this.#face(call) : undefined;
      const entry = face && this.#core.tools.get(call.params["name"] as string);
      if (face === undefined || entry === undefined || !this.#core.advertises("tasks")) return next();
      return face.wants(call, entry) ? beginTask(this.#origin, face, call, entry.task === "required") : next();
    };
    this.#core.middleware = [first, ...this.#core.middleware];
  }

  handlers(): readonly (readonly [string, Handler])[] {
    return [
      ["tasks/get", (call): Promise<Answer> => this.#required(call).get(call)],
      ["tasks/cancel", (call): Promise<Answer> => this.#required(call).cancel(call)],
      ["tasks/result", (call): Promise<Answer> => this.#requested.result(call)],
      ["tasks/list", (call): Promise<Answer> => this.#requested.list(call)],
      ["tasks/update", (call): Promise<Answer> => this.#directed.update(call)],
    ];
  }

  /** Those of `taskIds` that the caller may listen to. Throws -32021 for a caller without the extension. */
  async visible(call: Call, taskIds: readonly string[]): Promise<readonly VisibleTask[]> {
    requireTasks(call);
    const found = await Promise.all(
      taskIds.map((taskId) => this.#desk.find(taskId, call.carrier.principal).catch(() => undefined)),
    );
    return found.filter((record) => record !== undefined).map((record) => this.#visible(record));
  }

  /** Ends every task that runs: each is kept as failed, so that whoever asks later learns why. */
  close(): Promise<void> {
    return this.#desk.close();
  }

  #visible(record: TaskRecord): VisibleTask {
    const { taskId } = record.task;
    return {
      taskId,
      detail: (codec) => {
        const run = this.#desk.running(taskId, record.principal)?.run;
        return taskDetail(codec, run?.record() ?? record, run);
      },
    };
  }

  #face(call: Call): TaskFace | undefined {
    const { tasks } = call.caller.codec.revision.rules;
    if (tasks === "none") return undefined;
    return tasks === "requested" ? this.#requested : this.#directed;
  }

  #required(call: Call): TaskFace {
    const face = this.#face(call);
    if (face === undefined) throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${peerWords(call.method)}`);
    return face;
  }

  #changed(run: TaskRun, record: TaskRecord, call: TaskCall): void {
    const { caller } = call;
    const { taskId } = record.task;
    this.#core.subscribers.taskChanged(taskId, (codec) => taskDetail(codec, record, run));
    if (!(caller instanceof Session)) return;
    caller.subscription?.taskChanged(taskId, "notifications/tasks/status", taskDetail(caller.codec, record));
  }
}
