// Dispatch: from a request to its handler, and from the outcome to the answer on the wire.
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import {
  type Awaitable,
  failureText,
  isJsonObject,
  isThenable,
  successPieces,
  successText,
} from "../jsonrpc/message.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { MethodRecord } from "../protocol/method.js";
import { type Answer, type Call, type CallOf, type Cancellation, ReadyResult, unexpected } from "./call.js";
import { peerWords } from "../jsonrpc/visible-text.js";

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

/** Serves requests; one for a role, shared by all its conversations. */
export class Dispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Serves a call to its end. `done` is called once, when nothing more will be sent for it. */
  serve(call: Call, done: Done): void {
    let outcome: Awaitable<Answer>;
    try {
      outcome = this.#start(call);
    } catch (error) {
      this.#fail(call, error, done);
      return;
    }
    if (isThenable(outcome)) {
      Promise.resolve(outcome).then(
        (answer) => this.#finish(call, answer, done),
        (error: unknown) => this.#fail(call, error, done),
      );
    } else {
      this.#finish(call, outcome, done);
    }
  }

  #start(call: Call): Awaitable<Answer> {
    const handler = this.#handlerOf(call);
    const fault = call.record.check(call.params);
    if (fault !== undefined) {
      const { path, constraint, message } = fault;
      throw new RpcError(ErrorCode.InvalidParams, message, { path, constraint });
    }
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

  /** Ends a call its sender no longer wants: silently, or with -32800 where the cancellation asks for an answer. */
  cancel(call: Call, cancellation: Cancellation): void {
    if (call.ended) return;
    call.cancel(cancellation);
    call.progress?.finish();
    call.logs?.finish();
    call.ended = true;
    if (!cancellation.answered) {
      call.carrier.abandon?.(true);
      return;
    }
    const error = { code: McpErrorCode.RequestCancelled, message: "Request cancelled" };
    void call.carrier.write(failureText(call.id, error), "response", error.code);
  }

  #finish(call: Call, answer: Answer, done: Done): void {
    if (call.ended) {
      done(call, undefined);
      return;
    }
    let text: string;
    try {
      text = this.#encode(call, answer);
    } catch (error) {
      this.#fail(call, error, done);
      return;
    }
    call.progress?.finish();
    call.logs?.finish();
    call.ended = true;
    done(call, true);
    if (answer instanceof ReadyResult && text.length >= WORTH_ENCODING && this.#sendBytes(call, answer)) return;
    if (text.length >= WORTH_PARTING && call.carrier.writeTexts) {
      call.carrier.writeTexts(successPieces(call.id, text));
    } else {
      void call.carrier.write(successText(call.id, text), "response");
    }
  }

  #sendBytes({ id, carrier, caller }: Call, answer: ReadyResult): boolean {
    return carrier.writePieces?.(successPieces(id, answer.bytesFor(caller.codec))) ?? false;
  }

  #encode(call: Call, answer: Answer): string {
    const { codec } = call.caller;
    if (answer instanceof ReadyResult) return answer.textFor(codec);
    if (!isJsonObject(answer)) {
      throw new TypeError(`${call.method} was answered with no result object: return one, or next()`);
    }
    return codec.resultText(call.record, answer, this.#options.identity);
  }

  #fail(call: Call, error: unknown, done: Done): void {
    if (call.ended) {
      done(call, undefined);
      return;
    }
    call.progress?.finish();
    call.logs?.finish();
    call.ended = true;
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
  if (middleware === undefined) return handler(call);
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
