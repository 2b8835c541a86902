// Answers a server's questions to the person, the model and the folders: only those that were declared.
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject, peerWords, quotedWords, type RequestId } from "../jsonrpc/message.js";
import { LONGEST_TIMER_MS, type Stop, offAbort, onAbort } from "../jsonrpc/outgoing.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import { McpErrorCode } from "../protocol/meta.js";
import type { ElicitResult, RequestedSchema, Root } from "../protocol/features/elicitation.js";
import { checkToolUse, type CreateMessageRequestParams } from "../protocol/features/sampling.js";
import { type Answers, type CallOptions, checkRoots, type ClientOptions, type Elicit } from "./options.js";
import type { ElicitRequest, QuestionContext, Sample } from "./options.js";
import type { LogMessage } from "./server-watch.js";
import { isWebAddress } from "../protocol/method.js";

/** A form a person can be asked to fill in. */
const MOST_FIELDS = 100;
const TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "array"]);

export class Questions {
  readonly #elicit: Elicit | undefined;
  readonly #sample: Sample | undefined;
  #roots: OwnRoots | readonly Root[] | undefined;

  constructor({ elicit, sample, roots }: Answers) {
    this.#elicit = elicit;
    this.#sample = sample;
    checkRoots(roots);
    this.#roots = roots;
  }

  /** Other folders from now on. */
  setRoots(roots: NonNullable<ClientOptions["roots"]>): void {
    checkRoots(roots);
    this.#roots = roots;
  }

  /**
   * The neutral answer. Rejects with an RpcError whose code the server may see: -32601 for what was never declared,
   * -32602 for questions that break a rule, -1 for what the model's owner refuses, -32603 when the answer does not fit.
   */
  answer(method: string, params: JsonObject, about: QuestionContext, declared: ClientCapabilities): Promise<object> {
    switch (method) {
      case "elicitation/create":
        try {
          return this.#answerElicit(params, about, declared);
        } catch (error) {
          return Promise.reject(error);
        }
      case "sampling/createMessage":
        return this.#answerSample(params, about, declared);
      case "roots/list":
        return this.#answerRoots(about, declared);
      default:
        return Promise.reject(
          new RpcError(ErrorCode.MethodNotFound, `This client does not serve ${peerWords(method)}`),
        );
    }
  }

  #answerElicit(params: JsonObject, about: QuestionContext, { elicitation }: ClientCapabilities): Promise<object> {
    if (this.#elicit === undefined || elicitation === undefined) throw undeclared("elicitation");
    const { mode = "form", message } = params;
    const supported = mode === "url" ? elicitation.url !== undefined : mode === "form" && takesForms(elicitation);
    if (!supported) throw refused(`This client does not take questions of mode ${peerWords(JSON.stringify(mode))}`);
    if (typeof message !== "string") throw refused("params.message must be a string");
    if (mode === "url" && !isWebAddress(params["url"]))
      throw refused("params.url must be a web address of http or https");
    const form = mode === "form" ? checkedForm(params["requestedSchema"]) : undefined;
    const request = { ...params, mode } as unknown as ElicitRequest;
    return Promise.resolve(this.#elicit(request, about)).then((result) => fitted(result, form));
  }

  async #answerSample(params: JsonObject, about: QuestionContext, { sampling }: ClientCapabilities): Promise<object> {
    if (this.#sample === undefined || sampling === undefined) throw undeclared("sampling");
    const { messages, maxTokens, tools, toolChoice } = params;
    if (!Array.isArray(messages) || !messages.every(isMessage))
      throw refused("params.messages must be an array of messages");
    if (typeof maxTokens !== "number") throw refused("params.maxTokens must be a number");
    const usesTools = tools !== undefined || toolChoice !== undefined;
    if (usesTools && sampling.tools === undefined) throw refused("This client did not declare sampling.tools");
    const request = params as unknown as CreateMessageRequestParams;
    const fault = checkToolUse(request.messages);
    if (fault !== undefined) throw new RpcError(ErrorCode.InvalidParams, fault.message, { path: fault.path });
    const answer = await this.#sample(request, about);
    if (answer === undefined) throw new RpcError(McpErrorCode.SamplingRejected, "User rejected sampling request");
    const { content } = Object(answer) as { readonly content?: unknown };
    if (typeof content === "object" && content !== null) return answer;
    const what = "The client's `sample` returned no answer: return { role, model, content: { type, text } }";
    throw new RpcError(ErrorCode.InternalError, what);
  }

  async #answerRoots(about: QuestionContext, declared: ClientCapabilities): Promise<object> {
    const roots = this.#roots;
    if (roots === undefined || declared.roots === undefined) throw undeclared("roots");
    // A gateway, which passes the question on, has to know when it is taken back.
    const found = typeof roots === "function" ? await roots(about) : roots;
    checkRoots(found);
    return { roots: found.filter(({ uri }) => uri.startsWith("file://")) };
  }
}

/** Told of the question, which authors' functions are not. */
export type OwnRoots = (about?: QuestionContext) => readonly Root[] | Promise<readonly Root[]>;

/** The questions that a call waits for. Whoever is asked may never answer: the call ends when it is over all the same. */
export class OpenQuestions {
  /** The caller's. */
  readonly #call: { readonly signal?: AbortSignal | undefined; readonly stop?: Stop | undefined };
  /** The client's. */
  readonly #closing: AbortSignal;
  readonly #withinMs: number | undefined;
  #resolve!: (given: never) => void;
  #reject!: (error: unknown) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Made for who asks for it, which few do: it weighs more than all else that is kept. */
  #over: AbortController | undefined;
  #error: LocalError | undefined;

  constructor(
    call: { readonly signal?: AbortSignal | undefined; readonly stop?: Stop | undefined },
    closing: AbortSignal,
    withinMs: number | undefined,
  ) {
    this.#call = call;
    this.#closing = closing;
    this.#withinMs = withinMs;
  }

  /** Aborted when the call they belong to ends, or the client closes. */
  get signal(): AbortSignal {
    this.#over ??= new AbortController();
    if (this.#error !== undefined) this.#over.abort(this.#error);
    return this.#over.signal;
  }

  /** What the answers resolve with. Rejects with CANCELLED, TIMEOUT or CLOSED as soon as the call is over. */
  until<T>(answers: Promise<T>): Promise<T> {
    const given = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    answers.then(
      (value) => {
        this.#settled();
        this.#resolve(value as never);
      },
      (error) => {
        this.#settled();
        this.#reject(error);
      },
    );
    this.#begin();
    return given;
  }

  #begin(): void {
    const [closing, withinMs] = [this.#closing, this.#withinMs];
    const { signal, stop } = this.#call;
    if (stop?.isStopped === true) return this.stopped(stop.reason);
    if (signal?.aborted === true || closing.aborted) return this.handleEvent();
    if (withinMs !== undefined && withinMs <= LONGEST_TIMER_MS) this.#timer = setTimeout(expired, withinMs, this);
    stop?.listen(this);
    if (signal) onAbort(signal, this);
    onAbort(closing, this);
  }

  /** The call was cancelled. */
  stopped(cause: unknown): void {
    this.#end(new LocalError("CANCELLED", CANCELLED, { cause }));
  }

  /** One of the signals was aborted. */
  handleEvent(): void {
    const { signal } = this.#call;
    if (signal?.aborted === true) this.stopped(signal.reason);
    else this.#end(new LocalError("CLOSED", "The client was closed"));
  }

  expired(): void {
    const late = `The call was given up after ${this.#withinMs} ms, while a question of the server was open`;
    this.#end(new LocalError("TIMEOUT", `${late}. Raise maxTimeoutMs.`));
  }

  #end(error: LocalError): void {
    this.#error = error;
    this.#settled();
    this.#reject(error);
    this.#over?.abort(error);
  }

  #settled(): void {
    const { signal, stop } = this.#call;
    clearTimeout(this.#timer);
    stop?.forget(this);
    if (signal) offAbort(signal, this);
    offAbort(this.#closing, this);
  }
}

function expired(open: OpenQuestions): void {
  open.expired();
}

const CANCELLED = "The call was cancelled while a question of the server was open";

/** What is told of a question in an answer. */
export class QuestionOf implements QuestionContext {
  readonly server: Implementation;
  readonly #open: OpenQuestions;

  constructor(server: Implementation, open: OpenQuestions) {
    this.server = server;
    this.#open = open;
  }

  get signal(): AbortSignal {
    return this.#open.signal;
  }
}

/** `{}` means forms only. */
function takesForms(elicitation: NonNullable<ClientCapabilities["elicitation"]>): boolean {
  return elicitation.form !== undefined || elicitation.url === undefined;
}

function isMessage(message: unknown): boolean {
  return isJsonObject(message) && typeof message["role"] === "string" && typeof message["content"] === "object";
}

// The form comes from the server: what is read of it later must be there.
function checkedForm(form: unknown): RequestedSchema {
  const { properties } = (form ?? {}) as Partial<RequestedSchema>;
  if (!isJsonObject(properties)) throw refused("params.requestedSchema must be an object with properties");
  const names = Object.keys(properties);
  if (names.length > MOST_FIELDS)
    throw refused(`The form has ${names.length} fields, at most ${MOST_FIELDS} can be shown`);
  for (const name of names) {
    const field: unknown = properties[name];
    if (!isJsonObject(field) || !TYPES.has(field["type"]))
      throw refused(`The field ${quotedWords(name)} has no type a form can show`);
  }
  return form as RequestedSchema;
}

const ACTIONS: ReadonlySet<unknown> = new Set(["accept", "decline", "cancel"]);

async function fitted(result: ElicitResult, form: RequestedSchema | undefined): Promise<ElicitResult> {
  // A function in JavaScript may forget to answer.
  if (!ACTIONS.has((result as Partial<ElicitResult> | undefined)?.action))
    throw new RpcError(ErrorCode.InternalError, "`elicit` gives { action }, one of accept, decline and cancel");
  if (form === undefined || result.action !== "accept") {
    const { content: _, ...rest } = result;
    return rest;
  }
  const { content, faults } = await read(form, result.content);
  if (faults.length === 0) return { ...result, content };
  const text = faults.map(({ message }) => message).join("; ");
  throw new RpcError(ErrorCode.InternalError, `The answer does not fit the form: ${text}`);
}

type Forms = typeof import("../protocol/elicitation-form.js");

async function read(form: RequestedSchema, content: unknown): Promise<ReturnType<Forms["readAnswer"]>> {
  // Most clients are never asked.
  const { readAnswer } = await import("../protocol/elicitation-form.js");
  try {
    return readAnswer(form, content);
  } catch {
    throw refused("params.requestedSchema lists its choices in a way no form can show");
  }
}

function undeclared(capability: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, `This client did not declare the capability ${capability}`);
}

function refused(text: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, text);
}

// The calls under way whose caller wants to answer the server's questions, or hear its log, himself.

/** Finds the call that something the server says belongs to: by its stream, or because there is no other. */
export class OpenCalls {
  readonly #open = new Map<RequestId, Pick<CallOptions, "answers" | "onLog">>();

  add(id: RequestId, call: Pick<CallOptions, "answers" | "onLog">): void {
    this.#open.set(id, call);
  }

  delete(id: RequestId): void {
    this.#open.delete(id);
  }

  /**
   * Who answers a question. `stream` is the request on whose stream it came. Where nothing says which call it belongs to and
   * there are several, it is nobody's: undefined.
   */
  asked(stream: RequestId | undefined): Questions | undefined {
    const isOnly = stream === undefined && this.#open.size === 1;
    const [call] = isOnly ? this.#open.values() : [this.#open.get(stream as RequestId)];
    const answers = call?.answers;
    // Most calls are asked nothing.
    return answers === undefined || (isOnly && answers.named === true) ? undefined : new Questions(answers);
  }

  /** Hands a log message to the call of its stream; without a stream it may belong to any. */
  logged(stream: RequestId | undefined, message: LogMessage): void {
    if (stream !== undefined) this.#open.get(stream)?.onLog?.(message, true);
    else for (const { onLog } of this.#open.values()) onLog?.(message, false);
  }
}
