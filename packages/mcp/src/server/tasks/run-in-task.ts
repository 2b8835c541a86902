// Runs a tool's handler as a task: what it asks by hand is asked before the task exists, or as a question of the task.
import type { Answer } from "../../endpoint/answer.js";
import type { InputResponse, InputResponses } from "../../protocol/features/input-required.js";
import { requireCapability } from "../ask-capability.js";
import { checkRound, sealByHand } from "../by-hand.js";
import { type AskServices, Context } from "../context.js";
import { InputRequired } from "../input-required.js";
import type { Interactive } from "../interactive-handler.js";
import type { TaskCall } from "./task-call.js";

/** The outcome of the handler, or `input_required` for a client that has not been told of a task yet. */
export async function runInTask(services: AskServices, call: TaskCall, handler: Interactive): Promise<Answer> {
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
