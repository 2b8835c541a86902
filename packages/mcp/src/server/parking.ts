// The table of parked handlers: they wait here for the retry that wakes them. It belongs to the server, not to a connection.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import type { InputResponses } from "../protocol/features/input-required.js";
import { type Garage, Interaction } from "./interaction.js";
import type { ServerLimits } from "./limits.js";
import { badState, type GivenAnswer, type RequestState, sealState } from "./request-state.js";
import type { Seal } from "./seal.js";

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
