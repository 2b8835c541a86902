// Questions a handler asks by hand: it returns them, and is run again with the answers.
import type {
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
} from "../protocol/features/input-required.js";
import type { Answer, Call, MaybePromise } from "../endpoint/call.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { requireCapability, WireAsker } from "./ask.js";
import { type AskServices, type ByHand, Context } from "./context.js";
import { type RequestState, sealState } from "./request-state.js";

/** What {@link inputRequired} made. */
export class InputRequired {
  readonly requests: InputRequests;
  readonly state: unknown;

  constructor(requests: InputRequests, state: unknown) {
    this.requests = requests;
    this.state = state;
  }
}

/**
 * Returned from `run`, `read` or a prompt's `run`: ask the client and call me again. The next run finds the answers in
 * `ctx.inputResponses` and `state` (any JSON, sealed on its way through the client) in `ctx.state`. Works in every
 * revision that has the questions. At least one of the two members is needed.
 *
 * Nothing of the call is kept between the rounds, so any process with the same seal can go on with it. For the same reason a client
 * can send a state again for as long as it is good (`parkedMs`): what must happen only once the handler itself has to
 * remember, or ask with `ctx.elicit`, whose rounds are good for one set of answers.
 */
export function inputRequired(parts: { readonly requests?: InputRequests; readonly state?: unknown }): InputRequired {
  return new InputRequired(parts.requests ?? {}, parts.state);
}

// Serves `inputRequired(...)`: as a sealed answer in the stateless era, as requests on the wire before it.

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

// One round of questions asked by hand: what the client's retry brought.

export interface HandRound extends ByHand {
  readonly round: number;
}

/** The round a request belongs to, given the state it brought, if any; undefined for the first. */
export function handRound(call: Call, state?: RequestState): HandRound | undefined {
  const responses = call.params["inputResponses"] as InputResponses | undefined;
  if (state !== undefined) return { responses: responses ?? {}, state: state.carried, round: state.round };
  return responses && { responses, state: undefined, round: 0 };
}

// What an interactive method runs: a handler that may ask its client before it answers.

/** A handler of one of the three interactive methods. */
export interface Interactive {
  /** Whether it may be run again from its start when its parked run is gone. */
  readonly replaySafe: boolean;
  run(context: Context): MaybePromise<Answer | InputRequired>;
  /** Makes an answer of a question by hand that failed on the wire, or throws what the client is to be told. */
  refused?(error: unknown): Answer;
}
