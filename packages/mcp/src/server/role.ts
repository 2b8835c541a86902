// The server role put together: the core, its lists and handlers, and the dispatcher every conversation shares.
import { Dispatcher } from "../endpoint/dispatcher.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { AskError } from "./ask-error.js";
import { type CoreOptions, ServerCore } from "./core.js";
import { serverHandlers } from "./handlers.js";
import { serverLists, type Visibility } from "./server-lists.js";
import { MemoryTaskStore } from "./tasks/memory-task-store.js";
import { ServerTasks } from "./tasks/server-tasks.js";
import type { TaskStore } from "./tasks/task-store.js";

/** What a conversation is served by. */
export interface ServerRole {
  readonly core: ServerCore;
  readonly tasks: ServerTasks;
  readonly dispatcher: Dispatcher;
}

/** Puts a role together. */
export function serverRole(options: CoreOptions, visible?: Visibility, store?: TaskStore): ServerRole {
  const core = new ServerCore(options);
  const tasks = new ServerTasks(core, store ?? new MemoryTaskStore(core.limits));
  const dispatcher = new Dispatcher({
    identity: core.identity,
    handlers: serverHandlers(core, serverLists(core, visible), tasks),
    custom: core.custom,
    get middleware() {
      return core.middleware;
    },
    advertises: (capability) => core.advertises(capability),
    explain: (error) => (error instanceof AskError ? new RpcError(ErrorCode.InternalError, error.message) : undefined),
    onError: core.failed,
  });
  return { core, tasks, dispatcher };
}
