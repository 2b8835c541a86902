// One handler's run over several requests (stateless era): it is parked while the client is asked.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type {
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
} from "../protocol/features/input-required.js";
import { checkAnswer } from "./answers.js";
import type { Asker } from "./ask.js";
import { requireCapability } from "./ask-capability.js";
import { AskError } from "./ask-error.js";
import { fingerprint } from "./fingerprint.js";
import { badState, digest, type GivenAnswer, type RequestState } from "./request-state.js";

/** What an interaction needs of the table it is parked in. */
export interface Garage {
  readonly rounds: number;
  readonly stateCharacters: number;
  /** Parks the interaction and gives its sealed state. */
  park(interaction: Interaction, call: Call, state: RequestState): Promise<string>;
  /** Told how long each answer is that the interaction keeps for a retry that is repeated. */
  weigh(interaction: Interaction, characters: number): void;
}

/** What an interaction needs to know of the handler it runs. */
export interface Turned {
  /** Whether it may be run again from its start, with the answers given so far. */
  readonly replaySafe: boolean;
  /** Told whenever another request serves the handler. */
  turn(call: Call): void;
}

interface Question {
  readonly key: string;
  readonly question: string;
  readonly request: InputRequest;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: unknown) => void;
}

interface Round {
  readonly call: Call;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** A handler that can ask. The client gets `input_required`; its retry goes on where the handler stopped. */
export class Interaction implements Asker {
  readonly id: string = crypto.randomUUID();
  readonly #garage: Garage;
  readonly #handler: Turned;
  readonly #given: GivenAnswer[];
  readonly #used = new Map<number, { readonly digest: string; readonly outcome: Promise<Answer> }>();
  #asked = 0;
  #round = 0;
  #open: Round | undefined;
  #questions: Question[] = [];
  #collecting = false;
  #outcome: { readonly settle: (round: Round) => void } | undefined;

  /** `given` are the answers of earlier rounds, for a handler that is run again from its start. */
  constructor(garage: Garage, handler: Turned, given: readonly GivenAnswer[] = []) {
    this.#garage = garage;
    this.#handler = handler;
    this.#given = [...given];
  }

  /** Whether the handler has ended. */
  get finished(): boolean {
    return this.#outcome !== undefined;
  }

  /** Starts the handler and serves the first round. */
  begin(call: Call, run: () => MaybePromise<Answer>): Promise<Answer> {
    return this.#serve(call, () => {
      Promise.resolve()
        .then(run)
        .then(
          (answer) => {
            this.#settle((round) => round.resolve(answer));
            if (this.#round > 0) this.#garage.weigh(this, lengthOf(answer));
          },
          (error: unknown) => this.#settle((round) => round.reject(error)),
        );
    });
  }

  /** Serves a retry: wakes the handler with the answers, or gives a repeated retry what the first one got. */
  async retry(call: Call, state: RequestState, responses: InputResponses): Promise<Answer> {
    const mark = await digest(responses);
    const used = this.#used.get(state.round);
    if (used !== undefined) {
      if (used.digest === mark) return used.outcome;
      throw badState("was used already, with other answers");
    }
    if (state.round !== this.#round) throw badState("is not the latest of this call");
    for (const { key, request } of this.#questions) checkAnswer(key, request.method, responses);
    const outcome = this.#serve(call, () => this.#wake(responses));
    this.#used.set(state.round, { digest: mark, outcome });
    return outcome;
  }

  async ask(method: string, params: object): Promise<JsonObject> {
    const key = `ask-${++this.#asked}`;
    const request = { method, params } as InputRequest;
    const question = fingerprint(JSON.stringify(request));
    const given = this.#given.find((answer) => answer.key === key);
    if (given !== undefined) {
      if (given.question === question) return given.answer as unknown as JsonObject;
      throw new LocalError(
        "REPLAY",
        "The handler asked something else when it was run again: it is not safe to replay",
      );
    }
    return new Promise((resolve, reject) => {
      this.#questions.push({ key, question, request, resolve, reject });
      this.#collect();
    });
  }

  /** Gives the handler up: whoever waits for an answer gets an error. */
  expire(): void {
    const error = new AskError("EXPIRED", "The client did not come back with an answer in time");
    for (const question of this.#questions) question.reject(error);
    this.#questions = [];
  }

  #serve(call: Call, start: () => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const round: Round = { call, resolve, reject };
      this.#handler.turn(call);
      this.#open = round;
      call.onCancel = () => this.expire();
      if (this.#outcome === undefined) start();
      else this.#outcome.settle(round);
    });
  }

  #settle(settle: (round: Round) => void): void {
    this.#outcome = { settle };
    if (this.#open !== undefined) settle(this.#open);
    this.#open = undefined;
  }

  /** Delivers answers. What is missing is asked again. */
  #wake(responses: InputResponses): void {
    const missing: Question[] = [];
    for (const question of this.#questions) {
      const answer: InputResponse | undefined = Object.hasOwn(responses, question.key)
        ? responses[question.key]
        : undefined;
      if (answer === undefined) {
        missing.push(question);
        continue;
      }
      // Without a replay nobody needs them: neither this memory nor the state that travels with every retry.
      if (this.#handler.replaySafe) this.#given.push({ key: question.key, question: question.question, answer });
      question.resolve(answer as unknown as JsonObject);
    }
    this.#questions = missing;
    if (missing.length > 0) this.#collect();
  }

  /** A timer, not a microtask: everything asked in this turn of the event loop belongs to one round. */
  #collect(): void {
    if (this.#collecting) return;
    this.#collecting = true;
    setTimeout(() => void this.#requireInput(), 0);
  }

  async #requireInput(): Promise<void> {
    this.#collecting = false;
    const round = this.#open;
    if (round === undefined || this.#questions.length === 0) return;
    try {
      if (++this.#round > this.#garage.rounds) throw tooManyRounds(this.#garage.rounds);
      // Each request declares anew what its client can be asked.
      for (const { request } of this.#questions) requireCapability(round.call, request.method, request.params);
      const asked = this.#questions.map(({ key, question }) => ({ key, question }));
      const state: RequestState = { park: this.id, round: this.#round, answers: this.#given, asked };
      const requestState = await this.#garage.park(this, round.call, state);
      if (requestState.length > this.#garage.stateCharacters) throw tooMuchState(this.#garage.stateCharacters);
      const inputRequests: InputRequests = {};
      const { codec } = round.call.caller;
      for (const { key, request } of this.#questions) {
        const params = codec.serverRequest(request.method, request.params ?? {});
        inputRequests[key] = { method: request.method, params } as InputRequest;
      }
      if (this.#open !== round) return;
      this.#garage.weigh(this, requestState.length + JSON.stringify(inputRequests).length);
      this.#open = undefined;
      round.resolve({ resultType: "input_required", inputRequests, requestState });
    } catch (error) {
      round.reject(error);
      this.expire();
    }
  }
}

/** Characters of an answer; of one that is no JSON nobody will keep more than the error. */
function lengthOf(answer: Answer): number {
  try {
    return JSON.stringify(answer).length;
  } catch {
    return 0;
  }
}

function tooManyRounds(limit: number): RpcError {
  return new RpcError(ErrorCode.InternalError, `This call asked more than ${limit} rounds of questions`, { limit });
}

function tooMuchState(limit: number): RpcError {
  return new RpcError(ErrorCode.InternalError, `The state of this call is over ${limit} characters`, { limit });
}
