// The outermost middleware of `tools/call`: lets the whole chain below run as a task where both sides want that.
import type { Answer } from "../../endpoint/answer.js";
import type { Call } from "../../endpoint/call.js";
import type { Handler, Middleware } from "../../endpoint/middleware.js";
import { runChain } from "../../endpoint/middleware.js";
import type { CreateTaskResult } from "../../protocol/extensions/task.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import type { JsonObject } from "../../jsonrpc/message.js";
import { handRound } from "../hand-round.js";
import { openState } from "../request-state.js";
import type { Seal } from "../seal.js";
import { conclude, type Settled, settled } from "./conclusion.js";
import { TaskCall } from "./task-call.js";
import type { TaskDesk } from "./task-desk.js";
import type { TaskFace } from "./task-face.js";

/** What beginning a task needs of the server. */
export interface TaskOrigin {
  readonly desk: TaskDesk;
  readonly seal: Seal;
  /** Milliseconds in which a handler may still answer or ask in line, where the server decides what becomes a task. */
  readonly graceMs: number;
  /** The middleware below, and what it ends in. */
  readonly chain: readonly Middleware[];
  readonly handler: Handler;
  readonly failed: (error: unknown, call: Call, errorId: string) => void;
}

/** How a call ended before it became a task; undefined when it goes on. */
type Early = Settled | undefined;

/**
 * Runs a call that is to become a task. It becomes one when its handler has begun: a call the chain refuses is answered
 * as any other. In the stateless era the handler has a moment to ask by hand, or to be done, before that.
 */
export async function beginTask(origin: TaskOrigin, face: TaskFace, call: Call, required: boolean): Promise<Answer> {
  const state = await stateOf(origin, call);
  if (state?.park !== undefined) return runChain(origin.chain, 1, call, origin.handler);
  const run = origin.desk.prepare(call.carrier.principal, face.requestedTtl(call));
  const task = new TaskCall(call, run, call.record.interactive ? handRound(call, state) : undefined);
  call.onCancel = () => task.cancel(call.cancellation ?? { reason: "Cancelled", answered: false });
  const announced = announcement(task, call.record.interactive ? origin.graceMs : 0);
  const outcome = settled(runWhole(origin, task));
  origin.desk.track(outcome);
  const early = await Promise.race([outcome, announced]);
  const inLine = early && answerInLine(task, early, required);
  if (inLine === undefined) return create(origin, task, outcome);
  task.progress?.finish();
  task.ended = true;
  return inLine;
}

async function create({ desk, failed }: TaskOrigin, call: TaskCall, outcome: Promise<Settled>): Promise<Answer> {
  if (call.cancellation !== undefined) throw new LocalError("CANCELLED", call.cancellation.reason);
  call.announced = true;
  try {
    const task = await desk.open(call);
    void outcome.then((settled) => desk.conclude(call, conclude(call, settled, failed)));
    const created: CreateTaskResult = { resultType: "task", ...task };
    return { ...created };
  } catch (error) {
    call.cancel({ reason: "The task could not be kept", answered: false });
    throw error;
  }
}

/** The answer of a call that ended before it was announced, unless its outcome belongs into a task. */
function answerInLine(call: TaskCall, early: Settled, required: boolean): Answer | undefined {
  if ("error" in early) {
    if (!call.entered || call.cancellation !== undefined) throw early.error;
    return undefined;
  }
  // A session asked for a task and must get one; elsewhere the server decides, and a finished call needs none.
  if (!call.record.interactive) return undefined;
  const asks = (early.answer as JsonObject)["resultType"] === "input_required";
  return asks || !call.entered || !required ? early.answer : undefined;
}

/** Resolves when the client is to be told of the task: some time after the handler began, or when it first asks. */
function announcement(call: TaskCall, graceMs: number): Promise<Early> {
  return new Promise((resolve) => {
    const announce = (): void => {
      if (call.inLine) return;
      call.announced = true;
      resolve(undefined);
    };
    call.run.onAsk = announce;
    call.onEnter = () => (graceMs === 0 ? announce() : void setTimeout(announce, graceMs));
  });
}

async function runWhole({ chain, handler }: TaskOrigin, call: TaskCall): Promise<Answer> {
  return runChain(chain, 1, call, handler);
}

function stateOf(
  { seal }: TaskOrigin,
  call: Call,
): Promise<{ readonly park?: string; readonly round: number }> | undefined {
  const sealed = call.record.interactive ? call.params["requestState"] : undefined;
  return sealed === undefined ? undefined : openState(seal, call, sealed as string);
}
