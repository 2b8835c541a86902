// The requests of ours that wait for an answer: one timer for all, progress that grants more time, no closures.
import { LocalError, RpcError, StatusError } from "./errors.js";
import type { JsonRpcLimits } from "./limits.js";
import type { FailureMessage, JsonObject, RequestId, SuccessMessage } from "./message.js";
import type { Carrier, Shortener } from "./transport.js";

/** Whose requests they are. */
interface TableOwner {
  /** Told of a request that nobody waits for any more. */
  abandoned?(id: RequestId, waiting: Waiting, reason: string): void;
}

/** Takes the progress of one request. */
export interface ProgressSink {
  report(progress: JsonObject): void;
  /** Hands on what is held back; nothing follows. */
  finish(): void;
}

/** What to do about a request that was not answered in time: each ends the sentence that says so. */
export interface TimeAdvice {
  /** For the time without an answer and without progress. */
  readonly quiet: string;
  /** For the time that no progress prolongs. */
  readonly most: string;
}

/** What a stop ends. */
interface Stoppable {
  stopped(reason: unknown): void;
}

/** Ends requests as a signal does, and costs next to nothing where nobody asks for one. */
export class Stop {
  /** Set once it was called for. */
  isStopped = false;
  reason: unknown;
  /** Most have one. */
  #listeners: Stoppable[] | undefined;
  #controller: AbortController | undefined;

  /** The same as a signal; made at first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isStopped) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  stop(reason?: unknown): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.reason = reason;
    for (const listener of this.#listeners?.splice(0) ?? []) listener.stopped(reason);
    this.#controller?.abort(reason);
  }

  listen(listener: Stoppable): void {
    if (this.#listeners === undefined) this.#listeners = [listener];
    else this.#listeners.push(listener);
  }

  forget(listener: Stoppable): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at < 0) return;
    // An array keeps the places it had.
    if (this.#listeners?.length === 1) this.#listeners = undefined;
    else this.#listeners?.splice(at, 1);
  }
}

/** As listeners of the platform are: a function, or an object, which costs no function of its own. */
type OnAbort = (() => void) | { handleEvent(): void };

/** Who is told of each signal that somebody waits for, and the one listener that tells them. */
const toldOfAbort = new WeakMap<AbortSignal, { readonly all: Set<OnAbort>; readonly tell: () => void }>();

/**
 * Calls `run` once when the signal is aborted, unless `offAbort` comes first. However many wait for one signal it has one listener:
 * Node warns of a leak from the eleventh on, which is no leak where one signal ends many requests.
 */
export function onAbort(signal: AbortSignal, run: OnAbort): void {
  const known = toldOfAbort.get(signal);
  if (known !== undefined) return void known.all.add(run);
  const all = new Set([run]);
  // An event of a signal that depends on others may not say whose it is.
  const tell = (): void => {
    toldOfAbort.delete(signal);
    for (const each of all) {
      if (typeof each === "function") each();
      else each.handleEvent();
    }
  };
  toldOfAbort.set(signal, { all, tell });
  signal.addEventListener("abort", tell, { once: true });
}

export function offAbort(signal: AbortSignal, run: OnAbort): void {
  const known = toldOfAbort.get(signal);
  if (known?.all.delete(run) !== true || known.all.size > 0) return;
  toldOfAbort.delete(signal);
  signal.removeEventListener("abort", known.tell);
}

/** Told of an answer that is a result before anybody else is. */
export interface AnswerTaker extends Partial<Shortener> {
  /** The request resolves with what it leaves in the message. True where progress goes on behind it: its token is known until `endProgress`. */
  take(message: SuccessMessage): boolean;
}

/** How one request waits. */
export interface Waiting {
  readonly method: string;
  /** Milliseconds without an answer and without progress until TIMEOUT. Infinity: as long as the connection lives. */
  readonly timeoutMs: number;
  /** Milliseconds until TIMEOUT whatever progress was made. Default: `timeoutMs`, so that progress grants no more time. */
  readonly maxTimeoutMs?: number;
  readonly advice?: TimeAdvice | undefined;
  /** Aborting it rejects with CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /** The same without a signal. */
  readonly stop?: Stop | undefined;
  readonly progress?: ProgressSink | undefined;
  readonly taker?: AnswerTaker | undefined;
  /** What it was asked over, where that is not the transport. */
  readonly carrier?: Carrier | undefined;
}

/** Tokens of what outlives its request and has not ended: the other side may begin more, then the oldest is forgotten. */
const MOST_OUTLIVING = 1_024;
/** Longer delays overflow the timer of every runtime and would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;
/** Timers fire up to this much before the clock says so. */
const TIMER_SLACK_MS = 1;
/** A timer further away than this is left alone when nothing waits: arming it anew for each request costs more. */
const KEPT_TIMER_MS = 100;

export class OutgoingTable {
  /** HTTP status of the response that is being read, where there is one. */
  status: number | undefined;
  readonly #limits: JsonRpcLimits;
  readonly #owner: TableOwner;
  readonly #waiting = new Map<RequestId, WaitingRequest>();
  /** Progress of what goes on behind its answer, by token. */
  readonly #outliving = new Map<RequestId, ProgressSink>();
  #nextId = 1;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = Number.POSITIVE_INFINITY;
  #held = 0;
  /** Requests that wait and have an end: until then somebody is told, so the process lives. */
  #dated = 0;
  #closedBy: LocalError | undefined;
  #isClosed = false;

  constructor(limits: JsonRpcLimits, owner: TableOwner) {
    this.#limits = limits;
    this.#owner = owner;
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(id: RequestId): boolean {
    return this.#waiting.has(id);
  }

  /** The id for the next request. */
  newId(prefix?: string): RequestId {
    const id = this.#nextId++;
    return prefix === undefined ? id : `${prefix}${id}`;
  }

  /**
   * The promise of the answer. Rejects at once with CANCELLED, CLOSED or LIMIT: then nothing is to be sent. What was given up before its
   * connection ended was cancelled, however late it is asked.
   */
  add(id: RequestId, waiting: Waiting): Promise<JsonObject> {
    const { method, signal, stop } = waiting;
    if (signal?.aborted) return Promise.reject(cancelled(method, signal.reason));
    if (stop?.isStopped === true) return Promise.reject(cancelled(method, stop.reason));
    if (this.#isClosed) return Promise.reject(closedError(method, this.#closedBy));
    if (this.#waiting.size >= this.#limits.pendingRequests) {
      const text = `${method} was not sent: ${this.#limits.pendingRequests} requests wait for an answer already. Await some first.`;
      return Promise.reject(new LocalError("LIMIT", text));
    }
    const request = new WaitingRequest(id, waiting, this);
    this.#waiting.set(id, request);
    if (request.dated && ++this.#dated === 1) (this.#timer as Held | undefined)?.ref?.();
    this.#arm(request.due);
    return request.promise;
  }

  succeed(message: SuccessMessage): boolean {
    const request = this.#take(message.id);
    if (request === undefined) return false;
    const { progress, taker } = request.waiting;
    const goesOn = taker?.take(message);
    if (progress !== undefined && goesOn === true) this.#outlive(request.id, progress);
    else progress?.finish();
    request.resolve(message.result);
    return true;
  }

  fail(message: FailureMessage): boolean {
    const { code, message: text, data } = message.error;
    const request = this.#take(message.id);
    request?.waiting.progress?.finish();
    const { status } = this;
    request?.reject(
      status === undefined ? new RpcError(code, text, data) : new StatusError(code, text, { data, status }),
    );
    return request !== undefined;
  }

  /** Whether a request waited under this id. */
  failLocally(id: RequestId | undefined, error: LocalError): boolean {
    const request = this.#take(id);
    request?.waiting.progress?.finish();
    request?.reject(error);
    return request !== undefined;
  }

  /** Progress for the request with this token. False: nobody waits for it. */
  progress(token: unknown, progress: JsonObject): boolean {
    const request = this.#waiting.get(token as RequestId);
    request?.prolong();
    const sink = request === undefined ? this.#outliving.get(token as RequestId) : request.waiting.progress;
    sink?.report(progress);
    return sink !== undefined;
  }

  /** What went on behind its answer is over: the last progress is handed on. */
  endProgress(token: RequestId): void {
    this.#outliving.get(token)?.finish();
    this.#outliving.delete(token);
  }

  #outlive(token: RequestId, progress: ProgressSink): void {
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
      request.waiting.progress?.finish();
      request.reject(closedError(request.waiting.method, this.#closedBy));
    }
  }

  stopped(request: WaitingRequest, reason: unknown): void {
    const { method } = request.waiting;
    // The reason travels to the server: only what the caller wrote as a reason is told.
    const told = typeof reason === "string" ? reason : "cancelled by the caller";
    this.#abandon(request, cancelled(method, reason), told);
  }

  #take(id: RequestId | null | undefined): WaitingRequest | undefined {
    if (id === null || id === undefined) return undefined;
    const request = this.#waiting.get(id);
    if (request === undefined) return undefined;
    this.#waiting.delete(id);
    const { signal } = request.waiting;
    if (signal) offAbort(signal, request);
    request.waiting.stop?.forget(request);
    if (request.dated && --this.#dated === 0) (this.#timer as Held | undefined)?.unref?.();
    if (this.#waiting.size === 0) this.#disarm();
    return request;
  }

  #abandon(request: WaitingRequest, error: LocalError, reason: string): void {
    if (this.#take(request.id) === undefined) return;
    request.waiting.progress?.finish();
    this.#owner.abandoned?.(request.id, request.waiting, reason);
    request.reject(error);
  }

  #arm(due: number): void {
    if (due >= this.#firesAt) return;
    clearTimeout(this.#timer);
    this.#firesAt = due;
    this.#timer = setTimeout(onTimer, Math.min(due - performance.now(), LONGEST_TIMER_MS), this);
    // What has no end, as a subscription, must not keep a process alive.
    if (this.#dated === 0) (this.#timer as Held).unref?.();
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

/** What keeps a process alive or does not; where timers are numbers there is no process. */
interface Held {
  ref?(): void;
  unref?(): void;
}

function onTimer(table: OutgoingTable): void {
  table.sweep();
}

class WaitingRequest implements Stoppable {
  readonly id: RequestId;
  readonly waiting: Waiting;
  readonly promise: Promise<JsonObject>;
  readonly #table: OutgoingTable;
  readonly #since: number;
  resolve!: (result: JsonObject) => void;
  reject!: (error: Error) => void;
  due: number;
  readonly #most: number;

  constructor(id: RequestId, waiting: Waiting, table: OutgoingTable) {
    this.id = id;
    this.waiting = waiting;
    this.#table = table;
    this.#since = performance.now();
    this.#most = waiting.maxTimeoutMs ?? waiting.timeoutMs;
    this.due = this.#since + Math.min(waiting.timeoutMs, this.#most);
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    if (waiting.signal) onAbort(waiting.signal, this);
    waiting.stop?.listen(this);
  }

  get dated(): boolean {
    return this.hardDue < Number.POSITIVE_INFINITY || this.waiting.timeoutMs < Number.POSITIVE_INFINITY;
  }

  get hardDue(): number {
    return this.#since + this.#most;
  }

  prolong(): void {
    const { timeoutMs } = this.waiting;
    this.due = Math.min(performance.now() + timeoutMs, this.hardDue);
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.stopped(this.waiting.signal?.reason);
  }

  stopped(reason: unknown): void {
    this.#table.stopped(this, reason);
  }

  timeout(): LocalError {
    const { method, timeoutMs, maxTimeoutMs = Number.POSITIVE_INFINITY, advice } = this.waiting;
    const most = Math.round(performance.now() - this.#since) >= maxTimeoutMs;
    const told = most ? advice?.most : advice?.quiet;
    const within = `within ${most ? maxTimeoutMs : timeoutMs} ms`;
    const text = `${method} was not answered ${within}${told ?? ""}`;
    return new LocalError("TIMEOUT", text, { brief: `it did not answer ${within}` });
  }
}

/** The error of a request whose connection ended. */
export function closedError(method: string, cause?: LocalError): LocalError {
  const { code = "CLOSED", message = "the connection is closed" } = cause ?? {};
  return new LocalError(code, `${method} was not answered: ${message}`, { cause });
}

export function cancelled(method: string, reason: unknown): LocalError {
  return new LocalError("CANCELLED", `${method} was cancelled`, { cause: reason });
}

/** A timer whose delay, where timers cannot count as far, is the longest they can: Infinity among them. */
export function startTimer(run: () => void, delayMs: number): ReturnType<typeof setTimeout> {
  return setTimeout(run, Math.min(delayMs, LONGEST_TIMER_MS));
}

/** Resolves after the delay, or when the signal is aborted. Leaves no timer and no listener. */
export function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      if (signal) offAbort(signal, done);
      resolve();
    };
    const timer = startTimer(done, delayMs);
    if (signal?.aborted) done();
    else if (signal) onAbort(signal, done);
  });
}

/** Whether the promise is settled, in whichever way, within this time. Leaves no timer. */
export async function settles(promise: Promise<unknown>, withinMs: number): Promise<boolean> {
  const over = new AbortController();
  const late = pause(withinMs, over.signal).then(() => false);
  const settled = promise.then(
    () => true,
    () => true,
  );
  const isInTime = await Promise.race([settled, late]);
  over.abort();
  return isInTime;
}

// How long to wait before something that failed is started again.

export interface RestartPace {
  /** Before the first restart. Default 500 ms. */
  readonly firstMs?: number;
  /** However often it failed. Default 60,000 ms. */
  readonly mostMs?: number;
  /** Gives numbers from 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

// Short enough that one crash is hardly noticed.
const FIRST_MS = 500;
// A crash loop costs one start a minute.
const MOST_MS = 60_000;
// Beyond this the doubling has long met any limit; without it nought times infinity would be no number.
const MOST_DOUBLINGS = 30;

/**
 * Milliseconds to wait after `failures` failures in a row (1 or more; 0 gives 0): doubling from `firstMs` up to
 * `mostMs`, of which the upper half is left to chance, so that what fell together does not rise together.
 */
export function restartDelay(
  failures: number,
  { firstMs = FIRST_MS, mostMs = MOST_MS, random = Math.random }: RestartPace = {},
): number {
  const full = failures > 0 ? Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, MOST_DOUBLINGS)) : 0;
  return Math.round((full / 2) * (1 + random()));
}
