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
 */
export function inputRequired(parts: { readonly requests?: InputRequests; readonly state?: unknown }): InputRequired {
  return new InputRequired(parts.requests ?? {}, parts.state);
}
