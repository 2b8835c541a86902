// Runs a handler that may ask its client, the way the caller's era has it.
import type { Answer, Call, MaybePromise } from "../endpoint/call.js";
import {
  askByHand,
  checkRound,
  type HandRound,
  handRound,
  InputRequired,
  type Interactive,
  sealByHand,
} from "./input-required.js";
import { type AskServices, Context } from "./context.js";
import type { Run } from "./parking.js";
import { openState } from "./request-state.js";
import { TaskCall } from "./tasks/task-run.js";
import type { InputResponse, InputResponses } from "../protocol/features/input-required.js";
import { requireCapability } from "./ask.js";

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

// Runs a tool's handler as a task: what it asks by hand is asked before the task exists, or as a question of the task.

/** The outcome of the handler, or `input_required` for a client that has not been told of a task yet. */
async function runInTask(services: AskServices, call: TaskCall, handler: Interactive): Promise<Answer> {
  call.enter();
  let { hand } = call;
  for (let round = hand?.round ?? 0; ; round++) {
    const outcome = await handler.run(new Context(call, services, call.run, hand));
    if (!(outcome instanceof InputRequired)) return outcome;
    if (!call.announced) {
      call.inLine = true;
      return sealByHand(services, call, outcome, round);
    }
    checkRound(services, round);
    try {
      hand = { responses: await askAll(call, outcome), state: outcome.state, round };
    } catch (error) {
      if (handler.refused === undefined) throw error;
      return handler.refused(error);
    }
  }
}

/** Asks all at once, and nothing at all if one of them cannot be asked. */
async function askAll(call: TaskCall, { requests }: InputRequired): Promise<InputResponses> {
  const questions = Object.entries(requests);
  for (const [, { method, params }] of questions) requireCapability(call, method, params);
  const ask = async ([key, { method, params }]: (typeof questions)[number]): Promise<[string, InputResponse]> => [
    key,
    (await call.run.ask(method, params ?? {})) as unknown as InputResponse,
  ];
  return Object.fromEntries(await Promise.all(questions.map(ask)));
}
