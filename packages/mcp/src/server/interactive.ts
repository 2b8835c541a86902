// Runs a handler that may ask its client, the way the caller's era has it.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import { askByHand, sealByHand } from "./by-hand.js";
import { type AskServices, Context } from "./context.js";
import { type HandRound, handRound } from "./hand-round.js";
import { InputRequired } from "./input-required.js";
import type { Interactive } from "./interactive-handler.js";
import type { Run } from "./parking.js";
import { openState } from "./request-state.js";
import { runInTask } from "./tasks/run-in-task.js";
import { TaskCall } from "./tasks/task-call.js";

/**
 * Runs the handler. In the handshake era its questions are requests on the wire. In the stateless era they end the
 * request with `input_required`, and the client's retry goes on; a caller that can be asked nothing skips all of that.
 */
export function runInteractive(services: AskServices, call: Call, handler: Interactive): MaybePromise<Answer> {
  if (call instanceof TaskCall) return runInTask(services, call, handler);
  if (!call.record.interactive) return askByHand(services, call, handler);
  if (call.params["requestState"] !== undefined) return retry(services, call, handler);
  return start(services, call, handler, handRound(call));
}

async function retry(services: AskServices, call: Call, handler: Interactive): Promise<Answer> {
  const state = await openState(services.seal, call, call.params["requestState"] as string);
  if (state.park !== undefined) return services.parking.resume(call, parkable(services, call, handler), state);
  return start(services, call, handler, handRound(call, state));
}

function start(services: AskServices, call: Call, handler: Interactive, hand?: HandRound): MaybePromise<Answer> {
  if (canBeAsked(call)) return services.parking.begin(call, parkable(services, call, handler, hand));
  const outcome = handler.run(new Context(call, services, undefined, hand));
  return finish(services, call, outcome, hand?.round ?? 0);
}

function parkable(services: AskServices, call: Call, handler: Interactive, hand?: HandRound): Run {
  let context: Context | undefined;
  let served = call;
  return {
    replaySafe: handler.replaySafe,
    turn(next) {
      served = next;
      if (context !== undefined) Context.turn(context, next);
    },
    start(interaction) {
      context = new Context(served, services, interaction, hand);
      return finish(services, served, handler.run(context), hand?.round ?? 0);
    },
  };
}

type Outcome = MaybePromise<Answer | InputRequired>;

function finish(services: AskServices, call: Call, outcome: Outcome, round: number): MaybePromise<Answer> {
  if (outcome instanceof Promise) return outcome.then((answer) => finish(services, call, answer, round));
  return outcome instanceof InputRequired ? sealByHand(services, call, outcome, round) : outcome;
}

function canBeAsked(call: Call): boolean {
  const { elicitation, sampling, roots } = call.caller.capabilities;
  return elicitation !== undefined || sampling !== undefined || roots !== undefined;
}
