// Serves `subscriptions/listen`: one long request that is acknowledged first and answered only at its end.
import type { Answer } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { SubscriptionFilter } from "../protocol/features/subscriptions.js";
import { META } from "../protocol/meta.js";
import type { ServerCore } from "./core.js";
import { type ListKind, Subscription } from "./subscription.js";
import type { ServerTasks, VisibleTask } from "./tasks/server-tasks.js";

const LISTS: readonly [keyof SubscriptionFilter, ListKind][] = [
  ["toolsListChanged", "tools"],
  ["promptsListChanged", "prompts"],
  ["resourcesListChanged", "resources"],
];

/** Opens the subscription. The answer comes when the server ends it; a client that ends it gets none. */
export function listen(core: ServerCore, tasks: ServerTasks, call: Call): Promise<Answer> {
  if (call.carrier.answersOnly === true) {
    const what =
      "Method not found: subscriptions/listen: its answer is a stream, and this endpoint or your Accept takes only JSON";
    throw new RpcError(ErrorCode.MethodNotFound, what);
  }
  const { taskIds } = call.params["notifications"] as SubscriptionFilter;
  if (taskIds === undefined || !core.advertises("tasks")) return open(core, call);
  const asked = [...new Set(taskIds)].slice(0, core.limits.subscribedUris);
  return tasks
    .visible(call, asked)
    .then((visible) => (call.cancellation === undefined ? open(core, call, visible) : {}));
}

function open(core: ServerCore, call: Call, tasks?: readonly VisibleTask[]): Promise<Answer> {
  const { limits, subscribers } = core;
  if (subscribers.listensOf(call.peer) >= limits.listens) {
    const what = `This connection has ${limits.listens} subscriptions open: end one first`;
    throw new RpcError(ErrorCode.InternalError, what, { limit: limits.listens });
  }
  const honoured = honour(core, call.params["notifications"] as SubscriptionFilter);
  const taskIds = tasks?.map(({ taskId }) => taskId);
  if (taskIds !== undefined) honoured.taskIds = taskIds;
  const subscription = new Subscription({
    peer: call.peer,
    codec: call.caller.codec,
    carrier: call.carrier,
    lists: new Set(LISTS.filter(([flag]) => honoured[flag] === true).map(([, kind]) => kind)),
    uris: honoured.resourceSubscriptions ?? [],
    tasks: taskIds ?? [],
    id: call.id,
  });
  void subscription.send("notifications/subscriptions/acknowledged", { notifications: honoured });
  subscribers.add(subscription);
  // A task may have changed, or ended, before anybody listened.
  for (const { taskId, detail } of tasks ?? []) {
    subscription.taskChanged(taskId, "notifications/tasks", detail(subscription.codec));
  }
  return new Promise((resolve) => {
    subscription.end = () => {
      subscribers.remove(subscription);
      resolve({ _meta: { [META.subscriptionId]: call.id } });
    };
    call.onDrain = subscription.end;
    // The answer of a cancelled call is dropped, but it has to end, or its id would be in use for ever.
    call.onCancel = subscription.end;
  });
}

/** The part of the filter this server can honour: advertised lists, and resources that exist. */
function honour(core: ServerCore, filter: SubscriptionFilter): SubscriptionFilter {
  const honoured: SubscriptionFilter = {};
  if (filter.toolsListChanged === true && core.advertises("tools")) honoured.toolsListChanged = true;
  if (filter.promptsListChanged === true && core.advertises("prompts")) honoured.promptsListChanged = true;
  if (!core.advertises("resources")) return honoured;
  if (filter.resourcesListChanged === true) honoured.resourcesListChanged = true;
  if (filter.resourceSubscriptions !== undefined) {
    // Cut before they are looked up, so that a long filter costs no more than a full one.
    const wanted = [...new Set(filter.resourceSubscriptions)].slice(0, core.limits.subscribedUris);
    honoured.resourceSubscriptions = wanted.filter((uri) => core.reader.has(uri));
  }
  return honoured;
}
