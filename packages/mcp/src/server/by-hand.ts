// Serves `inputRequired(...)`: as a sealed answer in the stateless era, as requests on the wire before it.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { InputRequest, InputResponse, InputResponses } from "../protocol/features/input-required.js";
import { WireAsker } from "./ask.js";
import { requireCapability } from "./ask-capability.js";
import { type AskServices, type ByHand, Context } from "./context.js";
import { InputRequired } from "./input-required.js";
import type { Interactive } from "./interactive-handler.js";
import { sealState } from "./request-state.js";

/** The stateless answer to a caller: what is asked, and the state it must bring back. */
export async function sealByHand(
  services: AskServices,
  call: Call,
  asked: InputRequired,
  round: number,
): Promise<Answer> {
  checkRound(services, round);
  for (const request of Object.values(asked.requests)) requireCapability(call, request.method, request.params);
  const hasRequests = Object.keys(asked.requests).length > 0;
  const state = { round: round + 1, ...(asked.state === undefined ? {} : { carried: asked.state }) };
  const requestState = await sealState(services.seal, call, state, services.limits.parkedMs);
  return {
    resultType: "input_required",
    ...(hasRequests ? { inputRequests: projected(call, asked) } : {}),
    requestState,
  };
}

/** Runs a handler of the handshake era; whatever it asks by hand is asked over the wire, and it is run again. */
export function askByHand(services: AskServices, call: Call, handler: Interactive): MaybePromise<Answer> {
  return next(services, call, handler, 0);
}

function next(
  services: AskServices,
  call: Call,
  handler: Interactive,
  round: number,
  hand?: ByHand,
): MaybePromise<Answer> {
  const outcome = handler.run(new Context(call, services, undefined, hand));
  const go = (answer: Answer | InputRequired): MaybePromise<Answer> =>
    answer instanceof InputRequired ? again(services, call, handler, { asked: answer, round }) : answer;
  return outcome instanceof Promise ? outcome.then(go) : go(outcome);
}

async function again(
  services: AskServices,
  call: Call,
  handler: Interactive,
  { asked, round }: { readonly asked: InputRequired; readonly round: number },
): Promise<Answer> {
  checkRound(services, round);
  let responses: InputResponses;
  try {
    responses = await askAll(services, call, Object.entries(asked.requests));
  } catch (error) {
    if (handler.refused === undefined) throw error;
    return handler.refused(error);
  }
  return next(services, call, handler, round + 1, { responses, state: asked.state });
}

/** Asks all at once, and nothing at all if one of them cannot be asked. */
async function askAll(
  services: AskServices,
  call: Call,
  requests: readonly [string, InputRequest][],
): Promise<InputResponses> {
  for (const [, { method, params }] of requests) requireCapability(call, method, params);
  const asker = new WireAsker(call, services.asks, services.limits.askTimeoutMs);
  const ask = async ([key, { method, params }]: [string, InputRequest]): Promise<[string, InputResponse]> => [
    key,
    (await asker.ask(method, params ?? {})) as unknown as InputResponse,
  ];
  return Object.fromEntries(await Promise.all(requests.map(ask)));
}

function projected(call: Call, asked: InputRequired): Record<string, unknown> {
  const { codec } = call.caller;
  const requests: Record<string, unknown> = {};
  for (const [key, { method, params }] of Object.entries<InputRequest>(asked.requests)) {
    requests[key] = { method, params: codec.serverRequest(method, params ?? {}) };
  }
  return requests;
}

/** Throws -32603 when a call has asked too many rounds already. */
export function checkRound(services: AskServices, round: number): void {
  const limit = services.limits.rounds;
  if (round < limit) return;
  throw new RpcError(ErrorCode.InternalError, `This call asked more than ${limit} rounds of questions`, { limit });
}
