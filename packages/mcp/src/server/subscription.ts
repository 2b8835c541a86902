// One receiver of change notifications, and the other processes of a server that hear of changes too.
import type { Answer, Call, CallOf, Line } from "../endpoint/call.js";
import type { Codec } from "../era/codec.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { isThenable, type JsonObject, notificationText, type RequestId } from "../jsonrpc/message.js";
import type { Carrier } from "../jsonrpc/transport.js";
import type { InputRequest } from "../protocol/features/elicitation.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { SubscriptionFilter, SubscriptionsListenRequestParams } from "../protocol/features/resources.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import { META } from "../protocol/meta.js";
import { saidYes } from "./content.js";
import type { Reporter } from "./reporter.js";
import type { TaskRecord, TaskStore } from "./tasks/task-store.js";

/** The lists whose changes are announced. */
export type ListKind = "tools" | "prompts" | "resources";

/** Changes held for a receiver that does not read; past it the oldest are dropped, since each only says "look again". */
const HELD_CHANGES = 1_000;

const RESOURCE_UPDATED = "notifications/resources/updated";
const NO_URIS: ReadonlySet<string> = new Set();
const NO_TASKS: readonly string[] = [];

/** A session, or one `subscriptions/listen` request. */
export class Subscription {
  readonly connection: Line;
  readonly codec: Codec;
  readonly carrier: Carrier;
  readonly lists: ReadonlySet<ListKind>;
  readonly tasks: readonly string[];
  /** The listen request that names this subscription; undefined for a session. */
  readonly id: RequestId | undefined;
  /** Ends a listen request gracefully. */
  end: (() => void) | undefined;
  /** Most sessions never subscribe to a resource: made when one does. */
  #uris: Set<string> | undefined;
  /** Made when a reader first falls behind. */
  #held: Map<string, { readonly method: string; readonly params: object }> | undefined;
  #busy = false;

  constructor(options: {
    readonly connection: Line;
    readonly codec: Codec;
    readonly carrier: Carrier;
    readonly lists: ReadonlySet<ListKind>;
    readonly uris?: Iterable<string>;
    readonly tasks?: readonly string[];
    readonly id?: RequestId;
  }) {
    this.connection = options.connection;
    this.codec = options.codec;
    this.carrier = options.carrier;
    this.lists = options.lists;
    if (options.uris !== undefined) this.#uris = new Set(options.uris);
    this.tasks = options.tasks ?? NO_TASKS;
    this.id = options.id;
  }

  /** The resources it wants to hear of. */
  get uris(): ReadonlySet<string> {
    return this.#uris ?? NO_URIS;
  }

  /** Returns false when it was wanted before. */
  addUri(uri: string): boolean {
    this.#uris ??= new Set();
    const before = this.#uris.size;
    return this.#uris.add(uri).size > before;
  }

  /** Returns false when it was not wanted. */
  removeUri(uri: string): boolean {
    return this.#uris?.delete(uri) ?? false;
  }

  /** Announces a changed list, if it is wanted. */
  listChanged(kind: ListKind): void {
    if (this.lists.has(kind)) this.#change(kind, `notifications/${kind}/list_changed`, {});
  }

  /** Announces a changed resource if it, or something it lies in, is subscribed to. */
  resourceUpdated(uri: string): void {
    if (this.hears(uri)) this.#change(uri, RESOURCE_UPDATED, { uri });
  }

  /** Whether a changed resource, or something it lies in, is subscribed to. */
  hears(uri: string): boolean {
    return covers(this.uris, uri);
  }

  /** Tells nothing of these resources that waits for its reader. */
  forget(whose: (uri: string) => boolean): void {
    for (const [key, { method }] of this.#held ?? [])
      if (method === RESOURCE_UPDATED && whose(key)) this.#held?.delete(key);
  }

  /** Announces a changed task; a reader that is behind gets its latest state only. */
  taskChanged(taskId: string, method: string, params: object): void {
    this.#change(`task ${taskId}`, method, params);
  }

  /** Sends a notification as it is; undefined when the reader keeps up. */
  send(method: string, params: object): void | Promise<void> {
    const named = this.id === undefined ? params : { ...params, _meta: { [META.subscriptionId]: this.id } };
    const projected = this.codec.notification(method, named);
    if (projected === undefined || this.carrier.closed) return undefined;
    return this.carrier.write(notificationText(method, projected), "notification");
  }

  /** Sends a change, or holds it (merged with an equal one) while the reader is behind. */
  #change(key: string, method: string, params: object): void {
    if (this.#busy) {
      const held = (this.#held ??= new Map());
      held.set(key, { method, params });
      if (held.size > HELD_CHANGES) held.delete(held.keys().next().value as string);
      return;
    }
    const written = this.send(method, params);
    if (written === undefined) return;
    this.#busy = true;
    void written.then(() => this.#release());
  }

  #release(): void {
    this.#busy = false;
    const held = this.#held;
    if (held === undefined) return;
    for (const [key, { method, params }] of held) {
      if (this.#busy) return;
      held.delete(key);
      this.#change(key, method, params);
    }
  }
}

/** Whether a set of URIs names `uri` or a parent of it: `file:///a` covers `file:///a/b`. */
function covers(uris: ReadonlySet<string>, uri: string): boolean {
  if (uris.size === 0) return false;
  if (uris.has(uri)) return true;
  for (let end = uri.lastIndexOf("/"); end > 0; end = uri.lastIndexOf("/", end - 1)) {
    if (uris.has(uri.slice(0, end + 1)) || uris.has(uri.slice(0, end))) return true;
  }
  return false;
}

// Everybody who wants to hear of changes: sessions and listen requests, told once a tick.

const ALL_LISTS: ReadonlySet<ListKind> = new Set(["tools", "prompts", "resources"]);

/** What ends the watching of a URI; a promise of it while the watching begins. Such a promise never rejects. */
type Watched = (() => void) | undefined | Promise<(() => void) | undefined>;

/** Called when the first subscriber of a URI comes; what it returns is called when the last one has gone. */
type Watcher = (uri: string) => Watched;

/**
 * Whether a resource may be told of: asked before each update that somebody subscribed to (`updated`), and of all that is subscribed to
 * by `rejudgeSubscriptions` (`rejudged`). Where it may not, the subscription is over.
 */
export type Tells = (uri: string, when: "updated" | "rejudged") => boolean;

/** Fans changes out to subscriptions. Changes of one tick are merged. */
export class Subscribers {
  readonly #all = new Set<Subscription>();
  readonly #watched = new Map<string, { count: number; readonly stop: Watched }>();
  readonly #listens = new WeakMap<Line, number>();
  readonly #tasks = new Map<string, Set<Subscription>>();
  readonly #watch: Watcher;
  readonly #tells: Tells;
  readonly #lists = new Set<ListKind>();
  readonly #uris = new Set<string>();
  #scheduled = false;

  constructor(watch: Watcher, tells: Tells = () => true) {
    this.#watch = watch;
    this.#tells = tells;
  }

  /** A session hears of every list, and of the resources it subscribes to. */
  addSession(session: { readonly codec: Codec }, connection: Line, carrier: Carrier): Subscription {
    const subscription = new Subscription({ connection, codec: session.codec, carrier, lists: ALL_LISTS });
    this.#all.add(subscription);
    return subscription;
  }

  add(subscription: Subscription): void {
    this.#all.add(subscription);
    this.#listens.set(subscription.connection, this.listensOf(subscription.connection) + 1);
    for (const uri of subscription.uris) void this.#attach(uri);
    for (const taskId of subscription.tasks) {
      const listeners = this.#tasks.get(taskId);
      if (listeners === undefined) this.#tasks.set(taskId, new Set([subscription]));
      else listeners.add(subscription);
    }
  }

  remove(subscription: Subscription): void {
    if (!this.#all.delete(subscription)) return;
    if (subscription.id !== undefined) {
      this.#listens.set(subscription.connection, this.listensOf(subscription.connection) - 1);
    }
    for (const uri of subscription.uris) this.#detach(uri);
    for (const taskId of subscription.tasks) {
      const listeners = this.#tasks.get(taskId);
      if (listeners?.delete(subscription) && listeners.size === 0) this.#tasks.delete(taskId);
    }
  }

  /** Listen requests a connection has open. */
  listensOf(connection: Line): number {
    return this.#listens.get(connection) ?? 0;
  }

  /**
   * Resolves when the URI is watched; undefined where it is already. Does nothing for a subscription that is over: nobody would
   * ever end the watching.
   */
  subscribe(subscription: Subscription, uri: string): Promise<unknown> | undefined {
    return this.#all.has(subscription) && subscription.addUri(uri) ? this.#attach(uri) : undefined;
  }

  /** Has URIs watched before anybody is told so: runs `add` then, which subscribes to them. At once where nothing has to be waited for. */
  watched<T>(uris: readonly string[], add: () => Promise<T>): Promise<T> {
    const begun = uris.map((uri) => this.#attach(uri));
    const leave = (): void => uris.forEach((uri) => this.#detach(uri));
    const added = (): Promise<T> => {
      try {
        return add();
      } finally {
        leave();
      }
    };
    const waiting = begun.filter((each) => each !== undefined);
    return waiting.length === 0 ? added() : Promise.all(waiting).then(added);
  }

  unsubscribe(subscription: Subscription, uri: string): void {
    if (subscription.removeUri(uri)) this.#detach(uri);
  }

  listChanged(kind: ListKind): void {
    this.#lists.add(kind);
    this.#schedule();
  }

  resourceUpdated(uri: string): void {
    this.#uris.add(uri);
    this.#schedule();
  }

  /** Nobody knows what changed: everybody looks again at all that was asked for. */
  allChanged(): void {
    for (const kind of ALL_LISTS) this.#lists.add(kind);
    for (const { uris } of this.#all) for (const uri of uris) this.#uris.add(uri);
    this.#schedule();
  }

  /** Tells those who listen to a task how it is now, in their own revision. */
  taskChanged(taskId: string, detail: (codec: Codec) => object): void {
    for (const subscription of this.#tasks.get(taskId) ?? []) {
      subscription.taskChanged(taskId, "notifications/tasks", detail(subscription.codec));
    }
  }

  /** Ends a connection's listen requests gracefully. */
  endAll(connection: Line): void {
    for (const subscription of this.#all) if (subscription.connection === connection) subscription.end?.();
  }

  /** Ends what nobody may hear of any more: the news that wait too. A listen request ends whole, so that its client learns of it. */
  rejudge(): void {
    for (const subscription of this.#all) {
      subscription.forget((uri) => !this.#tells(uri, "rejudged"));
      for (const uri of subscription.uris) if (!this.#tells(uri, "rejudged")) this.#over(subscription, uri);
    }
  }

  #over(subscription: Subscription, uri: string): void {
    if (subscription.end === undefined) this.unsubscribe(subscription, uri);
    else subscription.end();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    const wanted = [...this.#uris].filter((uri) => [...this.#all].some((each) => each.hears(uri)));
    const told = wanted.filter((uri) => this.#tells(uri, "updated"));
    for (const subscription of this.#all) {
      for (const kind of this.#lists) subscription.listChanged(kind);
      for (const uri of told) subscription.resourceUpdated(uri);
    }
    const over = wanted.filter((uri) => !told.includes(uri));
    for (const subscription of this.#all)
      for (const uri of over) if (subscription.uris.has(uri)) this.#over(subscription, uri);
    this.#lists.clear();
    this.#uris.clear();
  }

  #attach(uri: string): Promise<unknown> | undefined {
    let watched = this.#watched.get(uri);
    if (watched === undefined) this.#watched.set(uri, (watched = { count: 1, stop: this.#watch(uri) }));
    else watched.count++;
    return watched.stop instanceof Promise ? watched.stop : undefined;
  }

  #detach(uri: string): void {
    const watched = this.#watched.get(uri);
    if (watched === undefined || --watched.count > 0) return;
    this.#watched.delete(uri);
    if (watched.stop instanceof Promise) void watched.stop.then((stop) => stop?.());
    else watched.stop?.();
  }
}

// Whom a server tells of changes, and how they come to hear of them.

/** A task a caller may listen to, and how it looks now. */
export interface VisibleTask {
  readonly taskId: string;
  detail(codec: Codec): object;
}

/** What changes need of their server. */
interface Changing {
  subscribers: Subscribers | undefined;
  readonly tells: Tells | undefined;
  readonly limits: { readonly subscribedUris: number; readonly listens: number };
  readonly offers: { readonly reader: Watchable } | undefined;
  readonly tasks: { visible(call: Call, taskIds: readonly string[]): Promise<readonly VisibleTask[]> } | undefined;
  advertises(capability: keyof ServerCapabilities): boolean;
  readonly report: Reporter;
  guarded<T>(what: string, run: () => T): T | undefined;
}

interface Watchable {
  has(uri: string, call: Call): boolean;
  watch(uri: string, changed: () => void): Watched;
}

/** Those who hear of a server's changes: made for the first of them. */
export function subscribersOf(core: Changing): Subscribers {
  return (core.subscribers ??= new Subscribers((uri) => watch(core, uri), judged(core)));
}

/** What the author says may be told. Asked while nobody waits for an answer: what it throws is a no. */
function judged(core: Changing): Tells | undefined {
  const { tells } = core;
  if (tells === undefined) return undefined;
  const what = '"tells"';
  return (...about) => {
    const said = core.guarded(what, () => tells(...about));
    return saidYes(what, said, (text) => core.report("error", text));
  };
}

/** A resource that cannot be watched can still be subscribed to: it may be announced by `resourceUpdated`. */
function watch(core: Changing, uri: string): Watched {
  const what = `Watching ${JSON.stringify(uri)}`;
  const ending = (stop: (() => void) | undefined) => stop && (() => core.guarded(what, stop));
  const begun = core.guarded(what, () => core.offers?.reader.watch(uri, () => core.subscribers?.resourceUpdated(uri)));
  return isThenable(begun) ? Promise.resolve(begun).then(ending, () => undefined) : ending(begun);
}

const LISTS: readonly [keyof SubscriptionFilter, ListKind][] = [
  ["toolsListChanged", "tools"],
  ["promptsListChanged", "prompts"],
  ["resourcesListChanged", "resources"],
];

type ListenCall = CallOf<SubscriptionsListenRequestParams>;

/** Serves `subscriptions/listen`: acknowledged first. The answer comes when the server ends it; a client that ends it gets none. */
export function listen(core: Changing, call: ListenCall): Promise<Answer> {
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

function open(core: Changing, call: ListenCall, tasks?: readonly VisibleTask[]): Promise<Answer> {
  const honoured = honour(core, call);
  const taskIds = tasks?.map(({ taskId }) => taskId);
  if (taskIds !== undefined) honoured.taskIds = taskIds;
  return subscribersOf(core).watched(honoured.resourceSubscriptions ?? [], () =>
    call.cancellation === undefined ? acknowledge(core, call, honoured, tasks) : Promise.resolve({}),
  );
}

function acknowledge(
  core: Changing,
  call: ListenCall,
  honoured: SubscriptionFilter,
  tasks: readonly VisibleTask[] | undefined,
): Promise<Answer> {
  const { limits } = core;
  const subscribers = subscribersOf(core);
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
function honour(core: Changing, call: ListenCall): SubscriptionFilter {
  const filter = call.params.notifications;
  const honoured: SubscriptionFilter = {};
  if (filter.toolsListChanged === true && core.advertises("tools")) honoured.toolsListChanged = true;
  if (filter.promptsListChanged === true && core.advertises("prompts")) honoured.promptsListChanged = true;
  if (!core.advertises("resources")) return honoured;
  if (filter.resourcesListChanged === true) honoured.resourcesListChanged = true;
  if (filter.resourceSubscriptions !== undefined) {
    // Cut before they are looked up, so that a long filter costs no more than a full one.
    const wanted = [...new Set(filter.resourceSubscriptions)].slice(0, core.limits.subscribedUris);
    honoured.resourceSubscriptions = wanted.filter((uri) => core.offers?.reader.has(uri, call) === true);
  }
  return honoured;
}

// The other processes of a server, as its core needs them: who hears of changes, who runs a task, what is done once for all.

/** What one process tells all others. Plain JSON. */
export type News = CoreNews | SessionNews;

/** What concerns the endpoint alone. */
export type SessionNews =
  /** The facts of a session are others now, or it has ended. */
  | { readonly kind: "session"; readonly session: string; readonly ended: boolean }
  /** The client of a session has given up a request, which any process may serve, or has other roots, which any may remember. */
  | {
      readonly kind: "notifications/cancelled" | "$/cancelRequest" | "notifications/roots/list_changed";
      readonly session: string;
      readonly principal?: string | undefined;
      readonly params: JsonObject;
    };

/** What concerns everything that a server has. */
export type CoreNews =
  | { readonly kind: "list"; readonly list: ListKind }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "log"; readonly level: LoggingLevel; readonly message: JsonObject }
  | { readonly kind: "task"; readonly record: TaskRecord; readonly questions: readonly NewsQuestion[] }
  /** News may have been lost: everything may have changed. */
  | { readonly kind: "all" };

export interface NewsQuestion {
  readonly key: string;
  readonly request: InputRequest;
}

/** What one process asks the one that runs a task. */
export interface TaskErrand {
  readonly what: "cancel" | "result";
  readonly taskId: string;
  readonly principal?: string | undefined;
}

/** The cluster as the core sees it. Undefined where there is one process. */
export interface ServerCluster {
  /** The name of this process: ids that are made here begin with it and a dot. */
  readonly node: string;
  /** Seals request states so that every process can open them. */
  readonly seal: { seal(text: string): Promise<string>; open(sealed: string): Promise<string | undefined> };
  /** Where tasks are kept for all processes. */
  readonly tasks: TaskStore;
  /** Tells the other processes; not this one. Never throws. */
  tell(news: News): void;
  /** True for the first process that asks for this mark within `lifeMs`. Rejects with UNREACHABLE: then do not go on. */
  mark(name: string, lifeMs: number): Promise<boolean>;
  /** Has the process that runs a task do something; undefined when it is this one, or has ended. Rejects with its RpcError. */
  errand(errand: TaskErrand): Promise<TaskRecord | undefined>;
}

/** The process an id was made in: what stands before its first dot; undefined for an id of a process alone. */
export function nodeOf(id: string): string | undefined {
  const dot = id.indexOf(".");
  return dot > 0 ? id.slice(0, dot) : undefined;
}
