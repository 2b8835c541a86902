// Questions a handler asks by hand: it returns them, and is run again with the answers.
import type { InputRequests } from "../protocol/features/input-required.js";

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
