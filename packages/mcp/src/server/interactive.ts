// Runs handlers that may ask their client, by `ctx.elicit` and its like or by hand: one way for every era.
import { type Answer, type Call, type InteractiveCall, Later, type MaybePromise } from "../endpoint/call.js";
import { brand } from "../jsonrpc/errors.js";
import { isThenable } from "../jsonrpc/message.js";
import type { InputRequests } from "../protocol/features/elicitation.js";
import type { Asker } from "./ask.js";
import { type AskServices, type ByHand, Context, type HandRound } from "./context.js";
import type { Parking, Run } from "./parking.js";
import type { RequestState } from "./sealing.js";
import type { TaskCall } from "./tasks/task-run.js";

/** Looks through what handlers returned that is not plainly what it should be: loaded with the first of it. */
export const returnedValues: Later<typeof import("./returned.js")> = new Later(() => import("./returned.js"));

/** What {@link inputRequired} made. */
export class InputRequired {
  readonly requests: InputRequests;
  readonly state: unknown;

  static {
    brand(this, "InputRequired");
  }

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
  const { requests, state } = Object(parts) as typeof parts;
  return new InputRequired(requests ?? {}, state);
}

// Runs a handler: in the handshake era what it asks is a request on the wire, in the stateless era it ends the request.

/** A handler of one of the three interactive methods. */
export interface Interactive {
  /** Whether it may be run again from its start when its parked run is gone. */
  readonly replaySafe: boolean;
  run(context: Context): unknown;
  /** Makes an answer of what it gave, where that is none yet. */
  ended?(given: unknown, context: Context): MaybePromise<Answer | InputRequired>;
  /** Makes an answer of what it threw, or of a question by hand that failed on the wire, or throws what the client is to be told. */
  threw?(error: unknown, context: Context): Answer;
}

/** One run of a handler, for as many rounds as it asks by hand. */
interface Rounds {
  readonly services: AskServices;
  readonly call: InteractiveCall;
  readonly handler: Interactive;
  /** Who asks what the handler asks from within, where that is not the wire. */
  interaction: Asker | undefined;
}

/**
 * Runs the handler. In the handshake era its questions are requests on the wire. In the stateless era they end the
 * request with `input_required`, and the client's retry goes on; a caller that can be asked nothing skips all of that.
 */
export function runInteractive(
  services: AskServices,
  call: InteractiveCall,
  handler: Interactive,
): MaybePromise<Answer> {
  if (isTaskCall(call)) {
    call.enter();
    return play(new HandlerRun({ services, call, handler, interaction: call.run }, call.hand));
  }
  const rounds = { services, call, handler, interaction: undefined };
  if (!call.record.interactive) return play(new HandlerRun(rounds));
  const { requestState } = call.params;
  if (requestState !== undefined) return services.parking.use((parking) => retry(parking, rounds, requestState));
  return first(rounds, handRound(call));
}

async function retry(parking: Parking, rounds: Rounds, requestState: string): Promise<Answer> {
  const { call } = rounds;
  const state = await parking.open(call, requestState);
  if (state.park !== undefined) return parking.resume(call, new HandlerRun(rounds), state);
  return first(rounds, handRound(call, state));
}

function first(rounds: Rounds, hand?: HandRound): MaybePromise<Answer> {
  const { services, call } = rounds;
  const run = new HandlerRun(rounds, hand);
  return canBeAsked(call)
    ? // Given up while the code was loaded: nothing of it begins, and nobody waits for what this says.
      services.parking.use((parking) => (call.cancellation ? {} : parking.begin(call, run)))
    : play(run);
}

/** Runs a handler once; what it asks by hand is asked, and it is run again with the answers. */
function play(run: HandlerRun): MaybePromise<Answer> {
  try {
    const given = run.start();
    if (!isThenable(given)) return run.ended(given);
    return Promise.resolve(given).then(
      (value) => run.ended(value),
      (error: unknown) => run.threw(error),
    );
  } catch (error) {
    return run.threw(error);
  }
}

/** One run of a handler, in steps: whoever keeps it while somebody thinks has one promise less to keep. */
class HandlerRun implements Run {
  readonly #rounds: Rounds;
  readonly #hand: HandRound | undefined;
  #context: Context | undefined;

  constructor(rounds: Rounds, hand?: HandRound) {
    this.#rounds = rounds;
    this.#hand = hand;
  }

  get replaySafe(): boolean {
    return this.#rounds.handler.replaySafe;
  }

  turn(next: Call): void {
    if (this.#context !== undefined) Context.turn(this.#context, next);
  }

  start(interaction?: Asker): unknown {
    const rounds = this.#rounds;
    rounds.interaction ??= interaction;
    this.#context = new Context(rounds.call, rounds.services, rounds.interaction, this.#hand);
    return rounds.handler.run(this.#context);
  }

  ended(given: unknown): MaybePromise<Answer> {
    const { handler } = this.#rounds;
    const made = handler.ended?.(given, this.#context as Context) ?? (given as Answer | InputRequired);
    return isThenable(made) ? made.then((asked) => this.#asked(asked)) : this.#asked(made);
  }

  threw(error: unknown): Answer {
    const { handler } = this.#rounds;
    if (handler.threw === undefined) throw error;
    return handler.threw(error, this.#context as Context);
  }

  #asked(asked: Answer | InputRequired): MaybePromise<Answer> {
    if (!(asked instanceof InputRequired)) return asked;
    const rounds = this.#rounds;
    const { services, call } = rounds;
    const round = this.#hand?.round ?? 0;
    const again = (hand: ByHand): MaybePromise<Answer> => play(new HandlerRun(rounds, { ...hand, round: round + 1 }));
    return services.parking.use((parking) => parking.askedByHand({ call, run: this, asked, round, again }));
  }
}

/** The round a request belongs to, given the state it brought, if any; undefined for the first. */
export function handRound(call: InteractiveCall, state?: RequestState): HandRound | undefined {
  const { inputResponses: responses } = call.params;
  if (state !== undefined) return { responses: responses ?? {}, state: state.carried, round: state.round };
  return responses && { responses, state: undefined, round: 0 };
}

/** Whether a call may run as a task. Tells it by what such calls alone have: a server without tasks never loads them. */
function isTaskCall(call: Call): call is TaskCall {
  return "inLine" in call;
}

function canBeAsked(call: Call): boolean {
  const { elicitation, sampling, roots } = call.caller.capabilities;
  return elicitation !== undefined || sampling !== undefined || roots !== undefined;
}
