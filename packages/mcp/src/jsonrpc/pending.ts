// The requests this side has sent and not yet heard about, each with its timeout and its cancellation.
import type { Carrier } from "./carrier.js";
import type { JsonRpcLimits } from "./limits.js";
import { LocalError } from "./local-error.js";
import type { FailureMessage, JsonObject, RequestId, SuccessMessage } from "./message.js";
import { requestText } from "./respond.js";
import { RpcError } from "./rpc-error.js";

export interface OutgoingRequest {
  readonly method: string;
  readonly params?: object;
}

export interface RequestOptions {
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

export class PendingRequests implements AnswerTable {
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
