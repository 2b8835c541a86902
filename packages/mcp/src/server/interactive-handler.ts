// What an interactive method runs: a handler that may ask its client before it answers.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Context } from "./context.js";
import type { InputRequired } from "./input-required.js";

/** A handler of one of the three interactive methods. */
export interface Interactive {
  /** Whether it may be run again from its start when its parked run is gone. */
  readonly replaySafe: boolean;
  run(context: Context): MaybePromise<Answer | InputRequired>;
  /** Makes an answer of a question by hand that failed on the wire, or throws what the client is to be told. */
  refused?(error: unknown): Answer;
}
