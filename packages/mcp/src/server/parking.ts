// The table of parked handlers: they wait here for the retry that wakes them. It belongs to the server, not to a connection.
import type { Answer, Call, MaybePromise } from "../endpoint/call.js";
import type {
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
} from "../protocol/features/input-required.js";
import type { ServerLimits } from "./limits.js";
import { badState, digest, type GivenAnswer, type RequestState, type Seal, sealState } from "./request-state.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { type Asker, AskError, checkAnswer, requireCapability } from "./ask.js";

/** A handler, ready to run: given its interaction, and told whenever another request serves it. */
export interface Run {
  /** Whether it may be run again from its start. */
  readonly replaySafe: boolean;
  turn(call: Call): void;
  start(interaction: Interaction): MaybePromise<Answer>;
}

interface Place {
  readonly interaction: Interaction;
  timer: ReturnType<typeof setTimeout>;
  /** Of the answers it keeps. */
  characters: number;
}

/** Bounded in number, size and time. */
export class Parking implements Garage {
  readonly rounds: number;
  readonly stateCharacters: number;
  readonly #limits: ServerLimits;
  readonly #seal: Seal;
  readonly #places = new Map<string, Place>();
  #characters = 0;

  constructor(limits: ServerLimits, seal: Seal) {
    this.#limits = limits;
    this.#seal = seal;
    this.rounds = limits.rounds;
    this.stateCharacters = limits.stateCharacters;
  }

  /** Runs a handler that may ask. */
  begin(call: Call, run: Run): Promise<Answer> {
    return this.#run(call, run, []);
  }

  /** Goes on with a parked handler, or runs a replay-safe one again with the answers so far. */
  resume(call: Call, run: Run, state: RequestState): Promise<Answer> {
    const responses = (call.params["inputResponses"] ?? {}) as InputResponses;
    const place = this.#places.get(state.park as string);
    if (place !== undefined) return place.interaction.retry(call, state, responses);
    if (!run.replaySafe) {
      throw badState("belongs to a call this server no longer has: make the call again without it");
    }
    return this.#run(call, run, givenBy(state, responses));
  }

  async park(interaction: Interaction, call: Call, state: RequestState): Promise<string> {
    const sealed = await sealState(this.#seal, call, state, this.#limits.parkedMs);
    this.#keep(interaction);
    return sealed;
  }

  weigh(interaction: Interaction, characters: number): void {
    const place = this.#places.get(interaction.id);
    if (place === undefined) return;
    place.characters += characters;
    this.#characters += characters;
    while (this.#characters > this.#limits.parkedBytes) this.#giveUp(this.#leastNeeded());
  }

  /** Gives every parked handler up. */
  clear(): void {
    for (const id of [...this.#places.keys()]) this.#giveUp(id);
  }

  #run(call: Call, run: Run, given: readonly GivenAnswer[]): Promise<Answer> {
    const interaction = new Interaction(this, run, given);
    return interaction.begin(call, () => run.start(interaction));
  }

  #keep(interaction: Interaction): void {
    const { timer: old, characters = 0 } = this.#places.get(interaction.id) ?? {};
    clearTimeout(old);
    this.#places.delete(interaction.id);
    while (this.#places.size >= this.#limits.parked) this.#giveUp(this.#leastNeeded());
    const timer = setTimeout(() => this.#giveUp(interaction.id), this.#limits.parkedMs);
    // A parked handler must not keep a process alive that has nothing else to do.
    (timer as { unref?: () => void }).unref?.();
    this.#places.set(interaction.id, { interaction, timer, characters });
  }

  /** An interaction that has its answer is only kept for a repeated retry; a parked handler still waits for its first. */
  #leastNeeded(): string {
    for (const [id, { interaction }] of this.#places) if (interaction.finished) return id;
    return this.#places.keys().next().value as string;
  }

  #giveUp(id: string): void {
    const place = this.#places.get(id);
    if (place === undefined) return;
    clearTimeout(place.timer);
    this.#places.delete(id);
    this.#characters -= place.characters;
    place.interaction.expire();
  }
}

/** All answers known after this round, for a run from the start. */
function givenBy(state: RequestState, responses: InputResponses): GivenAnswer[] {
  const given = [...(state.answers ?? [])];
  for (const { key, question } of state.asked ?? []) {
    if (Object.hasOwn(responses, key)) given.push({ key, question, answer: responses[key] as GivenAnswer["answer"] });
  }
  return given;
}

// A short fingerprint of text, against accidents and not against attackers.

/** FNV-1a of the text in eight hexadecimal digits. */
export function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

// One handler's run over several requests (stateless era): it is parked while the client is asked.

/** What an interaction needs of the table it is parked in. */
interface Garage {
  readonly rounds: number;
  readonly stateCharacters: number;
  /** Parks the interaction and gives its sealed state. */
  park(interaction: Interaction, call: Call, state: RequestState): Promise<string>;
  /** Told how long each answer is that the interaction keeps for a retry that is repeated. */
  weigh(interaction: Interaction, characters: number): void;
}

/** What an interaction needs to know of the handler it runs. */
interface Turned {
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
class Interaction implements Asker {
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
