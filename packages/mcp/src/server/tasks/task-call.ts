// The call a task works on: it outlives the request it came with, and what it sends is marked as the task's.
import { Call } from "../../endpoint/call.js";
import { META } from "../../protocol/meta.js";
import type { HandRound } from "../hand-round.js";
import { Session } from "../session.js";
import type { TaskRun } from "./task-run.js";

/** When the request of a task is answered: by the task's creation, or before it came to that. */
export class TaskCall extends Call {
  readonly run: TaskRun;
  /** What a retry brought; undefined for a first round. */
  readonly hand: HandRound | undefined;
  /** Whether the tool's handler has been reached: until then the call may still be refused. */
  entered = false;
  /** Whether the client has been, or is about to be, told of the task. */
  announced = false;
  /** Set when the handler asked by hand before that: its answer is the questions, and there is no task yet. */
  inLine = false;
  /** Whether its client cancelled it. Middleware may end a call too, and then answers for it. */
  unwanted = false;
  /** Called when the handler is reached. */
  onEnter: () => void = () => undefined;

  constructor(call: Call, run: TaskRun, hand: HandRound | undefined) {
    super(call, call.caller, call.carrier, call.peer);
    this.record = call.record;
    this.run = run;
    this.hand = hand;
    this.onCancel = () => run.giveUp();
  }

  /** Cancels the call because its client wants it no more. */
  cancelForClient(): void {
    if (this.ended) return;
    this.unwanted = true;
    this.cancel({ reason: "The task was cancelled by the client", answered: false });
  }

  override get task(): string | undefined {
    return this.announced ? this.run.taskId : undefined;
  }

  enter(): void {
    if (this.entered) return;
    this.entered = true;
    this.onEnter();
  }

  /**
   * As long as the request is open this is its notification; after that it belongs to the task. The extension has no
   * notifications of this kind on tasks, so only sessions hear of them.
   */
  override notify(method: string, params: object): void | Promise<void> {
    if (!this.announced) return super.notify(method, params);
    if (this.ended || this.cancellation !== undefined || !(this.caller instanceof Session)) return undefined;
    const sent = this.beforeNotify?.(params) ?? params;
    const own = (sent as { _meta?: object })._meta;
    const _meta = { ...own, [META.relatedTask]: { taskId: this.run.taskId } };
    return this.caller.subscription?.send(method, { ...sent, _meta });
  }
}
