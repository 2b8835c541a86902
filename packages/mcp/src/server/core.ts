// What a server is inside: its registries, tables and handlers, shared by every conversation and request.
import {
  type Answer,
  type Call,
  type CallOf,
  Dispatcher,
  handling,
  type Handler,
  Later,
  type Middleware,
} from "../endpoint/call.js";
import type { Carrier } from "../jsonrpc/transport.js";
import { isJsonObject, isThenable, type JsonObject, type NotificationMessage, peerWords } from "../jsonrpc/message.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import { type CapabilityOptions, capabilitiesAlone, capabilitiesToward, declaredCapabilities } from "./capabilities.js";
import type { AskServices } from "./context.js";
import type { ServerLimits } from "./limits.js";
import { LiveSessions, type QuestionCode } from "./session.js";
import { type LogMessage, Session } from "./session.js";
import type { Parking } from "./parking.js";
import type { Seal } from "./seal.js";
import {
  type CoreNews,
  type ListKind,
  type ServerCluster,
  Subscribers,
  Subscription,
  type Tells,
} from "./subscription.js";
import { completeArgument, type PromptEntry, PromptFiller } from "./prompts.js";
import { Registry, saidYes, type Unlisted, type Visibility } from "./registry.js";
import type { Reporter } from "./reporter.js";
import { type ResourceEntry, ResourceReader, type TemplateEntry } from "./resources.js";
import { ToolCaller, type ToolEntry } from "./tools.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { type ListHints, type ServerLists, serverLists } from "./lists.js";
import type { ServerTasks, VisibleTask } from "./tasks/server-tasks.js";
import { COMPLETE, GET_PROMPT, LIST_PROMPTS } from "../protocol/features/prompts.js";
import {
  DISCOVER,
  INITIALIZE,
  levelIndex,
  type LoggingLevel,
  PING,
  SET_LEVEL,
  type SetLevelRequestParams,
} from "../protocol/features/lifecycle.js";
import { interactive } from "../protocol/features/elicitation.js";
import {
  LIST_RESOURCE_TEMPLATES,
  LIST_RESOURCES,
  LISTEN,
  READ_RESOURCE,
  type ReadResourceRequestParams,
  SUBSCRIBE,
  type SubscriptionFilter,
  type SubscriptionsListenRequestParams,
  UNSUBSCRIBE,
} from "../protocol/features/resources.js";
import { CALL_TOOL, LIST_TOOLS } from "../protocol/features/tools.js";
import { META } from "../protocol/meta.js";
import type { PaginatedRequestParams } from "../protocol/method.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import { AskError, ToolError } from "./content.js";

/** What the server needs of a conversation it did not start by itself. */
interface LiveConversation {
  /** Sends an unsolicited log message, if there is a session and its level admits it. */
  log(level: number, message: LogMessage): void;
}

interface CoreOptions {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: CapabilityOptions;
  readonly limits: ServerLimits;
  /** Undefined: a random key. */
  readonly seal: Seal | undefined;
  readonly listTtlMs: number;
  readonly report: Reporter;
  readonly hooks: ConstructorParameters<typeof LiveSessions>[1];
  readonly visible?: Visibility | undefined;
  readonly unlisted?: Unlisted | undefined;
  readonly tells?: Tells | undefined;
  readonly replays?: boolean;
}

/** The inside of a {@link Server}. Other layers of the library reach it through `coreOf`. */
export class ServerCore implements AskServices {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly limits: ServerLimits;
  /** What may be kept of its lists; replaced when that is something else. */
  listHints: ListHints;
  readonly report: Reporter;
  /** Loaded with the first question, where it is not at hand. */
  questions: Later<QuestionCode> = new Later(() => import("./ask.js"));
  /** Loaded for the first caller who can be asked something. */
  readonly parking: Later<Parking>;
  readonly subscribers: Subscribers;
  readonly tools: Registry<ToolEntry>;
  readonly prompts: Registry<PromptEntry>;
  readonly resources: Registry<ResourceEntry>;
  readonly templates: Registry<TemplateEntry>;
  /** Replaced, never shifted, when something comes before the others: requests in service go on in the list they began with. */
  middleware: Middleware[] = [];
  readonly custom: Map<string, Handler> = new Map();
  readonly notifications: Map<string, (params: unknown, carrier: Carrier) => void> = new Map();
  readonly conversations: Set<LiveConversation> = new Set();
  readonly sessions: LiveSessions;
  /** Set with the first tool that runs as a task, and for good. */
  hadTasks = false;
  readonly reader: ResourceReader;
  readonly toolCaller: ToolCaller;
  readonly promptFiller: PromptFiller;
  /** Lists resources where templates list what is in them; undefined where it leaves that to what is registered. */
  listResources: ((call: CallOf<PaginatedRequestParams>) => Promise<Answer> | undefined) | undefined;
  /** Undefined: no tool runs as a task. */
  tasks: ServerTasks | undefined;
  /** Serves the requests of every conversation. */
  readonly dispatcher: Dispatcher;
  readonly #handlers: Map<string, Handler>;
  readonly #declared: CapabilityOptions;
  /** Tools that were reported once for a resource in a result. */
  readonly #renumberedCodes = new Set<number>();
  readonly #embedding = new Set<string>();
  #capabilities: ServerCapabilities | undefined;
  #cluster: ServerCluster | undefined;

  constructor(options: CoreOptions) {
    this.identity = options.identity;
    this.instructions = options.instructions;
    this.limits = options.limits;
    this.listHints = { ttlMs: options.listTtlMs, cacheScope: "public" };
    this.report = options.report;
    this.#declared = options.capabilities;
    this.sessions = new LiveSessions(this, options.hooks);
    this.parking = new Later(() => this.#parked(options));
    const { visible, unlisted, tells } = options;
    const warn = (text: string): void => this.report("error", text);
    // Asked while nobody waits for an answer: what it throws is a no.
    const judged =
      tells &&
      ((...about: Parameters<Tells>) =>
        saidYes(
          '"tells"',
          this.guarded('"tells"', () => tells(...about)),
          warn,
        ));
    this.subscribers = new Subscribers((uri) => this.#watch(uri), judged);
    const seen = (kind: Parameters<Visibility>[0]): ConstructorParameters<typeof Registry>[2] => ({
      visible: visible && ((key, call) => visible(kind, key, call)),
      unlisted: unlisted && ((key) => unlisted(kind, key)),
      warn,
    });
    this.tools = new Registry("tool", () => this.#changed("tools"), seen("tool"));
    this.prompts = new Registry("prompt", () => this.#changed("prompts"), seen("prompt"));
    this.resources = new Registry("resource", () => this.#changed("resources"), seen("resource"));
    this.templates = new Registry("resource template", () => this.#changed("resources"), seen("template"));
    this.reader = new ResourceReader(this.resources, this.templates, this);
    this.toolCaller = new ToolCaller(this.tools, this, {
      report: this.failed,
      embeds: this.#embeds,
      warn: this.#warn,
    });
    this.promptFiller = new PromptFiller(this.prompts, this);
    this.#handlers = serverHandlers(this, serverLists(this));
    this.dispatcher = this.#dispatcher(this.#handlers);
  }

  /** Lets tools run as tasks from now on. */
  serveTasks(tasks: ServerTasks): void {
    this.tasks = tasks;
    for (const [method, handler] of tasks.handlers()) this.#handlers.set(method, handler);
  }

  /** Joins the other processes of this server. Throws JOINED where it has joined others already. */
  join(cluster: ServerCluster): void {
    if (this.#cluster !== undefined) {
      throw new LocalError("JOINED", "This server shares with other processes already: serve it once with `share`");
    }
    this.#cluster = cluster;
    this.parking.there?.join(cluster);
    this.tasks?.join(cluster);
  }

  async #parked({ limits, seal, replays }: CoreOptions): Promise<Parking> {
    const parking = new (await import("./parking.js")).Parking(limits, seal, replays);
    parking.join(this.#cluster);
    return parking;
  }

  /** Passes on what another process told. */
  hear(news: CoreNews): void {
    switch (news.kind) {
      case "list":
        return this.subscribers.listChanged(news.list);
      case "resource":
        return this.subscribers.resourceUpdated(news.uri);
      case "task":
        return this.tasks?.heard(news.record, news.questions);
      case "log":
        return this.#log(news.level, news.message);
      case "all":
        return this.subscribers.allChanged();
    }
  }

  /** Sends a log message to every session whose level admits it, those of other processes too. */
  log(level: LoggingLevel, message: LogMessage): void {
    this.#log(level, message);
    this.#cluster?.tell({ kind: "log", level, message: { ...message } });
  }

  #log(level: LoggingLevel, message: object): void {
    const index = levelIndex(level);
    for (const conversation of this.conversations) conversation.log(index, message as LogMessage);
  }

  /** Tells subscribers that a resource changed, those of other processes too. */
  resourceUpdated(uri: string): void {
    this.subscribers.resourceUpdated(uri);
    this.#cluster?.tell({ kind: "resource", uri });
  }

  #dispatcher(handlers: ReadonlyMap<string, Handler>): Dispatcher {
    const middleware = (): readonly Middleware[] => this.middleware;
    return new Dispatcher({
      identity: this.identity,
      handlers,
      custom: this.custom,
      get middleware() {
        return middleware();
      },
      advertises: (capability) => this.advertises(capability),
      explain,
      onError: this.failed,
      onRenumbered: this.#renumbered,
    });
  }

  /** The capabilities of now: derived from what is registered, so that nothing is declared that does not work. */
  capabilities(): ServerCapabilities {
    return (this.#capabilities ??= declaredCapabilities(this, this.#declared));
  }

  advertises(capability: keyof ServerCapabilities): boolean {
    return this.capabilities()[capability] !== undefined;
  }

  /** Passes a notification the protocol does not know on to whoever registered for it. */
  notified(message: NotificationMessage, carrier: Carrier): void {
    const handler = this.notifications.get(message.method);
    if (handler === undefined) return;
    this.guarded(`The handler of ${message.method}`, () => handler(message.params, carrier));
  }

  /** A resource in a result is one of the server's: clients may want to read or watch it (server/tools, "Embedded Resources"). */
  readonly #embeds = (tool: string): void => {
    if (this.#embedding.has(tool) || this.advertises("resources")) return;
    this.#embedding.add(tool);
    const what = "returns a resource, and the server offers none: register what it names, or return text";
    this.#warn(tool, what);
  };

  readonly #warn = (tool: string, what: string): void => this.report("warning", `The tool ${tool} ${what}`);

  /** Reports an exception nobody expected, under the id the peer was given instead of its text. */
  readonly failed = (error: unknown, call: Call, errorId: string): void => {
    const name = call.params["name"] ?? call.params["uri"];
    const what = `${call.method}${name === undefined ? "" : ` ${JSON.stringify(name)}`} failed (error id ${errorId})`;
    this.report("error", what, { errorId, error });
  };

  /** A number that clients of 2026-07-28 never see: said once for each, while its author can still take another. */
  readonly #renumbered = ({ code }: RpcError, call: Call, sent: number): void => {
    if (this.#renumberedCodes.has(code)) return;
    this.#renumberedCodes.add(code);
    const what = `The error ${code} of ${call.method} was sent as ${sent}`;
    this.report("warning", `${what}: the specification keeps its number, take a code outside of -32768 to -32000`);
  };

  /** A resource that cannot be watched can still be subscribed to: it may be announced by `resourceUpdated`. */
  #watch(uri: string): (() => void) | undefined | Promise<(() => void) | undefined> {
    const what = `Watching ${JSON.stringify(uri)}`;
    const ending = (stop: (() => void) | undefined) => stop && (() => this.guarded(what, stop));
    const begun = this.guarded(what, () => this.reader.watch(uri, () => this.subscribers.resourceUpdated(uri)));
    return isThenable(begun) ? Promise.resolve(begun).then(ending, () => undefined) : ending(begun);
  }

  /** Runs what an author wrote where nobody waits for an answer: failures, later ones too, are reported. */
  guarded<T>(what: string, run: () => T): T | undefined {
    const failed = (error: unknown): void => this.report("error", `${what} failed`, { error });
    try {
      const returned = run();
      if (isThenable(returned)) Promise.resolve(returned).catch(failed);
      return returned;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  /** Scopes that a request needs for what it names: for transports that can ask their callers for more. */
  scopesFor(method: string, params: JsonObject): readonly string[] | undefined {
    // Judged before the method's check: anything may stand there.
    const name = textIn(params, "name");
    const uri = textIn(params, "uri");
    switch (method) {
      case "tools/call":
        return this.tools.get(name)?.scopes;
      case "prompts/get":
        return this.prompts.get(name)?.scopes;
      case "resources/read":
      case "resources/subscribe":
        return this.reader.scopesFor(uri);
      case "completion/complete": {
        const ref = isJsonObject(params["ref"]) ? params["ref"] : {};
        return this.prompts.get(textIn(ref, "name"))?.scopes ?? this.templates.get(textIn(ref, "uri"))?.scopes;
      }
      default:
        return undefined;
    }
  }

  /** Tells clients that a list is another one now, although nothing was registered or removed. */
  listChanged(kind: ListKind): void {
    this.subscribers.listChanged(kind);
    this.#cluster?.tell({ kind: "list", list: kind });
  }

  #changed(kind: ListKind): void {
    this.#capabilities = undefined;
    this.listChanged(kind);
  }
}

/** A member that should be a text, or the empty one, which names nothing. */
function textIn(params: JsonObject, key: string): string {
  const value = params[key];
  return typeof value === "string" ? value : "";
}

const LISTS: readonly [keyof SubscriptionFilter, ListKind][] = [
  ["toolsListChanged", "tools"],
  ["promptsListChanged", "prompts"],
  ["resourcesListChanged", "resources"],
];

type ListenCall = CallOf<SubscriptionsListenRequestParams>;

/** Serves `subscriptions/listen`: acknowledged first. The answer comes when the server ends it; a client that ends it gets none. */
function listen(core: ServerCore, call: ListenCall): Promise<Answer> {
  if (call.carrier.answersOnly === true) {
    const what =
      "Method not found: subscriptions/listen: its answer is a stream, and this endpoint or your Accept takes only JSON";
    throw new RpcError(ErrorCode.MethodNotFound, what);
  }
  const { taskIds } = call.params.notifications;
  if (taskIds === undefined || core.tasks === undefined || !core.advertises("tasks")) return open(core, call);
  const asked = [...new Set(taskIds)].slice(0, core.limits.subscribedUris);
  return core.tasks
    .visible(call, asked)
    .then((visible) => (call.cancellation === undefined ? open(core, call, visible) : {}));
}

function open(core: ServerCore, call: ListenCall, tasks?: readonly VisibleTask[]): Promise<Answer> {
  const honoured = honour(core, call);
  const taskIds = tasks?.map(({ taskId }) => taskId);
  if (taskIds !== undefined) honoured.taskIds = taskIds;
  return core.subscribers.watched(honoured.resourceSubscriptions ?? [], () =>
    call.cancellation === undefined ? acknowledge(core, call, honoured, tasks) : Promise.resolve({}),
  );
}

function acknowledge(
  { limits, subscribers }: ServerCore,
  call: ListenCall,
  honoured: SubscriptionFilter,
  tasks: readonly VisibleTask[] | undefined,
): Promise<Answer> {
  if (subscribers.listensOf(call.connection) >= limits.listens) {
    const what = `This connection has ${limits.listens} subscriptions open: end one first`;
    throw new RpcError(ErrorCode.InternalError, what, { limit: limits.listens });
  }
  const subscription = new Subscription({
    connection: call.connection,
    codec: call.caller.codec,
    carrier: call.carrier,
    lists: new Set(LISTS.filter(([flag]) => honoured[flag] === true).map(([, kind]) => kind)),
    uris: honoured.resourceSubscriptions ?? [],
    tasks: honoured.taskIds ?? [],
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
    // The answer of a cancelled call is dropped, but it has to end, or its id would be in use for ever.
    call.whenCancelled(subscription.end);
  });
}

/** The part of the filter this server can honour: advertised lists, and resources that exist. */
function honour(core: ServerCore, call: ListenCall): SubscriptionFilter {
  const filter = call.params.notifications;
  const honoured: SubscriptionFilter = {};
  if (filter.toolsListChanged === true && core.advertises("tools")) honoured.toolsListChanged = true;
  if (filter.promptsListChanged === true && core.advertises("prompts")) honoured.promptsListChanged = true;
  if (!core.advertises("resources")) return honoured;
  if (filter.resourcesListChanged === true) honoured.resourcesListChanged = true;
  if (filter.resourceSubscriptions !== undefined) {
    // Cut before they are looked up, so that a long filter costs no more than a full one.
    const wanted = [...new Set(filter.resourceSubscriptions)].slice(0, core.limits.subscribedUris);
    honoured.resourceSubscriptions = wanted.filter((uri) => core.reader.has(uri, call));
  }
  return honoured;
}

// The handlers of the server role: one for each method of the protocol, whatever the revision.

/** An empty answer: the codecs write it as each revision wants it. */
const DONE: JsonObject = Object.freeze({});

/** Builds the table. What it closes over is made once. */
function serverHandlers(core: ServerCore, lists: ServerLists): Map<string, Handler> {
  return new Map([
    handling(INITIALIZE, (call) => initialize(core, call)),
    handling(PING, () => DONE),
    handling(DISCOVER, (call) => discover(core, call)),
    handling(LIST_TOOLS, (call) => lists.tools.page(call)),
    handling(interactive(CALL_TOOL), (call) => core.toolCaller.call(call)),
    handling(LIST_RESOURCES, (call) => core.listResources?.(call) ?? lists.resources.page(call)),
    handling(LIST_RESOURCE_TEMPLATES, (call) => lists.templates.page(call)),
    handling(interactive(READ_RESOURCE), (call) => core.reader.read(call)),
    handling(SUBSCRIBE, (call) => subscribe(core, call)),
    handling(UNSUBSCRIBE, (call) => unsubscribe(core, call)),
    handling(LIST_PROMPTS, (call) => lists.prompts.page(call)),
    handling(interactive(GET_PROMPT), (call) => core.promptFiller.get(call)),
    handling(COMPLETE, (call) => completeArgument(core, call)),
    handling(SET_LEVEL, setLevel),
    handling(LISTEN, (call) => listen(core, call)),
  ]);
}

function initialize(core: ServerCore, call: Call): Answer {
  const { instructions, identity } = core;
  const all = core.capabilities();
  const lasting = call.caller instanceof Session ? all : capabilitiesAlone(all);
  return {
    protocolVersion: call.caller.codec.revision.date,
    capabilities: capabilitiesToward(call.carrier.principal, lasting),
    serverInfo: identity,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function discover(core: ServerCore, { carrier }: Call): Answer {
  const { instructions, listHints } = core;
  const all = core.capabilities();
  return {
    supportedVersions: REVISIONS.map((revision) => revision.date),
    capabilities: carrier.answersOnly === true ? capabilitiesAlone(all) : all,
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: listHints.ttlMs,
    // What one who reads no streams is told is not everybody's.
    cacheScope: carrier.answersOnly === true ? "private" : listHints.cacheScope,
  };
}

function subscribe(core: ServerCore, call: CallOf<ReadResourceRequestParams>): Answer | Promise<Answer> {
  const { subscription } = sessionOf(call);
  const { uri } = call.params;
  core.reader.require(uri, call);
  if (subscription === undefined) return DONE;
  const limit = core.limits.subscribedUris;
  if (subscription.uris.size >= limit && !subscription.uris.has(uri)) {
    throw new RpcError(ErrorCode.InternalError, `This session is subscribed to ${limit} resources already`, { limit });
  }
  const watched = core.subscribers.subscribe(subscription, uri);
  sessionOf(call).changed?.();
  return watched === undefined ? DONE : watched.then(() => DONE);
}

function unsubscribe(core: ServerCore, call: CallOf<ReadResourceRequestParams>): Answer {
  const { subscription } = sessionOf(call);
  if (subscription !== undefined) core.subscribers.unsubscribe(subscription, call.params.uri);
  sessionOf(call).changed?.();
  return DONE;
}

function setLevel(call: CallOf<SetLevelRequestParams>): Answer {
  const session = sessionOf(call);
  session.logLevel = levelIndex(call.params.level);
  session.changed?.();
  return DONE;
}

/** What lasts beyond its request needs a session: where messages are served one by one, it does not exist. */
function sessionOf({ caller, method }: Call): Session {
  if (caller instanceof Session) return caller;
  throw new RpcError(ErrorCode.MethodNotFound, `Method not found: ${peerWords(method)}`);
}

/** The words for the peer of an error that is not an `RpcError` and yet was made to be told. */
function explain(error: unknown): RpcError | undefined {
  const tellable = error instanceof AskError || error instanceof ToolError;
  return tellable ? new RpcError(ErrorCode.InternalError, error.message) : undefined;
}
