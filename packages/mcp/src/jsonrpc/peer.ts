// One side of a conversation: sorts what arrives, answers what is not a valid message, and matches answers to requests.
import {
  type Carrier,
  type Excerpt,
  type IdentifiedCarrier,
  type Identity,
  identityOf,
  type MessageSink,
  type OutgoingKind,
} from "./transport.js";
import { ErrorCode, LocalError, RpcError } from "./errors.js";
import { identify, ParseFault, parseJson } from "./parse.js";
import type { JsonRpcLimits } from "./limits.js";
import {
  type FailureMessage,
  failureText,
  isJsonObject,
  isRequestId,
  type JsonObject,
  type NotificationMessage,
  type RequestId,
  type RequestMessage,
  requestText,
  type SuccessMessage,
} from "./message.js";
import { peerWords } from "./visible-text.js";

/** What the JSON-RPC layer has to know of the dialect being spoken at the moment. */
export interface WireRules {
  readonly batches: boolean;
  /** What stands for the id in the answer to a message whose id could not be read. */
  readonly unreadableId: "null" | "absent";
}

export interface PeerHandler {
  rules(): WireRules;
  /** Must answer with exactly one "response" on `carrier`, or call `carrier.abandon`; must not throw. */
  request(message: RequestMessage, carrier: Carrier): void;
  /** Must not throw. */
  notification(message: NotificationMessage, carrier: Carrier): void;
  /** Called for each element of a batch before any is served; an error refuses that element. */
  batchElement?(message: RequestMessage | NotificationMessage): RpcError | undefined;
  /** Told, for the log, of what was neither served nor answered: stray responses, invalid notifications. */
  ignored?(reason: string): void;
  /** The other side will send no more; requests of ours have been rejected already. */
  closed?(): void;
}

export class Peer implements MessageSink {
  readonly #handler: PeerHandler;
  readonly #limits: JsonRpcLimits;
  /** Made at the first request of ours: most sessions never ask anything. */
  #pending: PendingRequests | undefined;
  readonly #answers: AnswerTable | undefined;
  #closed = false;

  /** `answers`: who takes the responses, when requests are not sent by `request`. */
  constructor(handler: PeerHandler, limits: JsonRpcLimits, answers?: AnswerTable) {
    this.#handler = handler;
    this.#limits = limits;
    this.#answers = answers;
  }

  /** The number of requests of ours that wait for an answer. */
  get pending(): number {
    return this.#pending?.size ?? 0;
  }

  receive(text: string, carrier: Carrier): void {
    this.deliver(parseJson(text, this.#limits), carrier);
  }

  /** Takes in what `parseJson` made of a text, for transports that have to look at a message themselves. */
  deliver(value: unknown, carrier: Carrier): void {
    if (value instanceof ParseFault) this.#refuse(value, carrier);
    else if (Array.isArray(value)) this.#receiveBatch(value, carrier);
    else this.#receiveOne(value, carrier);
  }

  unreadable(error: RpcError, carrier: Carrier, excerpt?: Excerpt): void {
    const identity = excerpt === undefined ? undefined : identify(excerpt);
    this.#refuse(new ParseFault(error.code, error.message, identity), carrier);
  }

  closed(): void {
    this.#closed = true;
    this.#pending?.close();
    this.#answers?.close();
    this.#handler.closed?.();
  }

  /**
   * Sends a request to the other side over `carrier` and resolves with its result. Rejects with an `RpcError` when it
   * is answered with an error, otherwise with a `LocalError` (CLOSED, TIMEOUT, CANCELLED, LIMIT, INVALID_RESPONSE).
   */
  request(carrier: Carrier, message: OutgoingRequest, options: RequestOptions): Promise<JsonObject> {
    if (this.#pending === undefined) {
      this.#pending = new PendingRequests(this.#limits);
      if (this.#closed) this.#pending.close();
    }
    return this.#pending.send(carrier, message, options);
  }

  #receiveOne(value: unknown, carrier: Carrier): void {
    const kind = classify(value);
    if (kind === "request") this.#handler.request(value as RequestMessage, carrier);
    else if (kind instanceof ParseFault) this.#refuse(kind, carrier);
    else {
      if (kind === "notification") this.#handler.notification(value as NotificationMessage, carrier);
      else this.#receiveResponse(kind, value);
      carrier.abandon?.();
    }
  }

  // What kind it is says `classify` alone: a member may be there and be null.
  #receiveResponse(kind: "success" | "failure", value: unknown): void {
    const table = this.#answers ?? this.#pending;
    const message = value as SuccessMessage | FailureMessage;
    const expected =
      kind === "success" ? table?.succeed(value as SuccessMessage) : table?.fail(value as FailureMessage);
    if (expected === true) return;
    const detail = kind === "failure" ? `: ${peerWords((value as FailureMessage).error.message)}` : "";
    this.#ignore(`response to no pending request, id ${peerWords(JSON.stringify(message.id ?? null))}${detail}`);
  }

  #receiveBatch(elements: readonly unknown[], carrier: Carrier): void {
    const fault = this.#faultOfBatch(elements);
    if (fault !== undefined) return this.#refuse(fault, carrier);
    const accepted: (RequestMessage | NotificationMessage)[] = [];
    const refusals: string[] = [];
    let requests = 0;
    for (const element of elements) {
      const kind = this.#classifyElement(element);
      if (kind instanceof ParseFault) {
        const text = this.#refusal(kind);
        if (text !== undefined) refusals.push(text);
      } else if (kind === "success" || kind === "failure") {
        this.#receiveResponse(kind, element);
      } else {
        accepted.push(element as RequestMessage | NotificationMessage);
        if (kind === "request") requests++;
      }
    }
    const answers = new BatchAnswers(carrier, requests, refusals);
    for (const message of accepted) {
      if ("id" in message) this.#handler.request(message, new BatchElementCarrier(answers));
      else this.#handler.notification(message, carrier);
    }
  }

  #faultOfBatch(elements: readonly unknown[]): ParseFault | undefined {
    const limit = this.#limits.batch;
    let text: string | undefined;
    if (!this.#handler.rules().batches) text = "This protocol revision has no batches: send one message at a time";
    else if (elements.length === 0) text = "A batch must hold at least one message";
    else if (elements.length > limit) text = `Batch refused: it holds more than ${limit} messages`;
    return text === undefined ? undefined : new ParseFault(ErrorCode.InvalidRequest, text);
  }

  #classifyElement(element: unknown): ReturnType<typeof classify> {
    const kind = classify(element);
    if (kind !== "request" && kind !== "notification") return kind;
    const error = this.#handler.batchElement?.(element as RequestMessage | NotificationMessage);
    if (error === undefined) return kind;
    const { id } = element as Partial<RequestMessage>;
    return new ParseFault(error.code, error.message, { id, silent: kind === "notification" });
  }

  #refuse(fault: ParseFault, carrier: Carrier): void {
    const text = this.#refusal(fault);
    if (text === undefined) carrier.abandon?.();
    else void carrier.write(text, "response", fault.code);
  }

  // The text that answers a fault; undefined when it is not answered.
  #refusal(fault: ParseFault): string | undefined {
    const { code, message, id, silent } = fault;
    if (!silent) {
      const unreadable = this.#handler.rules().unreadableId === "null" ? null : undefined;
      return failureText(id ?? unreadable, { code, message });
    }
    if (id === undefined || (this.#answers ?? this.#pending)?.failMalformed(id) !== true) this.#ignore(message);
  }

  #ignore(reason: string): void {
    this.#handler.ignored?.(reason);
  }
}

// Collects the answers to one batch and sends them as one array when the last is there.

/** The answers still owed to one batch; `waiting` counts its requests. */
class BatchAnswers {
  readonly carrier: Carrier;
  #waiting: number;
  /** It held a request, none of which will get an answer. */
  readonly #requests: boolean;
  readonly #texts: string[];

  /** `texts` are the answers known already: refusals of elements that were not valid. */
  constructor(carrier: Carrier, waiting: number, texts: string[]) {
    this.carrier = carrier;
    this.#waiting = waiting;
    this.#requests = waiting > 0;
    this.#texts = texts;
    if (waiting === 0) void this.#send();
  }

  /** Takes the answer to one request, or undefined when it will get none. */
  settle(text: string | undefined): void | Promise<void> {
    if (text !== undefined) this.#texts.push(text);
    if (--this.#waiting === 0) return this.#send();
  }

  // A batch that holds nothing to answer is answered with nothing, not with an empty array.
  #send(): void | Promise<void> {
    if (this.#texts.length > 0) return this.carrier.write(`[${this.#texts.join(",")}]`, "response");
    this.carrier.abandon?.(this.#requests);
  }
}

/** The carrier of one request in a batch: its response joins the others, all else passes through. */
class BatchElementCarrier implements IdentifiedCarrier {
  readonly #answers: BatchAnswers;
  #settled = false;

  constructor(answers: BatchAnswers) {
    this.#answers = answers;
  }

  get kind(): string {
    return this.#answers.carrier.kind;
  }

  get principal(): string | undefined {
    return this.#answers.carrier.principal;
  }

  get identity(): Identity | undefined {
    return identityOf(this.#answers.carrier);
  }

  get closed(): boolean {
    return this.#answers.carrier.closed;
  }

  get answersOnly(): boolean {
    return this.#answers.carrier.answersOnly === true;
  }

  get unheard(): boolean {
    return this.#answers.carrier.unheard === true;
  }

  header(name: string): string | undefined {
    return this.#answers.carrier.header(name);
  }

  write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void> {
    if (kind !== "response") return this.#answers.carrier.write(text, kind, errorCode);
    return this.#settle(text);
  }

  abandon(): void {
    void this.#settle(undefined);
  }

  #settle(text: string | undefined): void | Promise<void> {
    if (this.#settled) return;
    this.#settled = true;
    return this.#answers.settle(text);
  }
}

// Tells the four kinds of message apart. The parsed object itself is the message: nothing is copied.

type MessageKind = "request" | "notification" | "success" | "failure";

/** The kind of a parsed message, or a fault that names the rule it breaks and keeps its id where it has a valid one. */
export function classify(value: unknown): MessageKind | ParseFault {
  if (!isJsonObject(value)) return new ParseFault(ErrorCode.InvalidRequest, "A message must be a JSON object");
  const { id, params, result, error } = value;
  if (typeof value["method"] !== "string") return classifyResponse(value);
  if (value["jsonrpc"] === "2.0" && result === undefined && error === undefined) {
    if (params === undefined || isJsonObject(params)) {
      if (id === undefined) return "notification";
      if (isRequestId(id)) return "request";
    }
  }
  return faultOfRequest(value);
}

function faultOfRequest({ jsonrpc, id, params }: JsonObject): ParseFault {
  if (id !== undefined && !isRequestId(id)) {
    return new ParseFault(ErrorCode.InvalidRequest, '"id" must be a string or an integer between ±(2^53 - 1)');
  }
  const about = { id, silent: id === undefined };
  if (jsonrpc !== "2.0") return new ParseFault(ErrorCode.InvalidRequest, '"jsonrpc" must be "2.0"', about);
  if (params !== undefined && !isJsonObject(params)) {
    return new ParseFault(ErrorCode.InvalidParams, '"params" must be an object', about);
  }
  return new ParseFault(ErrorCode.InvalidRequest, 'A request has neither "result" nor "error"', about);
}

function classifyResponse(value: JsonObject): MessageKind | ParseFault {
  const { jsonrpc } = value;
  // Servers that write out optional members give an answer a null error, and a refusal a null result.
  const result = value["result"] === null && isErrorObject(value["error"]) ? undefined : value["result"];
  const error = value["error"] === null && isJsonObject(result) ? undefined : value["error"];
  const id = isRequestId(value["id"]) ? value["id"] : undefined;
  const idAllowed = id !== undefined || value["id"] === undefined || value["id"] === null;
  if (result === undefined && error === undefined) {
    return new ParseFault(ErrorCode.InvalidRequest, '"method" must be a string', { id });
  }
  if (jsonrpc === "2.0" && error === undefined && id !== undefined && isJsonObject(result)) return "success";
  if (jsonrpc === "2.0" && result === undefined && isErrorObject(error) && idAllowed) return "failure";
  // A response is never answered; its id lets the request it belongs to fail at once instead of by timeout.
  return new ParseFault(ErrorCode.InvalidRequest, "The response is malformed", { id, silent: true });
}

function isErrorObject(value: unknown): boolean {
  return isJsonObject(value) && Number.isSafeInteger(value["code"]) && typeof value["message"] === "string";
}

// The requests this side has sent and not yet heard about, each with its timeout and its cancellation.

interface OutgoingRequest {
  readonly method: string;
  readonly params?: object;
}

interface RequestOptions {
  /** Milliseconds until the promise rejects with TIMEOUT; Infinity waits for as long as the connection lives. */
  readonly timeoutMs: number;
  /** Aborting it rejects with CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /** Told the id the request was sent under. */
  onSent?(id: RequestId): void;
  /** Told that nobody waits for the answer any more, so that the other side can be told to stop. */
  onAbandon?(id: RequestId, reason: string): void;
}

// Longer delays overflow the timer of every runtime and would fire at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Takes the responses of the other side. Each method says whether a request waited for this one. */
export interface AnswerTable {
  succeed(message: SuccessMessage): boolean;
  fail(message: FailureMessage): boolean;
  /** A response that carried this id and is malformed. */
  failMalformed(id: RequestId): boolean;
  /** Rejects everything that waits, and all that comes later. */
  close(): void;
}

class PendingRequests implements AnswerTable {
  readonly #limits: JsonRpcLimits;
  readonly #waiting = new Map<RequestId, PendingRequest>();
  #nextId = 1;
  #closed = false;

  constructor(limits: JsonRpcLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#waiting.size;
  }

  send(carrier: Carrier, message: OutgoingRequest, options: RequestOptions): Promise<JsonObject> {
    const { signal } = options;
    if (this.#closed || carrier.closed) return Promise.reject(closedError(message.method));
    if (signal?.aborted) return Promise.reject(cancelledError(message.method, signal));
    if (this.#waiting.size >= this.#limits.pendingRequests) {
      const text = `${message.method} was not sent: ${this.#limits.pendingRequests} requests wait for an answer already`;
      return Promise.reject(new LocalError("LIMIT", text));
    }
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const pending = new PendingRequest({ id, method: message.method, options, resolve, reject }, this.#waiting);
      this.#waiting.set(id, pending);
      void carrier.write(requestText(id, message.method, message.params), "request");
      options.onSent?.(id);
    });
  }

  /** Whether a request waited for this response. */
  succeed(message: SuccessMessage): boolean {
    const pending = this.#waiting.get(message.id);
    pending?.settle();
    pending?.call.resolve(message.result);
    return pending !== undefined;
  }

  /** Whether a request waited for this response. */
  fail(message: FailureMessage): boolean {
    const { code, message: text, data } = message.error;
    return this.#reject(message.id, () => new RpcError(code, text, data));
  }

  /** Whether a request waited for the malformed response that carried this id. */
  failMalformed(id: RequestId): boolean {
    return this.#reject(id, () => new LocalError("INVALID_RESPONSE", "The answer is not a JSON-RPC response"));
  }

  /** Rejects everything that waits, and every later `send`, with CLOSED. */
  close(): void {
    this.#closed = true;
    for (const pending of [...this.#waiting.values()]) {
      pending.settle();
      pending.call.reject(closedError(pending.call.method));
    }
  }

  #reject(id: RequestId | null | undefined, error: () => Error): boolean {
    const pending = id === null || id === undefined ? undefined : this.#waiting.get(id);
    if (pending === undefined) return false;
    pending.settle();
    pending.call.reject(error());
    return true;
  }
}

interface Call {
  readonly id: RequestId;
  readonly method: string;
  readonly options: RequestOptions;
  resolve(result: JsonObject): void;
  reject(error: Error): void;
}

class PendingRequest {
  readonly call: Call;
  readonly #table: Map<RequestId, PendingRequest>;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(call: Call, table: Map<RequestId, PendingRequest>) {
    this.call = call;
    this.#table = table;
    const { timeoutMs, signal } = call.options;
    signal?.addEventListener("abort", this);
    if (timeoutMs <= LONGEST_TIMER_MS) {
      this.#timer = setTimeout(onTimeout, timeoutMs, this);
      // A pending request alone must not keep a process alive; where timers are numbers there is no process.
      (this.#timer as { unref?(): void }).unref?.();
    }
  }

  /** Forgets the request: no timer, no listener, no entry stays behind. */
  settle(): void {
    clearTimeout(this.#timer);
    this.call.options.signal?.removeEventListener("abort", this);
    this.#table.delete(this.call.id);
  }

  timedOut(): void {
    const { method, options } = this.call;
    const text = `${method} was not answered within ${options.timeoutMs} ms`;
    this.#abandon(new LocalError("TIMEOUT", text), text);
  }

  /** The signal was aborted. */
  handleEvent(): void {
    const signal = this.call.options.signal as AbortSignal;
    this.#abandon(cancelledError(this.call.method, signal), reasonText(signal.reason));
  }

  #abandon(error: LocalError, reason: string): void {
    this.settle();
    this.call.options.onAbandon?.(this.call.id, reason);
    this.call.reject(error);
  }
}

function onTimeout(pending: PendingRequest): void {
  pending.timedOut();
}

function closedError(method: string): LocalError {
  return new LocalError("CLOSED", `${method} was not answered: the connection is closed`);
}

function cancelledError(method: string, signal: AbortSignal): LocalError {
  return new LocalError("CANCELLED", `${method} was cancelled`, { cause: signal.reason });
}

// The reason travels to the other side, so only what the caller wrote as a reason is told, not an error's insides.
function reasonText(reason: unknown): string {
  return typeof reason === "string" ? reason : "cancelled by the caller";
}
