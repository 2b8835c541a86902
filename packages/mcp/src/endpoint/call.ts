// One request in service: what was asked, by whom, how it comes to its handler through the middleware, and how it ends.
import { brand, ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { type Carrier, type Identity, identityOf, lackingFor } from "../jsonrpc/transport.js";
import {
  type Awaitable,
  type ErrorObject,
  type InService,
  failureText,
  isJsonObject,
  isThenable,
  type JsonObject,
  notificationText,
  peerWords,
  type RequestId,
  successHead,
  successPieces,
  successText,
  type TextPieces,
} from "../jsonrpc/message.js";
import type { Connection } from "../jsonrpc/connection.js";
import type { InputResponseRequestParams } from "../protocol/features/elicitation.js";
import type { MethodRecord } from "../protocol/method.js";
import type { Codec } from "../era/codec.js";
import type { ClientCapabilities, Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import { McpErrorCode } from "../protocol/meta.js";

/** Stands for every method that is not the specification's: nothing is known of it, so nothing is checked or projected. */
const CUSTOM_METHOD: MethodRecord = {
  name: "",
  check: () => undefined,
  capability: undefined,
  cacheable: false,
  interactive: false,
  result: "plain",
};

const NO_PARAMS: JsonObject = Object.freeze({});

/** Why a call was cancelled; `answered` is set when whoever sent it expects an answer, by default that it was cancelled. */
export interface Cancellation {
  readonly reason: string;
  readonly answered: boolean;
  readonly error?: ErrorObject;
  /** Whether its own caller wants it no more, or is gone: only then does a handler go on for another request that waits for the same. */
  readonly own?: boolean;
}

/**
 * A handler that goes on from request to request. Each of these is a call with an end of its own; what is told of the handler's,
 * and what is to last as long as that, is found here.
 */
export interface Handling extends Pick<Call, "signal" | "cancellation"> {
  whenCancelled(listener: { handleEvent(): void }): void;
  /** Ends the handler if anybody waits for it, and every call that does. */
  cancel(cancellation: Cancellation): void;
  /** Whether it has ended. */
  readonly finished: boolean;
  /** While the handler goes on and this call waits for it: the one that was the first to, by whose time it does. */
  leadOf(call: Call): Call | undefined;
}

/** Whoever sees that the connection ends needs no answer. */
export const CLOSING: Cancellation = { reason: "The connection is closing", answered: false, own: true };

/** Over HTTP nobody sees that a session or the server ends: whoever waits for an answer has to get one. */
export const STOPPED: Cancellation = {
  reason: CLOSING.reason,
  answered: true,
  error: {
    code: ErrorCode.InternalError,
    message: "The server or the session ended: whether this had an effect is not known",
    data: { outcome: "unknown" },
  },
};

/** Progress that was reported for a call; `progress.ts` has the implementation. */
export interface OngoingProgress {
  report(report: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }): void | Promise<void>;
  /** Sends what is held back and stops. */
  finish(): void;
}

/** What the other side can be asked over; it stands for the connection where these are told apart. */
export type Line = Call["connection"];

/** A request being served. Middleware and handlers read it; only the dispatcher ends it. */
export class Call implements InService {
  readonly id: RequestId;
  readonly method: string;
  params: JsonObject;
  readonly caller: Caller;
  readonly carrier: Carrier;
  /** The connection it came over, on which the other side can be asked. */
  readonly connection: Pick<Connection, "newId" | "ask">;
  /** The method's record in the caller's revision; a plain one for a method the specification does not know. */
  record: MethodRecord = CUSTOM_METHOD;
  cancellation: Cancellation | undefined;
  progress: OngoingProgress | undefined;
  /** Its log messages, once there was one; finished before its answer. */
  logs: { finish(): void } | undefined;
  /** Set once the answer is written or given up: nothing may be sent for the call any more. */
  ended = false;
  /** Stopped at its end: with it end the questions that its handler still has open on the wire. */
  questions: { stop(): void } | undefined;
  /** Where it sits among the requests in service: the table's own note. */
  seat: number | undefined;
  /** The handler that serves it, where that may go on in another request. */
  declare handling: Handling | undefined;
  /** Of its signal, once somebody has looked at that. */
  #controller: AbortController | undefined;
  #questionMeta: JsonObject | undefined;
  #cleaner: ((params: object) => object) | undefined;
  #cancelListeners: { handleEvent(): void }[] | undefined;

  constructor(
    message: { readonly id: RequestId; readonly method: string; readonly params?: JsonObject },
    caller: Caller,
    carrier: Carrier,
    connection: Pick<Connection, "newId" | "ask">,
  ) {
    this.id = message.id;
    this.method = message.method;
    this.params = message.params ?? NO_PARAMS;
    this.caller = caller;
    this.carrier = carrier;
    this.connection = connection;
  }

  /**
   * Goes on as a request with other params, for middleware that stands before whatever judges the call. They are checked as those
   * that came were: throws -32602. What they name needs its scopes and has to be visible, as if it had been asked for: throws -32600
   * where a scope is missing.
   */
  redirect(params: JsonObject): void {
    requireSound(this.record, params);
    const refused = lackingFor(this.carrier, this.method, params);
    if (refused !== undefined) throw refused;
    this.params = params;
  }

  /** Aborted when the request is cancelled. Made at first use: most handlers never look at it. */
  get signal(): AbortSignal {
    const controller = (this.#controller ??= new AbortController());
    if (this.cancellation) controller.abort(new DOMException(this.cancellation.reason, "AbortError"));
    return controller.signal;
  }

  /** Who is asking, with the scopes of its token; undefined where the transport knows no more than a name. */
  get identity(): Identity | undefined {
    return identityOf(this.carrier);
  }

  /** Id of the task this call runs as; undefined for one whose caller waits for the answer, and until it has become one. */
  get task(): string | undefined {
    return undefined;
  }

  /** The request's own `_meta`. */
  get meta(): JsonObject | undefined {
    const { _meta: meta } = this.params;
    return isJsonObject(meta) ? meta : undefined;
  }

  /** The token under which the caller wants progress, if it does. */
  get progressToken(): string | number | undefined {
    const token = this.meta?.["progressToken"];
    return typeof token === "string" || (typeof token === "number" && Number.isSafeInteger(token)) ? token : undefined;
  }

  /** Goes into the `_meta` of whatever the client is asked on the wire for this call: its trace context. */
  get questionMeta(): JsonObject | undefined {
    return this.#questionMeta;
  }

  /** Adds members to `questionMeta`. */
  addQuestionMeta(meta: JsonObject | undefined): void {
    if (meta !== undefined) this.#questionMeta = { ...this.#questionMeta, ...meta };
  }

  /** From now on the params of its notifications are sent as `clean` returns them; what was given before is asked first. */
  cleanNotifications(clean: (params: object) => object): void {
    const before = this.#cleaner;
    this.#cleaner = before === undefined ? clean : (params) => clean(before(params));
  }

  /** Calls the listener once when the request is cancelled, in the order of asking: cheaper than a signal, an object cheapest. */
  whenCancelled(listener: (() => void) | { handleEvent(): void }): void {
    const told = typeof listener === "function" ? { handleEvent: listener } : listener;
    if (this.cancellation) told.handleEvent();
    // An array that is added to keeps room for many more.
    else this.#cancelListeners = (this.#cancelListeners ?? []).concat(told);
  }

  /** Nothing is sent for it any more but its answer: what was held back goes before that. */
  end(): void {
    this.progress?.finish();
    this.logs?.finish();
    this.questions?.stop();
    this.ended = true;
  }

  cancel(cancellation: Cancellation): void {
    if (this.ended || this.cancellation) return;
    this.cancellation = cancellation;
    for (const listener of this.#cancelListeners ?? []) listener.handleEvent();
    // Aborts it.
    void this.signal;
  }

  /** Sends a notification that belongs to this request, if its revision has it and the request still runs. */
  notify(method: string, params: object): void | Promise<void> {
    if (this.ended || this.cancellation) return undefined;
    const projected = this.caller.codec.notification(method, this.cleaned(params));
    if (projected === undefined) return undefined;
    return this.carrier.write(notificationText(method, projected), "notification");
  }

  /** The params of a notification as they may be sent. */
  protected cleaned(params: object): object {
    return this.#cleaner?.(params) ?? params;
  }
}

/** A call whose params the method's record has checked: they are what it says. */
export type CallOf<Params extends object> = Call & { readonly params: Params };

/** A call of a method that can ask by its answer, in the revisions that have that: a retry of it brings the replies. */
export type InteractiveCall<Params extends object = object> = CallOf<Params & InputResponseRequestParams>;

/** Whether a call is one of this method, and checked. */
export function isCallOf<Params extends object>(call: Call, record: MethodRecord<Params>): call is CallOf<Params> {
  return call.record.name === record.name;
}

// Answers of handlers: a plain result, or one whose JSON text is ready.

const ENCODER = new TextEncoder();

/** A result that knows its own JSON text, so that lists are serialised once and not once a request. */
export class ReadyResult {
  readonly #text: (codec: Codec) => string | TextPieces;
  readonly #bytes = new Map<Codec, Uint8Array>();

  static {
    brand(this, "ReadyResult");
  }

  /** `text` gives the same text whenever it is asked for the same codec, or throws; in pieces where it is too long to be put together. */
  constructor(text: (codec: Codec) => string | TextPieces) {
    this.#text = text;
  }

  textFor(codec: Codec): string | TextPieces {
    return this.#text(codec);
  }

  /** A text that is no pieces as UTF-8, encoded once. */
  bytesFor(codec: Codec): Uint8Array {
    let bytes = this.#bytes.get(codec);
    if (bytes === undefined) {
      bytes = ENCODER.encode(this.#text(codec) as string);
      this.#bytes.set(codec, bytes);
    }
    return bytes;
  }
}

/** What a handler gives: the neutral result in the newest revision's shape. */
export type Answer = JsonObject | ReadyResult;

/** A value now or later: whatever has a `then` is awaited. */
export type MaybePromise<T> = T | Promise<T>;

// What only some requests need: made for the first of them, its code at hand or loaded for it.

/** One such part. Whatever needs it again finds it at once. */
export class Later<Part> {
  readonly #make: () => Awaitable<Part>;
  #part: Part | undefined;
  #loading: Promise<unknown> | undefined;

  constructor(make: () => Awaitable<Part>) {
    this.#make = make;
  }

  /** The part, if anything has needed it. */
  get there(): Part | undefined {
    return this.#part;
  }

  /** While its code is loaded: what settles with that. Whoever began to use it before has been given it then. */
  get loading(): Promise<unknown> | undefined {
    return this.#part === undefined ? this.#loading : undefined;
  }

  /** Calls `use` with the part: at once, but where its code has to be loaded first. */
  use<R>(use: (part: Part) => R): R | Promise<Awaited<R>> {
    if (this.#part !== undefined) return use(this.#part);
    const made = this.#make();
    if (!isThenable(made)) return use((this.#part = made));
    // Each loads it for itself: there are runtimes in which no request may wait for a promise of another.
    const loading = Promise.resolve(made);
    this.#loading = loading;
    return loading.then((part) => use((this.#part ??= part))) as Promise<Awaited<R>>;
  }
}

// The caller of a request: who asks, in which revision, with which capabilities and log level.

/** Log level of a caller that wants no log messages: above every level's index. */
export const NO_LOGS: number = Number.POSITIVE_INFINITY;

/**
 * Who asks. In the handshake era one object lives as long as the session and `logging/setLevel` moves its level;
 * in the stateless era every request brings its own, and nothing of it may be remembered.
 */
export interface Caller {
  readonly codec: Codec;
  readonly capabilities: ClientCapabilities;
  /** The client's name for itself: for display and logs, never for decisions. */
  readonly client: Implementation | undefined;
  /** One of a revision with sessions, at a server that keeps none: what it declared is not known. */
  readonly alone?: boolean;
  /** A session: it lasts as long as its conversation. */
  readonly lasting?: boolean;
  /** Index of the lowest level the caller wants to receive; {@link NO_LOGS} for none. */
  logLevel: number;
}

// Exceptions nobody expected: the peer gets an id, the log gets the text.

/** What the peer may know of an exception: an id under which the log has the rest. */
interface UnexpectedFault {
  readonly id: string;
  readonly message: string;
}

/** Names an unexpected exception without saying anything of it. */
export function unexpected(): UnexpectedFault {
  const id = crypto.randomUUID().slice(0, 8);
  return { id, message: `Internal error (error id ${id}; the server's log has the details)` };
}

const ERROR_ID: unique symbol = Symbol("error id");

/** The result with the id of the exception it stands for: middleware reads it, the wire does not carry it. */
export function withErrorId(result: JsonObject, id: string): JsonObject {
  return Object.assign(result, { [ERROR_ID]: id });
}

/** The id of the unexpected exception that a failed tool result stands for; undefined for every other answer. */
export function errorIdOf(answer: Answer): string | undefined {
  return (answer as { readonly [ERROR_ID]?: string })[ERROR_ID];
}

// Dispatch: from a request to its handler, and from the outcome to the answer on the wire.

/** Ready results from this length on are sent as bytes where a carrier takes them; shorter ones are quicker as text. */
const WORTH_ENCODING = 16 * 1024;
/** Results from this length on are not joined with what stands around them where a carrier can do without. */
const WORTH_PARTING = 64 * 1024;

/** What a dispatcher needs to know of its role. */
interface DispatcherOptions {
  readonly identity: Implementation;
  /** Handlers of the specification's methods; which of them exist is the revision's business. */
  readonly handlers: ReadonlyMap<string, Handler>;
  /** Handlers of methods the specification does not know: they exist in every revision. */
  readonly custom: ReadonlyMap<string, Handler>;
  readonly middleware: readonly Middleware[];
  /** The capabilities now advertised: a method of a feature that is not among them does not exist. */
  advertises(capability: keyof ServerCapabilities): boolean;
  /** The words for the peer of an error that is not an `RpcError` and yet was made to be told; undefined for any other. */
  explain(error: unknown): RpcError | undefined;
  /** Told of an error whose number the caller's revision does not let through. */
  onRenumbered(error: RpcError, call: Call, sent: number): void;
  /** Told of every exception that nobody expected, with the id the peer was given instead of its text. */
  onError(error: unknown, call: Call, errorId: string): void;
}

/** Told once of a call for which nothing more will be sent: whether its answer is a result; undefined when it was given up. */
export type Done = (call: Call, succeeded: boolean | undefined) => void;

/** The one request whose answer is the end of what it is for. */
export const LISTEN_METHOD = "subscriptions/listen";

/** Serves requests; one for a role, shared by all its conversations. */
export class Dispatcher {
  /** Calls under way, but for those that last as long as their caller listens. */
  running = 0;
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Serves a call to its end. `done` is called once, when nothing more will be sent for it. */
  serve(call: Call, done: Done): void {
    const counted = call.method === LISTEN_METHOD ? 0 : 1;
    this.running += counted;
    let outcome: Awaitable<Answer>;
    try {
      outcome = this.#start(call);
    } catch (error) {
      this.running -= counted;
      this.#fail(call, error, done);
      return;
    }
    if (isThenable(outcome)) {
      Promise.resolve(outcome).then(
        (answer) => {
          this.running -= counted;
          this.#finish(call, answer, done);
        },
        (error: unknown) => {
          this.running -= counted;
          this.#fail(call, error, done);
        },
      );
    } else {
      this.running -= counted;
      this.#finish(call, outcome, done);
    }
  }

  #start(call: Call): Awaitable<Answer> {
    const handler = this.#handlerOf(call);
    requireSound(call.record, call.params);
    const { middleware } = this.#options;
    return middleware.length === 0 ? handler(call) : runChain(middleware, 0, call, handler);
  }

  /** Finds the method in the caller's revision: deletion is absence, and an unadvertised feature is absent too. */
  #handlerOf(call: Call): Handler {
    const { handlers, custom } = this.#options;
    const record = call.caller.codec.revision.methods.get(call.method);
    const handler = record === undefined ? custom.get(call.method) : handlers.get(call.method);
    const gate = record?.capability;
    if (handler === undefined || (gate !== undefined && !this.#options.advertises(gate))) {
      throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${peerWords(call.method)}`);
    }
    if (record !== undefined) call.record = record;
    return handler;
  }

  /** Ends a call before its handler has: silently, or with the error of the cancellation, -32800 if it has none, where it asks for that. */
  cancel(call: Call, cancellation: Cancellation): void {
    if (call.ended) return;
    call.cancel(cancellation);
    call.end();
    if (!cancellation.answered) {
      call.carrier.abandon?.(true);
      return;
    }
    const { error = { code: McpErrorCode.RequestCancelled, message: "Request cancelled" } } = cancellation;
    void call.carrier.write(failureText(call.id, error), "response", error.code);
  }

  #finish(call: Call, answer: Answer, done: Done): void {
    if (call.ended) {
      done(call, undefined);
      return;
    }
    let text: string | TextPieces;
    try {
      text = this.#encode(call, answer);
    } catch (error) {
      this.#fail(call, error, done);
      return;
    }
    call.end();
    done(call, true);
    if (typeof text !== "string") return this.#sendTexts(call, text);
    if (answer instanceof ReadyResult && text.length >= WORTH_ENCODING && this.#sendBytes(call, answer)) return;
    if (text.length >= WORTH_PARTING && call.carrier.writeTexts) {
      call.carrier.writeTexts(successPieces(call.id, text));
    } else {
      void call.carrier.write(successText(call.id, text), "response");
    }
  }

  #sendTexts({ id, carrier }: Call, texts: TextPieces): void {
    const pieces = [successHead(id), ...texts, "}"];
    if (carrier.writePieces?.(pieces) === true) return;
    if (carrier.writeTexts) carrier.writeTexts(pieces);
    else void carrier.write(pieces.join(""), "response");
  }

  #sendBytes({ id, carrier, caller }: Call, answer: ReadyResult): boolean {
    return carrier.writePieces?.(successPieces(id, answer.bytesFor(caller.codec))) ?? false;
  }

  #encode(call: Call, answer: Answer): string | TextPieces {
    const { codec } = call.caller;
    if (answer instanceof ReadyResult) return answer.textFor(codec);
    if (!isJsonObject(answer)) {
      throw new TypeError(`${call.method} was answered with no result object: return one, or next()`);
    }
    return codec.resultPieces(call.record, answer, this.#options.identity);
  }

  #fail(call: Call, error: unknown, done: Done): void {
    if (call.ended) {
      done(call, undefined);
      return;
    }
    call.end();
    done(call, false);
    const known = error instanceof RpcError ? error : (this.#options.explain(error) ?? this.#unexpected(call, error));
    const object = call.caller.codec.error(known);
    if (isKept(known.code) && object.code !== known.code) this.#options.onRenumbered(known, call, object.code);
    void call.carrier.write(failureText(call.id, object), "response", object.code);
  }

  #unexpected(call: Call, error: unknown): RpcError {
    const fault = unexpected();
    this.#options.onError(error, call, fault.id);
    return new RpcError(ErrorCode.InternalError, fault.message, { errorId: fault.id });
  }
}

/** Throws -32602 for params that are not what the method takes. */
function requireSound(record: MethodRecord, params: JsonObject): void {
  const fault = record.check(params);
  if (fault === undefined) return;
  const { path, constraint, message } = fault;
  throw new RpcError(ErrorCode.InvalidParams, message, { path, constraint });
}

const OWN: ReadonlySet<number> = new Set(Object.values(McpErrorCode));

/** Whether a number is of the range that JSON-RPC keeps for implementations and MCP, from 2026-07-28 on, for itself. */
function isKept(code: number): boolean {
  return code <= -32000 && code >= -32099 && !OWN.has(code);
}

// Middleware: functions around every request, outermost first.

/** Serves one method. */
export type Handler<Params extends object = object> = (call: CallOf<Params>) => Awaitable<Answer>;

/** A method with its handler, for a dispatcher's table: the record's type is that of the params the handler gets. */
export function handling<Params extends object>(
  record: MethodRecord<Params>,
  handler: Handler<Params>,
): readonly [string, Handler] {
  return [record.name, handler as Handler];
}

/**
 * Goes on with the request: to the next middleware, at the end to the handler. Throws a TypeError at its second call, so
 * that nothing runs twice.
 */
export type Next = () => Promise<Answer>;

/**
 * Wraps every request. It may answer by itself, refuse by throwing an `RpcError`, or pass on what `next()` gives.
 * Interactive requests of the stateless era pass through it once a round.
 */
export type Middleware = (call: Call, next: Next) => Awaitable<Answer>;

/** Runs a call through the middleware from `index` on, then through its handler. */
export function runChain(chain: readonly Middleware[], index: number, call: Call, handler: Handler): Awaitable<Answer> {
  const middleware = chain[index];
  // Given up while it was judged: nothing of it begins, and nobody waits for what this says.
  if (middleware === undefined) return call.cancellation === undefined ? handler(call) : {};
  let gone = false;
  return middleware(call, () => {
    if (gone) throw new TypeError(`next() was called a second time for ${call.method}: the request runs once`);
    gone = true;
    return goOn(chain, index + 1, call, handler);
  });
}

/** `runChain` as a promise: what it throws is a rejection. */
async function goOn(chain: readonly Middleware[], index: number, call: Call, handler: Handler): Promise<Answer> {
  return runChain(chain, index, call, handler);
}
