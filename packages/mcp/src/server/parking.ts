// Parked handlers: the table in which they wait for the retry that wakes them, and the sealed states that name them.
import type { Answer, Call, Cancellation, Handling, InteractiveCall, MaybePromise } from "../endpoint/call.js";
import type { InputRequest, InputRequests, InputResponse, InputResponses } from "../protocol/features/elicitation.js";
import { askedFault } from "../protocol/elicitation-form.js";
import type { ServerLimits } from "./limits.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { isThenable, type JsonObject } from "../jsonrpc/message.js";
import { startTimer } from "../jsonrpc/outgoing.js";
import { type AskedQuestion, type Asker, endedBefore, GivingUp, type OwnAskOptions } from "./ask.js";
import { requireCapability, TOO_LATE, WireAsker } from "./ask.js";
import { AskError, fingerprint } from "./content.js";
import { badState, jsonDigest, type GivenAnswer, givenBy, lostState, outcomeUnknown } from "./sealing.js";
import { type RequestState, type Seal, States, tooManyRounds, tooMuchState } from "./sealing.js";
import { checkAnswer, projectQuestions } from "../era/project-question.js";
import { nodeOf, type ServerCluster } from "./subscription.js";

/** A handler, ready to run: given its interaction, and told whenever another request serves it. */
export interface Run {
  /** Whether it may be run again from its start. */
  readonly replaySafe: boolean;
  /** Told whenever another request serves the handler. */
  turn(call: Call): void;
  start(interaction: Interaction): unknown;
  /** What becomes of what the handler gave. */
  ended(given: unknown): MaybePromise<Answer>;
  /** What becomes of what it threw, or of a question by hand that failed on the wire. */
  threw(error: unknown): Answer;
}

/** A call that may run as a task, as far as its questions go. */
interface AskingTask {
  readonly announced: boolean;
  readonly run: Asker;
  inLine: boolean;
}

/** A run that asks by hand. */
interface AskedByHand {
  readonly call: InteractiveCall | (InteractiveCall & AskingTask);
  readonly run: Pick<Run, "threw">;
  readonly asked: { readonly requests: InputRequests; readonly state: unknown };
  readonly round: number;
  /** Runs the handler again. */
  again(hand: { readonly responses: InputResponses; readonly state: unknown }): MaybePromise<Answer>;
}

/** Bounded in number, size and time. */
export class Parking {
  readonly rounds: number;
  readonly stateCharacters: number;
  readonly states: States;
  readonly #limits: ServerLimits;
  /** Nothing is kept between the rounds: each runs the handler again with the answers so far. */
  readonly replays: boolean;
  #cluster: ServerCluster | undefined;
  /** Those parked last stand last: they wait equally long, so that one timer is enough. */
  readonly #places = new Map<string, Interaction>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #characters = 0;

  /** `seal`: the one an author chose. */
  constructor(limits: ServerLimits, seal: Seal | undefined, replays = false) {
    this.replays = replays;
    this.#limits = limits;
    this.states = new States(seal, limits.parkedMs);
    this.rounds = limits.rounds;
    this.stateCharacters = limits.stateCharacters;
  }

  /** From now on there are other processes of this server. */
  join(cluster: ServerCluster | undefined): void {
    this.#cluster = cluster;
    this.states.cluster = cluster;
  }

  /** A new id of a parked handler; among many processes it says where it is parked. */
  newId(): string {
    const id = crypto.randomUUID();
    return this.#cluster === undefined ? id : `${this.#cluster.node}.${id}`;
  }

  /** Runs a handler that may ask. */
  begin(call: Call, run: Run): Promise<Answer> {
    return new Interaction(this, run).begin(call);
  }

  /** Goes on with a parked handler, or runs a replay-safe one again with the answers so far. */
  resume(call: InteractiveCall, run: Run, state: RequestState): Promise<Answer> {
    const { inputResponses: responses = {} } = call.params;
    const parked = this.#places.get(state.park as string);
    if (parked !== undefined) return parked.retry(call, state, responses);
    const elsewhere = this.#cluster !== undefined && nodeOf(state.park as string) !== this.#cluster.node;
    if (!run.replaySafe) {
      if (elsewhere) throw outcomeUnknown();
      throw lostState("belongs to a call this server no longer has");
    }
    const given = givenBy(state, responses);
    return elsewhere ? this.#runOnce(call, run, state, given) : this.#run(call, run, given, state.round);
  }

  /** Runs a handler again whose process has ended: one process does, however often the retry is sent. */
  async #runOnce(call: Call, run: Run, state: RequestState, given: readonly GivenAnswer[]): Promise<Answer> {
    let first: boolean | undefined;
    try {
      first = await this.#cluster?.mark(`round ${state.park} ${state.round}`, this.#limits.parkedMs);
    } catch {
      const what = "What the processes of this server share cannot be reached now: send the same request again later";
      throw new RpcError(ErrorCode.InternalError, what);
    }
    if (first === false) throw badState("was used already, and another process runs the call again");
    return this.#run(call, run, given, state.round);
  }

  #run(call: Call, run: Run, given: readonly GivenAnswer[], round: number): Promise<Answer> {
    return new Interaction(this, run, given, round).begin(call);
  }

  /** Parks a handler that asks. */
  park(interaction: Interaction, call: Call): void {
    if (this.replays) return;
    this.#keep(interaction);
    call.carrier.kept?.();
  }

  /** Told how long each answer is that an interaction keeps for a retry that is repeated. */
  weigh(interaction: Interaction, characters: number): void {
    if (!this.#places.has(interaction.id)) return;
    interaction.characters += characters;
    this.#characters += characters;
    while (this.#characters > this.#limits.parkedBytes) this.#giveUp(this.#leastNeeded());
  }

  /** Gives up what is parked for a principal, whose states are refused from now on. Says how many waited for an answer. */
  endOf(principal: string): number {
    this.states.endOf(principal);
    let waiting = 0;
    for (const [id, interaction] of this.#places) {
      if (interaction.principal !== principal) continue;
      if (!interaction.finished) waiting += 1;
      this.#giveUp(id);
    }
    return waiting;
  }

  /** Opens the state a retry brought. Throws -32602 for one that is not, or no more, good for this call. */
  open(call: Call, sealed: string): Promise<RequestState> {
    return this.states.open(call, sealed);
  }

  /** Throws -32603 when a call has asked too many rounds already, BAD_QUESTION where it asks by hand what is no question. */
  #checkRound(round: number, asked: { readonly requests: unknown; readonly state: unknown }): void {
    const fault = askedFault(asked);
    if (fault !== undefined) throw new LocalError("BAD_QUESTION", `inputRequired: ${fault}`);
    if (round >= this.rounds) throw tooManyRounds(this.rounds);
  }

  /** Asks what a handler asks by hand, and runs it again with the answers. */
  async askedByHand({ call, run, asked, round, again }: AskedByHand): Promise<Answer> {
    this.#checkRound(round, asked);
    const asker = this.#askerOf(call);
    if (asker === undefined) return this.states.askedByHand(call, asked, round);
    let responses: InputResponses;
    try {
      responses = await this.askAll(call, asker, asked.requests);
    } catch (error) {
      return run.threw(error);
    }
    return again({ responses, state: asked.state });
  }

  /** Who asks by hand for a call while its handler's run is kept; undefined where the client has to come back with the answers. */
  #askerOf(call: AskedByHand["call"]): Asker | undefined {
    if (!("inLine" in call))
      return call.record.interactive ? undefined : new WireAsker(call, this.#limits.askTimeoutMs);
    if (call.announced) return call.run;
    // The client was not told of a task yet: its answer is the questions, and there is none.
    call.inLine = true;
    return undefined;
  }

  /** Asks all at once, and nothing at all if one of them cannot be asked. */
  async askAll(call: Call, asker: Asker, asked: InputRequests): Promise<InputResponses> {
    const requests = Object.entries<InputRequest>(asked);
    for (const [, { method, params }] of requests) requireCapability(call, method, params);
    const answers = requests.map(async ([key, { method, params }]) => [key, await asker.ask(method, params ?? {})]);
    return Object.fromEntries(await Promise.all(answers)) as InputResponses;
  }

  /** Whether a handler waits for an answer. */
  get waits(): boolean {
    for (const { finished } of this.#places.values()) if (!finished) return true;
    return false;
  }

  /** Gives every parked handler up. */
  clear(): void {
    for (const id of [...this.#places.keys()]) this.#giveUp(id);
  }

  #keep(interaction: Interaction): void {
    this.#places.delete(interaction.id);
    while (this.#places.size >= this.#limits.parked) this.#giveUp(this.#leastNeeded());
    // In whole milliseconds: a fraction would be kept as an object.
    interaction.due = Math.ceil(performance.now() + this.#limits.parkedMs);
    this.#places.set(interaction.id, interaction);
    if (this.#timer === undefined) this.#wait(this.#limits.parkedMs);
  }

  #wait(ms: number): void {
    const timer = startTimer(() => this.#sweep(), ms);
    // A parked handler must not keep a process alive that has nothing else to do.
    (timer as { unref?: () => void }).unref?.();
    this.#timer = timer;
  }

  #sweep(): void {
    const now = performance.now();
    this.#timer = undefined;
    for (const [id, { due }] of this.#places) {
      // Timers fire up to a millisecond before the clock says so.
      if (due - now >= 1) return this.#wait(due - now);
      this.#giveUp(id);
    }
  }

  /** An interaction that has its answer is only kept for a repeated retry; a parked handler still waits for its first. */
  #leastNeeded(): string {
    for (const [id, { finished }] of this.#places) if (finished) return id;
    return this.#places.keys().next().value as string;
  }

  #giveUp(id: string): void {
    const parked = this.#places.get(id);
    if (parked === undefined) return;
    this.#places.delete(id);
    if (this.#places.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#characters -= parked.characters;
    parked.giveUp();
  }
}

// One handler's run over several requests (stateless era): it is parked while the client is asked.

interface Question {
  readonly key: string;
  readonly question: string;
  readonly request: InputRequest;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: unknown) => void;
  readonly asked: AskedQuestion | undefined;
  /** Undefined for most. */
  readonly givingUp: GivingUp | undefined;
}

const NONE_GIVEN: readonly GivenAnswer[] = [];
const NONE_OPEN: readonly Question[] = [];

/** Answers that came, and what whoever brings the same again is told. */
interface Used {
  readonly digest: string;
  readonly outcome: Promise<Answer>;
  /** Why the handler was ended, whoever waited. */
  cancellation?: Cancellation;
}

interface Round {
  /** The one that the handler speaks for. */
  call: Call;
  /** All that brought the same answers, as where a connection died, from the first on. */
  calls: readonly Call[];
  used?: Used;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** A handler that can ask. The client gets `input_required`; its retry goes on where the handler stopped. */
class Interaction implements Asker, Handling {
  readonly id: string;
  /** Whose call it is: every round of it is theirs. */
  principal: string | undefined;
  /** When it is given up. */
  due = 0;
  /** Of the answers it keeps. */
  characters = 0;
  cancellation: Cancellation | undefined;
  readonly #parking: Parking;
  readonly #run: Run;
  #controller: AbortController | undefined;
  #cancelListeners: readonly { handleEvent(): void }[] | undefined;
  #given: readonly GivenAnswer[];
  #used: Map<number, Used> | undefined;
  #asked = 0;
  #round: number;
  #open: Round | undefined;
  #questions: readonly Question[] = NONE_OPEN;
  #collecting = false;
  /** Set when it is given up: no round of it will come any more. */
  #isOver = false;
  #outcome: { readonly settle: (round: Round) => void } | undefined;

  /** `given` are the answers of the `round` rounds before, for a handler that is run again from its start. */
  constructor(parking: Parking, run: Run, given: readonly GivenAnswer[] = NONE_GIVEN, round = 0) {
    this.id = parking.newId();
    this.#round = round;
    this.#parking = parking;
    this.#run = run;
    this.#given = given;
  }

  /** Whether the handler has ended. */
  get finished(): boolean {
    return this.#outcome !== undefined;
  }

  /** Starts the handler and serves the first round. */
  begin(call: Call): Promise<Answer> {
    this.principal = call.carrier.principal;
    return this.#serve(call, () => {
      queueMicrotask(() => this.#start());
    });
  }

  // Nothing is waited for twice: each promise is kept, with its functions, while somebody thinks.
  #start(): void {
    try {
      Promise.resolve(this.#run.start(this)).then(
        (given) => this.#ended(given),
        (error: unknown) => this.#threw(error),
      );
    } catch (error) {
      this.#threw(error);
    }
  }

  #ended(given: unknown): void {
    try {
      const answer = this.#run.ended(given);
      if (!isThenable(answer)) return this.#succeeded(answer);
      answer.then(
        (made) => this.#succeeded(made),
        (error: unknown) => this.#failed(error),
      );
    } catch (error) {
      this.#failed(error);
    }
  }

  #threw(error: unknown): void {
    try {
      this.#succeeded(this.#run.threw(error));
    } catch (failure) {
      this.#failed(failure);
    }
  }

  #succeeded(answer: Answer): void {
    this.#settle((round) => round.resolve(answer));
    if (this.#round > 0) this.#parking.weigh(this, lengthOf(answer));
  }

  #failed(error: unknown): void {
    this.#settle((round) => round.reject(error));
  }

  /** Serves a retry: wakes the handler with the answers, or gives a repeated retry what the first one got. */
  async retry(call: Call, state: RequestState, responses: InputResponses): Promise<Answer> {
    const mark = await jsonDigest(responses);
    const used = this.#used?.get(state.round);
    if (used !== undefined) {
      if (used.digest !== mark) throw badState("was used already, with other answers");
      if (used === this.#open?.used) this.#join(this.#open, call);
      if (used.cancellation !== undefined) call.cancel(used.cancellation);
      return used.outcome;
    }
    // Nothing came of it yet: a request that brings the same goes on.
    if (call.cancellation !== undefined) return {};
    if (state.round !== this.#round) throw badState("is not the latest of this call");
    for (const { key, request } of this.#questions) checkAnswer(key, request.method, responses);
    const outcome = this.#serve(call, () => this.#wake(responses));
    const use = { digest: mark, outcome };
    (this.#used ??= new Map()).set(state.round, use);
    if (this.#open !== undefined) this.#open.used = use;
    return outcome;
  }

  ask(method: string, params: object, options?: OwnAskOptions, asked?: AskedQuestion): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      try {
        this.#ask({ method, params } as InputRequest, { resolve, reject, asked }, options);
      } catch (error) {
        asked?.failed();
        reject(error);
      }
    });
  }

  #ask(
    request: InputRequest,
    told: Pick<Question, "resolve" | "reject" | "asked">,
    options: OwnAskOptions | undefined,
  ): void {
    if (this.#outcome !== undefined) {
      told.asked?.unheard();
      throw new AskError("EXPIRED", `${request.method}: ${TOO_LATE}`);
    }
    if (this.#isOver) throw new AskError("EXPIRED", NOT_ANSWERED);
    const key = `ask-${++this.#asked}`;
    const question = fingerprint(JSON.stringify(request));
    const given = this.#given.find((answer) => answer.key === key);
    if (given?.question === question) return told.resolve(given.answer as unknown as JsonObject);
    if (given !== undefined) throw new LocalError("REPLAY", ASKED_OTHERWISE);
    if (this.#parking.replays && !this.#run.replaySafe) throw new LocalError("REPLAY", NOT_REPLAYABLE);
    const givingUp = GivingUp.of(request.method, options?.signal, (error) => this.#givenUp(key, error));
    // An array that is added to keeps room for many more.
    this.#questions = this.#questions.concat({ key, question, request, ...told, givingUp });
    this.#collect();
  }

  /** Its handler goes on without the answer. What was handed out may be answered all the same, which is ignored. */
  #givenUp(key: string, error: AskError): void {
    const question = this.#questions.find((each) => each.key === key);
    this.#questions = this.#questions.filter((each) => each !== question);
    question?.asked?.failed();
    question?.reject(error);
  }

  #join(round: Round, call: Call): void {
    round.calls = round.calls.concat(call);
    call.handling = this;
    call.whenCancelled(this);
  }

  /** A request was cancelled. By that of a caller's own the handler ends where nobody else waits for the same answer. */
  handleEvent(): void {
    const round = this.#open;
    if (round === undefined) return;
    const living = round.calls.find(({ cancellation }) => cancellation === undefined);
    const final = round.calls.find(({ cancellation: why }) => why !== undefined && why.own !== true);
    const { cancellation } = final ?? living ?? round.call;
    if (cancellation !== undefined) this.cancel(cancellation);
    else if (living !== undefined && living !== round.call) this.#run.turn((round.call = living));
  }

  cancel(cancellation: Cancellation): void {
    const round = this.#open;
    if (this.cancellation !== undefined || round === undefined) return;
    this.cancellation = cancellation;
    if (round.used !== undefined && cancellation.own !== true) round.used.cancellation = cancellation;
    this.giveUp();
    for (const call of round.calls) call.cancel(cancellation);
    for (const listener of this.#cancelListeners ?? []) listener.handleEvent();
    if (this.#controller !== undefined) void this.signal;
  }

  get signal(): AbortSignal {
    const controller = (this.#controller ??= new AbortController());
    if (this.cancellation) controller.abort(new DOMException(this.cancellation.reason, "AbortError"));
    return controller.signal;
  }

  whenCancelled(listener: { handleEvent(): void }): void {
    if (this.cancellation !== undefined) listener.handleEvent();
    else this.#cancelListeners = (this.#cancelListeners ?? []).concat(listener);
  }

  leadOf(call: Call): Call | undefined {
    const { calls } = this.#open ?? {};
    return this.cancellation === undefined && calls?.includes(call) === true ? calls[0] : undefined;
  }

  /** Whoever waits for an answer gets an error. */
  giveUp(): void {
    this.#isOver = true;
    const error = new AskError("EXPIRED", NOT_ANSWERED);
    for (const { asked, reject } of this.#taken()) {
      asked?.failed();
      reject(error);
    }
  }

  /** The open questions, which are so no more. */
  #taken(): readonly Question[] {
    const questions = this.#questions;
    this.#questions = NONE_OPEN;
    for (const { givingUp } of questions) givingUp?.over();
    return questions;
  }

  #serve(call: Call, start: () => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const round: Round = { call, calls: [], resolve, reject };
      if (this.#outcome !== undefined) return this.#outcome.settle(round);
      this.#run.turn(call);
      this.#open = round;
      this.#join(round, call);
      start();
    });
  }

  #settle(settle: (round: Round) => void): void {
    this.#outcome = { settle };
    for (const { asked, reject, request } of this.#taken()) {
      asked?.unheard();
      reject(endedBefore(request.method));
    }
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
      if (this.#run.replaySafe)
        this.#given = this.#given.concat({ key: question.key, question: question.question, answer });
      question.givingUp?.over();
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
    const [round, questions] = [this.#open, this.#questions];
    try {
      if (round !== undefined && questions.length > 0) await this.#handOut(round, questions);
    } finally {
      this.#collecting = false;
    }
    // None of them was handed out: what was asked meanwhile still belongs to this round.
    if (round !== undefined && this.#open === round && this.#questions.length > 0) this.#collect();
  }

  /** Ends a round with these questions. One that is asked meanwhile belongs to the next: the state that is sealed knows nothing of it. */
  async #handOut(round: Round, questions: readonly Question[]): Promise<void> {
    try {
      if (++this.#round > this.#parking.rounds) throw tooManyRounds(this.#parking.rounds);
      // Each request declares anew what its client can be asked.
      for (const { request } of questions) requireCapability(round.call, request.method, request.params);
      const asked = questions.map(({ key, question }) => ({ key, question }));
      const state: RequestState = { park: this.id, round: this.#round, answers: this.#given, asked };
      const requestState = await this.#parking.states.seal(round.call, state);
      if (this.#open !== round) return;
      const open = questions.filter((each) => this.#questions.includes(each));
      // All were given up while the state was sealed.
      if (open.length === 0) return void this.#round--;
      if (requestState.length > this.#parking.stateCharacters) throw tooMuchState(this.#parking.stateCharacters);
      const asking = open.map(({ key, request }): [string, InputRequest] => [key, request]);
      const inputRequests = projectQuestions(round.call.caller.codec, asking);
      this.#parking.park(this, round.call);
      // What runs again from its start goes on no further here.
      if (this.#parking.replays) this.#taken();
      this.#parking.weigh(this, requestState.length + JSON.stringify(inputRequests).length);
      this.#open = undefined;
      round.resolve({ resultType: "input_required", inputRequests, requestState });
    } catch (error) {
      round.reject(error);
      this.giveUp();
    }
  }
}

const NOT_ANSWERED = "The client did not come back with an answer in time";

const ASKED_OTHERWISE = "The handler asked something else when it was run again: it is not safe to replay";

const NOT_REPLAYABLE =
  'The handler asks where nothing is kept between requests (questions: "replay"), and nobody said that it may be run again ' +
  "with the answers: give it `replay: true` if nothing before its questions does harm when it is repeated";

/** Characters of an answer; of one that is no JSON nobody will keep more than the error. */
function lengthOf(answer: Answer): number {
  try {
    return JSON.stringify(answer).length;
  } catch {
    return 0;
  }
}
