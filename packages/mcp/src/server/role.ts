// The server role put together: the core, its lists and handlers, and the dispatcher every conversation shares.
import { Dispatcher, type Handler } from "../endpoint/dispatcher.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { AskError } from "./ask.js";
import { type CoreOptions, ServerCore } from "./core.js";
import { serverLists, type ServerLists, type Visibility } from "./lists.js";
import { MemoryTaskStore } from "./tasks/memory-task-store.js";
import { ServerTasks, type VisibleTask } from "./tasks/server-tasks.js";
import type { TaskStore } from "./tasks/task-store.js";
import type { Answer, Call, MaybePromise } from "../endpoint/call.js";
import type { SubscriptionFilter } from "../protocol/features/subscriptions.js";
import { META } from "../protocol/meta.js";
import { type ListKind, Subscription } from "./subscription.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import { levelIndex } from "../protocol/features/logging.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import { capabilitiesAlone, capabilitiesToward } from "./capabilities.js";
import { completeArgument } from "./completions.js";
import { Session } from "./session.js";
import { peerWords } from "../jsonrpc/visible-text.js";

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

// Serves `subscriptions/listen`: one long request that is acknowledged first and answered only at its end.

const LISTS: readonly [keyof SubscriptionFilter, ListKind][] = [
  ["toolsListChanged", "tools"],
  ["promptsListChanged", "prompts"],
  ["resourcesListChanged", "resources"],
];

/** Opens the subscription. The answer comes when the server ends it; a client that ends it gets none. */
function listen(core: ServerCore, tasks: ServerTasks, call: Call): Promise<Answer> {
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

// The handlers of the server role: one for each method of the protocol, whatever the revision.

/** An empty answer: the codecs write it as each revision wants it. */
const DONE: JsonObject = Object.freeze({});

/** Builds the table. What it closes over is made once. */
function serverHandlers(core: ServerCore, lists: ServerLists, tasks: ServerTasks): ReadonlyMap<string, Handler> {
  return new Map<string, Handler>([
    ["initialize", (call) => initialize(core, call)],
    ["ping", () => DONE],
    ["server/discover", (call) => discover(core, call)],
    ["tools/list", (call) => lists.tools.page(call)],
    ["tools/call", (call) => core.toolCaller.call(call)],
    ["resources/list", (call) => lists.resources.page(call)],
    ["resources/templates/list", (call) => lists.templates.page(call)],
    ["resources/read", (call) => core.reader.read(call)],
    ["resources/subscribe", (call) => subscribe(core, call)],
    ["resources/unsubscribe", (call) => unsubscribe(core, call)],
    ["prompts/list", (call) => lists.prompts.page(call)],
    ["prompts/get", (call) => core.promptFiller.get(call)],
    ["completion/complete", (call): MaybePromise<Answer> => completeArgument(core, call)],
    ["logging/setLevel", setLevel],
    ["subscriptions/listen", (call) => listen(core, tasks, call)],
    ...tasks.handlers(),
  ]);
}

function initialize(core: ServerCore, call: Call): Answer {
  const { instructions, identity } = core;
  return {
    protocolVersion: call.caller.codec.revision.date,
    capabilities: capabilitiesToward(call.carrier.principal, lasting(call, core.capabilities())),
    serverInfo: identity,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function discover(core: ServerCore, { carrier }: Call): Answer {
  const { instructions } = core;
  const all = core.capabilities();
  return {
    supportedVersions: REVISIONS.map((revision) => revision.date),
    capabilities: carrier.answersOnly === true ? capabilitiesAlone(all) : all,
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: core.listTtlMs,
    // What one who reads no streams is told is not everybody's.
    cacheScope: carrier.answersOnly === true ? "private" : "public",
  };
}

function subscribe(core: ServerCore, call: Call): Answer {
  const { subscription } = sessionOf(call);
  const uri = call.params["uri"] as string;
  core.reader.require(uri);
  if (subscription === undefined) return DONE;
  const limit = core.limits.subscribedUris;
  if (subscription.uris.size >= limit && !subscription.uris.has(uri)) {
    throw new RpcError(ErrorCode.InternalError, `This session is subscribed to ${limit} resources already`, { limit });
  }
  core.subscribers.subscribe(subscription, uri);
  return DONE;
}

function unsubscribe(core: ServerCore, call: Call): Answer {
  const { subscription } = sessionOf(call);
  if (subscription !== undefined) core.subscribers.unsubscribe(subscription, call.params["uri"] as string);
  return DONE;
}

function setLevel(call: Call): Answer {
  sessionOf(call).logLevel = levelIndex(call.params["level"]);
  return DONE;
}

/** What lasts beyond its request needs a session: where messages are served one by one, it does not exist. */
function sessionOf({ caller, method }: Call): Session {
  if (caller instanceof Session) return caller;
  throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${peerWords(method)}`);
}

function lasting({ caller }: Call, all: ServerCapabilities): ServerCapabilities {
  return caller instanceof Session ? all : capabilitiesAlone(all);
}
