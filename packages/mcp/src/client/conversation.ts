// One conversation over one link: sends requests, matches answers, hands on what the server says by itself.
import { ProgressReporter } from "../endpoint/progress.js";
import type { BrokenLimit, JsonRpcLimits } from "../jsonrpc/limits.js";
import { ErrorCode, LocalError, type RpcError } from "../jsonrpc/errors.js";
import {
  type FailureMessage,
  failureText,
  isJsonObject,
  type JsonObject,
  type NotificationMessage,
  notificationText,
  type RequestId,
  type RequestMessage,
  type SuccessMessage,
} from "../jsonrpc/message.js";
import { type AnswerTable, Peer, type PeerHandler, type WireRules } from "../jsonrpc/peer.js";
import type { Progress } from "./options.js";
import { StatusError } from "./status-error.js";
import type { ClientCodec, HeaderArgument, RequestExtras } from "../era/codec.js";
import type { ArrivalInfo, Carrier, Excerpt, Link, LinkSink, Outgoing } from "../jsonrpc/transport.js";
import {
  amountOf,
  answeredId,
  excerpt as excerptOf,
  identify,
  isAnswerWithoutId,
  ParseFault,
  parseJson,
} from "../jsonrpc/parse.js";
import { AnswerCarrier } from "./answer-carrier.js";

// The client's requests that wait for an answer: one timer for all, progress that grants more time, no closures.

/** How one request waits. */
interface Waiting {
  readonly method: string;
  /** Milliseconds without an answer and without progress until TIMEOUT. Infinity: as long as the connection lives. */
  readonly timeoutMs: number;
  /** Milliseconds until TIMEOUT whatever progress was made. */
  readonly maxTimeoutMs: number;
  /** The option that gives it more time, where it is not one of the call. */
  readonly timeOption?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Whether progress goes on behind this result: then its token is known until `endProgress`. */
  outlives?: ((result: JsonObject) => boolean) | undefined;
}

/** Tokens of tasks whose end nobody has seen yet: a server that begins more makes the oldest be forgotten. */
const MOST_OUTLIVING = 1_024;

/** Told of requests nobody waits for any more, so that the server can be told. */
type OnAbandon = (id: RequestId, waiting: Waiting, reason: string) => void;

class RequestTable implements AnswerTable {
  /** HTTP status of the response that is being read, where there is one. */
  status: number | undefined;
  readonly #limits: JsonRpcLimits;
  readonly #onAbandon: OnAbandon;
  readonly #waiting = new Map<RequestId, WaitingRequest>();
  /** Progress of what goes on behind its answer, by token. */
  readonly #outliving = new Map<RequestId, ProgressReporter>();
  #nextId = 1;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = Number.POSITIVE_INFINITY;
  #held = 0;
  #closedBy: LocalError | undefined;
  #isClosed = false;

  constructor(limits: JsonRpcLimits, onAbandon: OnAbandon) {
    this.#limits = limits;
    this.#onAbandon = onAbandon;
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(id: RequestId): boolean {
    return this.#waiting.has(id);
  }

  /** The id for the next request. */
  newId(): number {
    return this.#nextId++;
  }

  /** The promise of the answer. Rejects at once with CLOSED, CANCELLED or LIMIT: then nothing is to be sent. */
  add(id: RequestId, waiting: Waiting): Promise<JsonObject> {
    const { method, signal } = waiting;
    if (this.#isClosed) return Promise.reject(this.#closedError(method));
    if (signal?.aborted) return Promise.reject(cancelled(method, signal));
    if (this.#waiting.size >= this.#limits.pendingRequests) {
      const text = `${method} was not sent: ${this.#limits.pendingRequests} requests wait for an answer already. Await some of them first.`;
      return Promise.reject(new LocalError("LIMIT", text));
    }
    const request = new WaitingRequest(id, waiting, this);
    this.#waiting.set(id, request);
    this.#arm(request.due);
    return request.promise;
  }

  succeed(message: SuccessMessage): boolean {
    const request = this.#take(message.id);
    if (request === undefined) return false;
    const { result } = message;
    if (request.progress !== undefined && request.waiting.outlives?.(result))
      this.#outlive(request.id, request.progress);
    else request.progress?.finish();
    request.resolve(result);
    return true;
  }

  fail(message: FailureMessage): boolean {
    const { code, message: text, data } = message.error;
    const request = this.#take(message.id);
    request?.progress?.finish();
    request?.reject(new StatusError(code, text, { data, status: this.status }));
    return request !== undefined;
  }

  failMalformed(id: RequestId): boolean {
    return this.failLocally(id, new LocalError("INVALID_RESPONSE", "The server's answer is no JSON-RPC response"));
  }

  /** Whether a request waited under this id. */
  failLocally(id: RequestId | undefined, error: LocalError): boolean {
    const request = this.#take(id);
    request?.progress?.finish();
    request?.reject(error);
    return request !== undefined;
  }

  /** Progress for the request with this token. False: nobody waits for it. */
  progress(token: unknown, progress: Progress): boolean {
    const request = this.#waiting.get(token as RequestId);
    request?.prolong();
    const reporter = request === undefined ? this.#outliving.get(token as RequestId) : request.progress;
    void reporter?.report(progress);
    return reporter !== undefined;
  }

  /** What went on behind its answer is over: the last progress is handed on. */
  endProgress(token: RequestId): void {
    this.#outliving.get(token)?.finish();
    this.#outliving.delete(token);
  }

  #outlive(token: RequestId, progress: ProgressReporter): void {
    this.#outliving.set(token, progress);
    const [oldest] = this.#outliving.keys();
    if (this.#outliving.size > MOST_OUTLIVING && oldest !== undefined) this.endProgress(oldest);
  }

  /** The server waits for us: until `release`, calls wait for as long as they may, whatever their time without progress. */
  hold(): void {
    this.#held++;
  }

  release(): void {
    if (--this.#held > 0) return;
    for (const request of this.#waiting.values()) {
      request.prolong();
      this.#arm(request.due);
    }
  }

  close(error?: LocalError): void {
    this.#isClosed = true;
    this.#closedBy ??= error;
    clearTimeout(this.#timer);
    for (const token of [...this.#outliving.keys()]) this.endProgress(token);
    for (const request of [...this.#waiting.values()]) {
      this.#take(request.id);
      request.progress?.finish();
      request.reject(this.#closedError(request.waiting.method));
    }
  }

  aborted(request: WaitingRequest): void {
    const { method, signal } = request.waiting;
    const reason: unknown = signal?.reason;
    // The reason travels to the server: only what the caller wrote as a reason is told.
    const told = typeof reason === "string" ? reason : "cancelled by the caller";
    this.#abandon(request, cancelled(method, signal), told);
  }

  #closedError(method: string): LocalError {
    const cause = this.#closedBy;
    if (cause === undefined) return new LocalError("CLOSED", `${method} was not answered: the connection is closed`);
    return new LocalError(cause.code, `${method} was not answered: ${cause.message}`, { cause });
  }

  #take(id: RequestId | null | undefined): WaitingRequest | undefined {
    if (id === null || id === undefined) return undefined;
    const request = this.#waiting.get(id);
    if (request === undefined) return undefined;
    this.#waiting.delete(id);
    request.waiting.signal?.removeEventListener("abort", request);
    if (this.#waiting.size === 0) this.#disarm();
    return request;
  }

  #abandon(request: WaitingRequest, error: LocalError, reason: string): void {
    if (this.#take(request.id) === undefined) return;
    request.progress?.finish();
    this.#onAbandon(request.id, request.waiting, reason);
    request.reject(error);
  }

  #arm(due: number): void {
    if (due >= this.#firesAt) return;
    clearTimeout(this.#timer);
    this.#firesAt = due;
    const delay = Math.min(Math.max(due - performance.now(), 0), LONGEST_TIMER_MS);
    this.#timer = setTimeout(onTimer, delay, this);
    // A pending request alone must not keep a process alive; where timers are numbers there is no process.
    (this.#timer as { unref?(): void }).unref?.();
  }

  // An idle connection has no timer; a busy one keeps the one it has, which finds nothing to do.
  #disarm(): void {
    if (this.#firesAt === Number.POSITIVE_INFINITY || this.#firesAt - performance.now() > KEPT_TIMER_MS) return;
    clearTimeout(this.#timer);
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  sweep(): void {
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const request of [...this.#waiting.values()]) {
      const due = this.#held > 0 ? request.hardDue : request.due;
      if (due - now < TIMER_SLACK_MS) this.#abandon(request, request.timeout(), "timed out");
      else next = Math.min(next, due);
    }
    if (next < Number.POSITIVE_INFINITY) this.#arm(next);
  }
}

// Longer delays overflow the timer of every runtime and would fire at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Timers fire up to this much before the clock says so. */
const TIMER_SLACK_MS = 1;
/** A timer further away than this is left alone when nothing waits: arming it anew for each call costs more. */
const KEPT_TIMER_MS = 100;

function onTimer(table: RequestTable): void {
  table.sweep();
}

class WaitingRequest {
  readonly id: RequestId;
  readonly waiting: Waiting;
  readonly promise: Promise<JsonObject>;
  readonly #table: RequestTable;
  readonly #since: number;
  resolve!: (result: JsonObject) => void;
  reject!: (error: Error) => void;
  due: number;
  /** Undefined where nobody wants to hear of it. */
  readonly progress: ProgressReporter | undefined;

  constructor(id: RequestId, waiting: Waiting, table: RequestTable) {
    this.id = id;
    this.waiting = waiting;
    this.#table = table;
    this.#since = performance.now();
    const { onProgress } = waiting;
    this.progress = onProgress === undefined ? undefined : new ProgressReporter(onProgress);
    this.due = this.#since + Math.min(waiting.timeoutMs, waiting.maxTimeoutMs);
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    waiting.signal?.addEventListener("abort", this);
  }

  get hardDue(): number {
    return this.#since + this.waiting.maxTimeoutMs;
  }

  prolong(): void {
    const { timeoutMs } = this.waiting;
    this.due = Math.min(performance.now() + timeoutMs, this.hardDue);
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#table.aborted(this);
  }

  timeout(): LocalError {
    const { method, timeoutMs, maxTimeoutMs, timeOption } = this.waiting;
    if (timeOption !== undefined) {
      const late = `${method} was not answered within ${timeoutMs} ms. Raise ${timeOption} if the server needs longer.`;
      return new LocalError("TIMEOUT", late);
    }
    const waited = Math.round(performance.now() - this.#since);
    const hard = waited >= maxTimeoutMs;
    const text = hard
      ? `${method} was not answered within ${maxTimeoutMs} ms, the most this call may take. Raise maxTimeoutMs if it needs longer.`
      : `${method} was not answered within ${timeoutMs} ms. Raise timeoutMs, or pass onProgress so that progress grants more time.`;
    return new LocalError("TIMEOUT", text);
  }
}

function cancelled(method: string, signal: AbortSignal | undefined): LocalError {
  return new LocalError("CANCELLED", `${method} was cancelled`, { cause: signal?.reason });
}

/** What is told of a conversation. Nothing here may throw. */
export interface ConversationEvents {
  /** A question of the server, in a session. Answer it on the carrier, or abandon it; then resolve. Never rejects. */
  asked(message: RequestMessage, carrier: Carrier, conversation: Conversation): Promise<void>;
  notified(method: string, params: JsonObject, conversation: Conversation): void;
  /** A line where a message was expected. */
  noise(line: string): void;
  /** The link is gone, and not because we closed it. */
  ended(error: LocalError, conversation: Conversation): void;
}

/** A request as the conversation sends it. */
export interface Sending extends Waiting {
  readonly params?: JsonObject | undefined;
  readonly extras?: RequestExtras | undefined;
  readonly mirrored?: readonly HeaderArgument[] | undefined;
  /** Told the id the request has on the wire. */
  onSent?: ((id: RequestId) => void) | undefined;
}

interface ConversationOptions {
  readonly events: ConversationEvents;
  readonly limits: JsonRpcLimits;
}

/** Lines of noise are shown, never at any length. */
const LONGEST_NOISE = 500;
// Batches are taken from any server: they were a duty once.
const RULES: WireRules = { batches: true, unreadableId: "absent" };
// A handshake must not be cancelled, and who does not know the question would not know the cancellation.
const UNTOLD: ReadonlySet<string> = new Set(["initialize", "server/discover"]);
const UNSEEN: Excerpt = { head: "", tail: undefined };
/** Members a notification or a question may lack. */
const OPTIONAL = ["id", "params", "result", "error"];
const BATCH = /^\s*\[/;

/** Why a text was not taken: a code of JSON-RPC, a sentence, and the limit it broke. */
interface Refusal extends Pick<ParseFault, "code" | "message"> {
  readonly limit?: BrokenLimit | undefined;
}

export class Conversation {
  readonly link: Link;
  /** Answers nobody waited for, questions nobody may ask, and other messages without a meaning. */
  ignored = 0;
  #codec: ClientCodec;
  readonly #events: ConversationEvents;
  readonly #limits: JsonRpcLimits;
  readonly #table: RequestTable;
  readonly #peer: Peer;
  readonly #carrier: AnswerCarrier;
  #ended = false;
  #settled = false;
  #draining: Promise<void> | undefined;
  /** The text being taken in: what turns out to be no message is reported by it. */
  #text = "";

  constructor(link: Link, codec: ClientCodec, { events, limits }: ConversationOptions) {
    this.link = link;
    this.#codec = codec;
    this.#events = events;
    this.#limits = limits;
    this.#table = new RequestTable(limits, (id, waiting, reason) => this.#abandoned(id, waiting, reason));
    this.#peer = new Peer(this.#handler(), limits, this.#table);
    this.#carrier = new AnswerCarrier(
      link.kind,
      (message) => this.#answer(message),
      () => events.noise(shortened(this.#text)),
    );
  }

  get codec(): ClientCodec {
    return this.#codec;
  }

  /** The link is gone, or was closed. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Rejects with the link's LocalError. */
  open(): Promise<void> {
    return this.link.open(this.#sink());
  }

  /** Changes how the conversation speaks, while that is being found out. */
  speak(codec: ClientCodec): void {
    this.#codec = codec;
  }

  /** Tells the link what was agreed on. */
  established(): void {
    const { era, date } = this.#codec.revision;
    this.#settled = true;
    this.link.established?.({ era, version: date });
  }

  /** Resolves with the result as it stands on the wire. Rejects with an RpcError or a LocalError. */
  request(sending: Sending): Promise<JsonObject> {
    const id = this.#table.newId();
    const { method, params, onProgress, extras } = sending;
    const body = this.#codec.paramsText(params, onProgress === undefined ? extras : { ...extras, progressToken: id });
    const member = body === undefined ? "" : `,"params":${body}`;
    const text = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${member}}`;
    const answer = this.#table.add(id, sending);
    if (!this.#table.has(id)) return answer;
    const headers = this.#codec.headers(method, params, sending.mirrored);
    this.#send({ text, kind: "request", id, method, headers: method === "initialize" ? undefined : headers });
    sending.onSent?.(id);
    return answer;
  }

  notify(method: string, params?: object): void {
    const headers = this.#codec.headers(method, params as JsonObject | undefined);
    this.#send({ text: notificationText(method, params), kind: "notification", method, headers });
  }

  /** Rejects a request without telling the server. */
  giveUp(id: RequestId, error: LocalError): void {
    this.#table.failLocally(id, error);
  }

  /** What went on behind the answer to a request is over. */
  endProgress(token: RequestId): void {
    this.#table.endProgress(token);
  }

  /** Ends it: what waits is rejected with CLOSED. Never rejects. */
  async close(): Promise<void> {
    this.#end();
    await this.link.close();
  }

  #end(error?: LocalError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#carrier.closed = true;
    this.#table.close(error);
    this.#peer.closed();
  }

  #sink(): LinkSink {
    return {
      receive: (text, info) => this.#receive(text, info),
      unreadable: (error, info, excerpt) => this.#unread(lengthFault(error), excerpt ?? UNSEEN, info),
      lost: (id, error) => void this.#table.failLocally(id, error),
      noise: (line) => this.#events.noise(shortened(line)),
      closed: (error) => {
        if (this.#ended) return;
        this.#end(error);
        this.#events.ended(error ?? new LocalError("CLOSED", `${this.link.describe()} closed the connection`), this);
      },
    };
  }

  #handler(): PeerHandler {
    return {
      rules: () => RULES,
      request: (message, carrier) => this.#asked(message, carrier),
      notification: (message) => this.#notified(message),
      ignored: () => void this.ignored++,
    };
  }

  #receive(text: string, info: ArrivalInfo | undefined): void {
    const value = parseJson(text, this.#limits);
    this.#text = text;
    this.#table.status = info?.status;
    if (value instanceof ParseFault) this.#unread(measured(value, text), excerptOf(text), info);
    else this.#peer.deliver(withoutNulls(value), this.#carrier);
    this.#text = "";
  }

  // An answer that cannot be read fails the request it is for now, not when its time is up; a question is refused.
  #unread({ code, message, limit }: Refusal, excerpt: Excerpt, info: ArrivalInfo | undefined): void {
    const id = answeredId(excerpt) ?? (mayBeAnswer(code, excerpt) ? info?.forRequest : undefined);
    const advice = limit === undefined ? "" : ` Ask for less, or raise limits.${limit}.`;
    const text = `The server's answer cannot be read: ${message}.${advice}`;
    if (this.#table.failLocally(id, new LocalError("INVALID_RESPONSE", text))) return;
    const asked = this.#codec.revision.era === "handshake" ? identify(excerpt).id : undefined;
    if (asked !== undefined) this.#carrier.write(failureText(asked, { code, message }), "response");
    this.#events.noise(shortened(`${message}: ${excerpt.head}`));
  }

  #asked(message: RequestMessage, carrier: Carrier): void {
    // A server of the stateless era asks within its answers only; what comes otherwise is never answered. One of the older
    // era may ping before it is known to be one.
    const early = message.method === "ping" && !this.#settled;
    if (early || this.#codec.revision.era === "handshake") return void this.#answered(message, carrier);
    this.ignored++;
    carrier.abandon?.();
  }

  // The call a question belongs to must not run out of time while somebody thinks.
  async #answered(message: RequestMessage, carrier: Carrier): Promise<void> {
    this.#table.hold();
    await this.#events.asked(message, carrier, this);
    this.#table.release();
  }

  #notified({ method, params = {} }: NotificationMessage): void {
    if (method !== "notifications/progress") return this.#events.notified(method, params, this);
    const { progress, progressToken } = params;
    const known = typeof progress === "number" && this.#table.progress(progressToken, params as unknown as Progress);
    if (!known) this.#events.notified(method, params, this);
  }

  // In a session the server is told by a notification, never of a handshake; without one the link may have a way of its own.
  #abandoned(id: RequestId, { method }: Waiting, reason: string): void {
    const told = this.link.forget(id);
    if (told || UNTOLD.has(method) || this.#ended) return;
    this.notify("notifications/cancelled", { requestId: id, reason });
  }

  // Where the era is not settled yet, all there is to answer is a ping.
  #answer(message: Outgoing): void {
    if (this.#settled && this.#codec.revision.era === "stateless") return;
    this.#send({ ...message, headers: this.#codec.headers("", undefined) });
  }

  // A link that is behind is waited for; what nobody waits for any more when it has caught up is not sent at all.
  #send(message: Outgoing): void {
    const { id } = message;
    const sent =
      this.#draining === undefined
        ? this.link.send(message)
        : this.#draining.then(() => (id === undefined || this.#table.has(id) ? this.link.send(message) : undefined));
    if (sent === undefined) return;
    const draining = sent.then(() => {
      if (this.#draining === draining) this.#draining = undefined;
    });
    this.#draining = draining;
  }
}

function shortened(line: string): string {
  return line.length > LONGEST_NOISE ? `${line.slice(0, LONGEST_NOISE)}…` : line;
}

/** Servers that write out what they leave out give notifications a null id and null params. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value) || typeof value["method"] !== "string") return value;
  for (const name of OPTIONAL) if (value[name] === null) delete value[name];
  return value;
}

/** Whether what cannot be read may be the answer its stream is for: noise and notifications are not, and it is still to come. */
function mayBeAnswer(code: number, excerpt: Excerpt): boolean {
  if (excerpt === UNSEEN) return true;
  return code !== ErrorCode.ParseError && (isAnswerWithoutId(excerpt.head) || BATCH.test(excerpt.head));
}

/** The fault with what the text has of what it has too much of. */
function measured({ code, message, limit }: ParseFault, text: string): Refusal {
  if (limit === undefined) return { code, message };
  const amount = limit === "messageBytes" ? text.length : amountOf(limit, text);
  return { code, message: `${message} (it has ${amount})`, limit };
}

/** What a link could not make a text of was too long, or not UTF-8. */
function lengthFault({ code, message }: RpcError): Refusal {
  return { code, message, limit: code === ErrorCode.InvalidRequest ? "messageBytes" : undefined };
}
