// Takes one call to an upstream and its answer back: what it says on the way, what it asks, and how it ends.
import type { Client } from "../client/client.js";
import type { Answers, CallOptions, QuestionContext } from "../client/options.js";
import type { KnownTool } from "../client/caches.js";
import type { SendOptions } from "../client/wire.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { pause, Stop } from "../jsonrpc/outgoing.js";
import { exactly } from "../jsonrpc/exact-numbers.js";
import type { Call } from "../endpoint/call.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import type { Implementation } from "../protocol/capabilities.js";
import type { ElicitResult, Root } from "../protocol/features/elicitation.js";
import type { CompletionReference } from "../protocol/features/prompts.js";
import { LOGGING_LEVELS } from "../protocol/features/lifecycle.js";
import type { CreateMessageResult } from "../protocol/features/sampling.js";
import type { Meta } from "../protocol/meta.js";
import type { OwnAskOptions } from "../server/ask.js";
import { type CompletionReturn, Context } from "../server/context.js";
import type { InputRequired } from "../server/interactive.js";
import { AskError, failure, Relayed, type ToolResult } from "../server/content.js";
import { TaskCall } from "../server/tasks/task-run.js";
import type { Connections } from "./connections.js";
import { asKept, isOwnCall, Sent, writtenOnce } from "./long-answers.js";
import type { AskingCalls, CallAnswers, Lease } from "./offer.js";
import {
  askedBy,
  checkedBy,
  cleaned,
  faultOf,
  isUnsent,
  NOT_BACK,
  passedOn,
  type RelayFailure,
  saidNo,
  toldOf,
  UpstreamError,
  violated,
} from "./told.js";

/** What relaying needs to know of one mount. */
export interface RelayOptions {
  readonly name: string;
  readonly connections: Connections;
  /** Milliseconds an upstream may take over a call without progress. Questions to people do not count in sessions. */
  readonly timeoutMs: number;
  /** Whether calls may be made round by round, where neither side has sessions. */
  readonly rounds: boolean;
  readonly admit?: Admit | undefined;
  readonly words?: RelayedWords | undefined;
  readonly relayed?: ((request: RelayedRequest) => void) | undefined;
  readonly identity: Implementation;
  /** Whether nobody sees an answer between here and its writing. */
  unseen(): boolean;
  warn(text: string): void;
  /** What the URIs of an answer are called outside. */
  expose(answer: JsonObject): JsonObject;
}

/** A question of a server to whoever called it. */
export interface RelayedQuestion {
  readonly call: Call;
  /** The calls of one session within one of which it is asked, where nothing says in which; otherwise `call` alone. */
  readonly among: readonly Call[];
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  /** Which of the questions of this method it is within its call, from 1. */
  readonly number: number;
  readonly params: JsonObject;
}

/** Stands between what a server says and its caller; what a member is missing for passes as it is. */
export interface RelayedWords {
  /** Passes a question on by `pass`, or refuses it by an RpcError, which is what the server is answered with. */
  question?(
    question: RelayedQuestion,
    pass: (params: JsonObject) => Promise<JsonObject | undefined>,
  ): Promise<JsonObject | undefined>;
  /** The answer of a request for `item` as the caller gets it. */
  answer?(answer: JsonObject, item: RelayedItem): JsonObject | Promise<JsonObject>;
  /** An error the server gave to this call, as its caller gets it. `asked`: how many questions the call put to a person before. */
  error?(error: RpcError, call: Call, asked: number): RpcError | Promise<RpcError>;
  /** What a message of its log is called after. */
  logger?(logger: string | undefined): string;
  /** What it says of its progress. */
  progress?(message: string): string;
  /** What of a caller's `_meta` goes on to it, beside what the specification reserves for one hop: that is left out before. */
  meta?(meta: Meta): Meta;
  /** Told of a request that failed, with all there is to say of it, for the server's owner. A sentence it gives is told to the caller. */
  failed?(failure: RelayFailure): string | undefined;
}

/** Something that a server is about to be asked for, by its own name and by the one outside. */
export interface RelayedItem {
  /** `template`: values for a variable of it are asked for; what is read by a template is a `resource`. */
  readonly kind: "tool" | "prompt" | "resource" | "template";
  readonly name: string;
  readonly shown: string;
}

/** Why it may not be asked for; undefined when it may. `call`: the one it is asked for, absent where nobody's is, as for what is watched. */
export type Admit = (item: RelayedItem, call?: Call) => string | undefined;

/** A request that was relayed to a mounted server: told of when it is sent, and again when it is over. */
export interface RelayedRequest {
  /** The call it is made for, as middleware sees it. Of one that parked, the request that brought the last answer. */
  readonly call: Call;
  readonly server: string;
  /** Date of the revision its server speaks. */
  readonly revision: string;
  /** How the bytes travel there, as `client.transport` says it. */
  readonly transport: string;
  /** The ids it had on the wire, the latest last: what is sent again, or answers a question, has an id of its own. */
  readonly ids: readonly RequestId[];
  /** When it was sent first, in milliseconds since 1970. */
  readonly sentAt: number;
  /** Milliseconds until it was over; undefined before. */
  readonly tookMs: number | undefined;
}

/** A prompt or resource as it is called outside, and by its server. */
type Names = Readonly<Record<"shown" | "own", string>>;

/** A call of a tool: by the name its server knows. */
export interface ToolCall {
  readonly tool: { readonly name: string };
  readonly name: string;
  /** What its structured content is held against; undefined: nothing is. */
  readonly promise: KnownTool | undefined;
  /** The arguments that headers repeat, by the definition that is offered: a connection may not have read its list. */
  readonly mirrored: KnownTool["mirrored"];
  readonly arguments: JsonObject;
  readonly context: Context;
}

/** Between two looks at a task that was told to stop: it is asked once, and then left. */
const CANCEL_PATIENCE_MS = 5_000;

export class Relay {
  readonly #options: RelayOptions;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** `asTask`: the upstream takes the call as a task, and decides itself whether it makes one. */
  callTool(call: ToolCall, asTask: boolean): Promise<Answered | ToolResult> {
    return this.#run(call.context, new ToolAsking(call, asTask));
  }

  // What fails ends in a sentence for calls of tools alone.
  read(context: Context, { shown, own }: Names): Promise<Answered> {
    const ask: Asks["ask"] = async (client, options) =>
      (await client.read(own, undefined, options)) as unknown as JsonObject;
    return this.#run(context, { item: { kind: "resource", name: own, shown }, ask }) as Promise<Answered>;
  }

  prompt(args: Readonly<Record<string, string>>, context: Context, { shown, own }: Names): Promise<Answered> {
    const ask: Asks["ask"] = async (client, options) =>
      (await client.prompt(own, args, options)) as unknown as JsonObject;
    return this.#run(context, { item: { kind: "prompt", name: own, shown }, ask }) as Promise<Answered>;
  }

  async complete(
    { ref, item }: { readonly ref: CompletionReference; readonly item: RelayedItem },
    argument: { readonly name: string; readonly value: string },
    request: { readonly arguments: Readonly<Record<string, string>>; readonly context: Context },
  ): Promise<CompletionReturn> {
    const { arguments: chosen, context } = request;
    const ask: Asks["ask"] = async (client, options) => ({
      ...(await client.complete(ref, argument, { ...options, context: chosen })),
    });
    const answered = await this.#run(context, { item, ask });
    return (answered as Relayed).answer as unknown as CompletionReturn;
  }

  // One async function from the caller to the client: each is kept, with all it has, while a person thinks.
  async #run(context: Context, asks: Asks): Promise<Answered | ToolResult> {
    const call = Context.callOf(context);
    const answers = new Questioner(this.#options, context);
    const came = new Sent();
    for (let again = false; ; again = true) {
      let lease: Lease | undefined;
      try {
        // Before a process is started or a byte is sent for it, and once more when what was started could be looked at.
        this.#admit(asks.item, call);
        lease = await this.#leased(asks, call, answers);
        this.#admit(asks.item, call);
        const read = await this.#asked(lease, { context, answers, came, asks });
        lease.release();
        const long = came.whole(read);
        const result = long?.result ?? read;
        const fault = faultOf(asks.item.kind, result, lease.client);
        if (fault !== undefined) throw new LocalError("INVALID_RESPONSE", fault, { brief: fault });
        // What comes of it from here on is no fault of the connection.
        lease = undefined;
        again = true;
        // Nothing may wait while it has a long answer. Who was asked, by whomever, may come twice for it.
        if (long !== undefined && !isRetry(Context.callOf(context)))
          return new Relayed(writtenOnce(call, { ...long, result: this.#plain(result) }, this.#options.identity));
        return await this.#answered(long === undefined ? read : asKept(long), asks.item);
      } catch (error) {
        lease?.release(error);
        if (again || !isUnsent(error)) return this.#failed(error, asks.item, { call, answers, came });
        // What was not sent is sent over another connection: that one is opened, and looked at, as every other.
        came.id = undefined;
      }
    }
  }

  // Apart: what it takes is not kept by the calls that wait.
  async #failed(
    error: unknown,
    item: RelayedItem,
    { call, answers, came }: { readonly call: Call; readonly answers: Questioner; readonly came: Sent },
  ): Promise<ToolResult> {
    const { name, rounds, words = {} } = this.#options;
    const isCall = item.kind === "tool";
    // Without a `before` nobody but the server has asked what is answered now.
    if (answers.any || (rounds && isRetry(call))) came.begun = true;
    const told = await toldOf({ name, call, isCall, came, asked: answers.elicited, words }, error, answers.stop);
    // The model can act on a sentence in a result, and on an error of the protocol it cannot.
    if (isCall && told instanceof UpstreamError) return failure(told.message);
    throw told;
  }

  async #answered(result: JsonObject, item: RelayedItem): Promise<Answered> {
    if (result["resultType"] === "input_required") return askedBy(result);
    const { answer } = this.#options.words ?? {};
    const plain = this.#plain(result);
    return new Relayed(answer === undefined ? plain : await answer(plain, item));
  }

  #plain(result: JsonObject): JsonObject {
    return cleaned(this.#options.expose(exactly(result)));
  }

  /** Whether nobody sees the answer between here and its writing: then what waits for a long one need not have its texts. */
  #unseen({ item }: Asks, context: Context): boolean {
    return item.kind === "tool" && !(Context.callOf(context) instanceof TaskCall) && this.#options.unseen();
  }

  #asked(lease: Lease, { context, answers, came, asks }: Asking): Promise<JsonObject> {
    const { timeoutMs, rounds, words = {} } = this.#options;
    const { client } = lease;
    answers.lease = lease;
    const noted = this.#noted(client, context);
    const options: Writable<SentOptions> = {
      timeoutMs,
      maxTimeoutMs: Math.max(timeoutMs, LONGEST_CALL_MS),
      answers,
      stop: answers.stop,
      onRequest: sentBy(came, noted),
      once: asks.once,
      // A function that stands between may take care of a question or not: then there is the client's time.
      bounded: asks.bounded === true && words.question === undefined,
      mirrored: asks.mirrored,
    };
    if (this.#unseen(asks, context)) options.unseenTaker = came;
    addHearing(options, lease, context, words);
    if (rounds) Object.assign(options, roundOf(client, context));
    const asking = asks.ask(client, options, came);
    return noted === undefined ? asking : asking.finally(noted.over);
  }

  async #leased({ item }: Asks, call: Call, answers: CallAnswers): Promise<Lease> {
    try {
      return await this.#options.connections.lease(call, answers);
    } catch (error) {
      this.#admit(item, call);
      throw error;
    }
  }

  #admit(item: RelayedItem, call: Call): void {
    const { admit, name } = this.#options;
    const refused = admit && saidNo(name, "admit", admit(item, call));
    if (refused !== undefined) throw new UpstreamError(ErrorCode.InvalidParams, refused);
  }

  /** Tells of a request when it is sent and when it is over; undefined where nobody wants to know. */
  #noted(client: Client, context: Context): { onRequest(id: RequestId): void; over(): void } | undefined {
    const { relayed, name: server } = this.#options;
    if (relayed === undefined) return undefined;
    const { revision, transport } = client;
    const sentAt = Date.now();
    const began = performance.now();
    const ids: RequestId[] = [];
    const tell = (tookMs?: number): void => {
      const request = { call: Context.callOf(context), server, revision, transport, ids, sentAt, tookMs };
      // Who only looks on must not keep a call from being made, or its answer from its caller.
      const failed = (error: unknown): void => this.#options.warn(`relayed of ${server} failed: ${String(error)}`);
      try {
        Promise.resolve(relayed(request)).catch(failed);
      } catch (error) {
        failed(error);
      }
    };
    const onRequest = (id: RequestId): void => {
      if (ids.length >= MOST_IDS) ids.shift();
      ids.push(id);
      tell();
    };
    return { onRequest, over: () => void (ids.length > 0 && tell(performance.now() - began)) };
  }
}

/** Ids kept of one request: a call has ten rounds at most, and looks at a task go on for as long as it runs. */
const MOST_IDS = 16;

/** What a relayed request is sent with: its end is told without a signal. */
interface SentOptions extends CallOptions, RelayedOptions {
  readonly stop: Stop;
  readonly unseenTaker?: SendOptions["unseenTaker"];
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What a call of a tool adds to it. */
interface RelayedOptions {
  readonly once?: boolean | undefined;
  readonly bounded?: boolean;
  readonly mirrored?: ToolCall["mirrored"];
}

/** A request, and how it is made once there is a connection for it. */
interface Asks extends RelayedOptions {
  readonly item: RelayedItem;
  ask(client: Client, options: SentOptions, came: Sent): Promise<JsonObject>;
}

/** A call of a tool on its way: it is kept for as long as the call takes. */
class ToolAsking implements Asks {
  readonly once = true;
  readonly #call: ToolCall;
  readonly #asTask: boolean;

  constructor(call: ToolCall, asTask: boolean) {
    this.#call = call;
    this.#asTask = asTask;
  }

  get item(): RelayedItem {
    return { kind: "tool", name: this.#call.name, shown: this.#call.tool.name };
  }

  get mirrored(): ToolCall["mirrored"] {
    return this.#call.mirrored;
  }

  /** What is asked of a person ends by `parkedMs` or `askTimeoutMs` of our server. A task may be kept for longer than its call may take. */
  get bounded(): boolean {
    return !this.#asTask;
  }

  ask(client: Client, options: SentOptions, came: Sent): Promise<JsonObject> {
    const call = this.#call;
    const args = exactly(call.arguments);
    // Read once: the function that is judged is the one that is called.
    const { call: asked } = client;
    const sent =
      options.unseenTaker === undefined || isOwnCall(asked) ? options : { ...options, unseenTaker: undefined };
    const called = this.#asTask
      ? runTask(client, { ...call, arguments: args }, { ...options, came })
      : asked.call(client, call.name, args, sent);
    return checkedBy(client, call.promise, called as Promise<JsonObject>);
  }
}

function sentBy(came: Sent, noted: { onRequest(id: RequestId): void } | undefined): (id: RequestId) => void {
  return (id) => {
    came.id = id;
    noted?.onRequest(id);
  };
}

/** A request on its way to a connection. */
interface Asking {
  readonly context: Context;
  readonly answers: Questioner;
  readonly came: Sent;
  readonly asks: Asks;
}

/** What became of a call: an answer, or questions that its own client is to answer. */
type Answered = Relayed | InputRequired;

/**
 * Where neither side has sessions nothing is kept between the rounds of a call: the server's questions and its state go to the client,
 * sealed with whose they are, and come back with the answers. Elsewhere the questions are asked while the call waits.
 */
function roundOf(client: Client, context: Context): Pick<CallOptions, "round"> | undefined {
  const { record, caller } = Context.callOf(context);
  const possible = client.era === "stateless" && caller.codec.revision.era === "stateless" && record.interactive;
  if (!possible) return undefined;
  const { inputResponses, state } = context;
  const { upstream } = (state ?? {}) as { readonly upstream?: string };
  return {
    round: {
      ...(inputResponses === undefined ? {} : { inputResponses: exactly(inputResponses) }),
      ...(upstream === undefined ? {} : { requestState: upstream }),
    },
  };
}

/** Whether it brings answers: then the call was kept while they were awaited, and so is what it is answered with. */
function isRetry({ params }: Call): boolean {
  return "requestState" in params || "inputResponses" in params;
}

/** Adds what the caller wants to hear, and what of its `_meta` goes on. One object, as a parked call keeps it. */
function addHearing(options: Writable<SentOptions>, lease: Lease, context: Context, words: RelayedWords): void {
  const { client } = lease;
  const { meta } = context;
  const passed = passedOn(words.meta?.(meta) ?? meta);
  if (passed !== undefined) options.meta = passed;
  if (meta["progressToken"] !== undefined) {
    options.onProgress = ({ progress, total, message }) =>
      void context.progress(progress, total, message === undefined ? message : (words.progress?.(message) ?? message));
  }
  const level = LOGGING_LEVELS[Context.callOf(context).caller.logLevel];
  if (level === undefined || client.capabilities.logging === undefined) return;
  if (client.era === "stateless") options.logLevel = level;
  options.onLog = ({ level: its, data, logger }, named) => {
    if (named || lease.hears(its)) void context.log(its, exactly(data), words.logger?.(logger) ?? logger);
  };
}

/** However much progress it makes, a call that takes longer is one nobody waits for. */
const LONGEST_CALL_MS = 3_600_000;

/** Runs a call as a task of the upstream to its end; cancelled with the call. */
async function runTask(
  client: Client,
  call: ToolCall,
  { came, ...options }: SentOptions & { readonly came: Sent },
): Promise<object> {
  const task = Context.callOf(call.context);
  const decided = client.era === "stateless" && task instanceof TaskCall;
  const announce = (): void => {
    if (!(task instanceof TaskCall) || !task.undecided) return;
    task.undecided = false;
    task.run.onAsk();
  };
  // The server decides what becomes a task: until it has, this call is none either.
  if (decided) task.undecided = true;
  else announce();
  const handle = await client.callTask(call.name, call.arguments, options);
  came.begun = true;
  if (handle.id !== undefined) announce();
  try {
    return await handle.result(options);
  } catch (error) {
    if (options.stop.isStopped) await Promise.race([handle.cancel(), pause(CANCEL_PATIENCE_MS, undefined)]);
    throw error;
  }
}

/** How many questions were asked so far, by method. */
type Asked = Partial<Record<Method, number>>;
type Method = RelayedQuestion["method"];

/** Answers what the upstream asks within one call by asking its caller. */
class Questioner implements CallAnswers {
  /** That no other call is under way says nothing: a question may be for one that is over. */
  readonly named = true;
  /** What its call goes over. */
  lease: Lease | undefined;
  /** Ends the upstream's call: when its caller cancels, or does not come back with an answer. */
  readonly stop: Stop = new Stop();
  readonly #options: RelayOptions;
  readonly #context: Context;
  /** The calls within one of which it is asked, where nothing says in which. */
  readonly #among: AskingCalls | undefined;
  /** Most calls ask nothing. */
  #asked: Asked | undefined;

  constructor(options: RelayOptions, context: Context, among?: AskingCalls, asked?: Asked) {
    this.#options = options;
    this.#context = context;
    this.#among = among;
    this.#asked = asked;
    const call = Context.callOf(context);
    // Of several calls all may end it.
    if (among === undefined) (call.handling ?? call).whenCancelled(this);
  }

  among(calls: AskingCalls): CallAnswers {
    return new Questioner(this.#options, this.#context, calls, (this.#asked ??= {}));
  }

  /** Whether anything was asked. */
  get any(): boolean {
    return this.#asked !== undefined;
  }

  get toldRoots(): boolean {
    return this.#asked?.["roots/list"] !== undefined;
  }

  /** Questions put to a person so far. */
  get elicited(): number {
    return this.#asked?.["elicitation/create"] ?? 0;
  }

  /** The call was cancelled, and nobody has taken its place. */
  handleEvent(): void {
    this.stop.stop("cancelled by the caller");
  }

  // Made when something is asked: most calls ask nothing.
  get elicit(): NonNullable<Answers["elicit"]> {
    return (request, about) => this.#ask("elicitation/create", request, about, orCancelled);
  }

  get sample(): NonNullable<Answers["sample"]> {
    return (request, about) => this.#ask("sampling/createMessage", request, about, sampled);
  }

  get roots(): (about?: QuestionContext) => Promise<readonly Root[]> {
    return (about) => this.lease?.roots(about) ?? this.ownRoots(about);
  }

  async ownRoots(about?: QuestionContext): Promise<readonly Root[]> {
    try {
      const pass = async (): Promise<JsonObject> => ({ roots: await this.#context.roots(this.#asAsked(about)) });
      const answer = await this.#questioned("roots/list", {}, pass);
      return (answer?.["roots"] ?? []) as unknown as readonly Root[];
    } catch (error) {
      this.#refused(error);
      throw new RpcError(ErrorCode.InternalError, "The client did not tell its roots");
    }
  }

  /** What `read` makes of the answer, of undefined where none came in time. Rejects with the refusal of the client, in its own number. */
  #ask<T>(method: Method, params: object, about: QuestionContext, read: (answer?: JsonObject) => T): Promise<T> {
    return this.#questioned(method, exactly(params) as JsonObject, this.#passing(method, about)).then(
      (answer) => read(answer && exactly(answer)),
      (error: unknown) => (this.#refused(error), read(undefined)),
    );
  }

  // Apart from what waits for the answer, which would keep what only the asking needs.
  #passing(method: Method, about: QuestionContext): (given: JsonObject) => Promise<JsonObject> {
    return (given) => Context.ask(this.#context, method, given, this.#asAsked(about));
  }

  /** It ends with the question it passes on. One in an answer ends with its call, as ours does: its signal would be made for us, and kept. */
  #asAsked(about: QuestionContext | undefined): OwnAskOptions {
    const signal = about && Object.hasOwn(about, "signal") ? { signal: about.signal } : undefined;
    return { relayed: true, asking: this.#among, ...signal };
  }

  #questioned(
    method: RelayedQuestion["method"],
    params: JsonObject,
    pass: (params: JsonObject) => Promise<JsonObject | undefined>,
  ): Promise<JsonObject | undefined> {
    const { question } = this.#options.words ?? {};
    const call = Context.callOf(this.#context);
    const asked = (this.#asked ??= {});
    const number = (asked[method] ?? 0) + 1;
    asked[method] = number;
    if (question === undefined) return pass(params);
    const exact = (given: JsonObject): Promise<JsonObject | undefined> => pass(given).then(exactly);
    // What it throws at once refuses as well.
    return new Promise((resolve) =>
      resolve(question({ call, among: this.#among?.all ?? [call], method, number, params }, exact)),
    );
  }

  #refused(error: unknown): void {
    if (!(error instanceof AskError)) throw violated(this.#options.name, error);
    const { cause, code } = error;
    if (cause instanceof RpcError) throw new RpcError(cause.code, cause.message, cause.data);
    if (code === "EXPIRED") this.stop.stop(NOT_BACK);
  }
}

function orCancelled(answer: JsonObject | undefined): ElicitResult {
  return (answer ?? { action: "cancel" }) as unknown as ElicitResult;
}

function sampled(answer: JsonObject | undefined): CreateMessageResult | undefined {
  return answer as unknown as CreateMessageResult | undefined;
}
