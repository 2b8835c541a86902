// Methods that are not the specification's: served in every revision, asked like any other.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Handler } from "../endpoint/middleware.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { type AskServices, Context } from "./context.js";

/** Serves a method of an author's own. It returns the result object; `RpcError` is the way to refuse. */
export type CustomHandler = (params: JsonObject, ctx: Context) => MaybePromise<JsonObject>;

/** Wraps an author's handler for the dispatcher. */
export function customHandler(services: AskServices, handler: CustomHandler): Handler {
  return (call): MaybePromise<Answer> => handler(call.params, new Context(call, services));
}
