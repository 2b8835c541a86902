// One round of questions asked by hand: what the client's retry brought.
import type { Call } from "../endpoint/call.js";
import type { InputResponses } from "../protocol/features/input-required.js";
import type { ByHand } from "./context.js";
import type { RequestState } from "./request-state.js";

export interface HandRound extends ByHand {
  readonly round: number;
}

/** The round a request belongs to, given the state it brought, if any; undefined for the first. */
export function handRound(call: Call, state?: RequestState): HandRound | undefined {
  const responses = call.params["inputResponses"] as InputResponses | undefined;
  if (state !== undefined) return { responses: responses ?? {}, state: state.carried, round: state.round };
  return responses && { responses, state: undefined, round: 0 };
}
