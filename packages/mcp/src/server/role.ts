// The server role put together: the core, its lists and handlers, and the dispatcher every conversation shares.
import { Dispatcher } from "../endpoint/dispatcher.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { AskError } from "./ask-error.js";
import { type CoreOptions, ServerCore } from "./core.js";
import { serverHandlers } from "./handlers.js";
import { serverLists, type Visibility } from "./server-lists.js";

/** What a conversation is served by. */
export interface ServerRole {
  readonly core: ServerCore;
  readonly dispatcher: Dispatcher;
}

/** Puts a role together. */
export function serverRole(options: CoreOptions, visible: Visibility | undefined): ServerRole {
  const core = new ServerCore(options);
  const dispatcher = new Dispatcher({
    identity: core.identity,
    handlers: serverHandlers(core, serverLists(core, visible)),
    custom: core.custom,
    middleware: core.middleware,
    advertises: (capability) => core.advertises(capability),
    explain: (error) => (error instanceof AskError ? new RpcError(ErrorCode.InternalError, error.message) : undefined),
    onError: core.failed,
  });
  return { core, dispatcher };
}
