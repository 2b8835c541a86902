// Middleware: functions around every request, outermost first.
import type { Answer, MaybePromise } from "./answer.js";
import type { Call } from "./call.js";

/** Serves one method. */
export type Handler = (call: Call) => MaybePromise<Answer>;

/**
 * Goes on with the request: to the next middleware, at the end to the handler. Throws a TypeError at its second call, so
 * that nothing runs twice.
 */
export type Next = () => Promise<Answer>;

/**
 * Wraps every request. It may answer by itself, refuse by throwing an `RpcError`, or pass on what `next()` gives.
 * Interactive requests of the stateless era pass through it once a round.
 */
export type Middleware = (call: Call, next: Next) => MaybePromise<Answer>;

/** Runs a call through the middleware from `index` on, then through its handler. */
export function runChain(
  chain: readonly Middleware[],
  index: number,
  call: Call,
  handler: Handler,
): MaybePromise<Answer> {
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
