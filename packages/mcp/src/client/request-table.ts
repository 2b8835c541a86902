// The client's requests that wait for an answer: one timer for all, progress that grants more time, no closures.
import { ProgressReporter } from "../endpoint/progress.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { FailureMessage, JsonObject, RequestId, SuccessMessage } from "../jsonrpc/message.js";
import type { AnswerTable } from "../jsonrpc/pending.js";
import type { Progress } from "./call-options.js";
import { StatusError } from "./status-error.js";

/** How one request waits. */
export interface Waiting {
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
export type OnAbandon = (id: RequestId, waiting: Waiting, reason: string) => void;

export class RequestTable implements AnswerTable {
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
