// What a server is inside: its registries, handlers and tables, shared by every conversation and request.
import type { Call } from "../endpoint/call.js";
import type { Handler, Middleware } from "../endpoint/dispatcher.js";
import type { Carrier } from "../jsonrpc/transport.js";
import type { NotificationMessage } from "../jsonrpc/message.js";
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import { WireAsks } from "./ask.js";
import { type CapabilityOptions, declaredCapabilities } from "./capabilities.js";
import type { AskServices } from "./context.js";
import type { ServerLimits } from "./limits.js";
import type { EndedSession, LogMessage, Session } from "./session.js";
import { Parking } from "./parking.js";
import { type PromptEntry, PromptFiller } from "./prompts.js";
import { Registry } from "./registry.js";
import { type ResourceEntry, ResourceReader, type TemplateEntry } from "./resources.js";
import type { Seal } from "./request-state.js";
import { type ListKind, Subscription } from "./subscription.js";
import { ToolCaller, type ToolEntry } from "./tools.js";
import type { Codec } from "../era/codec.js";
import type { Peer } from "../jsonrpc/peer.js";

/** Where the server says what only its operator should know. */
export type Reporter = (level: LoggingLevel, message: string, details?: Readonly<Record<string, unknown>>) => void;

/** What the server needs of a conversation it did not start by itself. */
interface LiveConversation {
  /** Sends an unsolicited log message, if there is a session and its level admits it. */
  log(level: number, message: LogMessage): void;
}

export interface CoreOptions {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: CapabilityOptions;
  readonly limits: ServerLimits;
  readonly seal: Seal;
  readonly listTtlMs: number;
  readonly report: Reporter;
  readonly onSessionEnd: ((ended: EndedSession) => void) | undefined;
}

/** The inside of a {@link Server}. Other layers of the library reach it through `coreOf`. */
export class ServerCore implements AskServices {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly limits: ServerLimits;
  readonly seal: Seal;
  readonly listTtlMs: number;
  readonly report: Reporter;
  readonly asks: WireAsks = new WireAsks();
  readonly parking: Parking;
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
  /** Set with the first tool that runs as a task, and for good. */
  hadTasks = false;
  readonly reader: ResourceReader;
  readonly toolCaller: ToolCaller;
  readonly promptFiller: PromptFiller;
  readonly #declared: CapabilityOptions;
  readonly #onSessionEnd: CoreOptions["onSessionEnd"];
  #capabilities: ServerCapabilities | undefined;

  constructor(options: CoreOptions) {
    this.identity = options.identity;
    this.instructions = options.instructions;
    this.limits = options.limits;
    this.seal = options.seal;
    this.listTtlMs = options.listTtlMs;
    this.report = options.report;
    this.#declared = options.capabilities;
    this.#onSessionEnd = options.onSessionEnd;
    this.parking = new Parking(options.limits, options.seal);
    this.subscribers = new Subscribers((uri) => this.#watch(uri));
    this.tools = new Registry("tool", () => this.#changed("tools"));
    this.prompts = new Registry("prompt", () => this.#changed("prompts"));
    this.resources = new Registry("resource", () => this.#changed("resources"));
    this.templates = new Registry("resource template", () => this.#changed("resources"));
    this.reader = new ResourceReader(this.resources, this.templates, this);
    this.toolCaller = new ToolCaller(this.tools, this, this.failed);
    this.promptFiller = new PromptFiller(this.prompts, this);
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
    this.#guarded(`The handler of ${message.method}`, () => handler(message.params, carrier));
  }

  /** Reports an exception nobody expected, under the id the peer was given instead of its text. */
  readonly failed = (error: unknown, call: Call, errorId: string): void => {
    const name = call.params["name"] ?? call.params["uri"];
    const what = `${call.method}${name === undefined ? "" : ` ${JSON.stringify(name)}`} failed (error id ${errorId})`;
    this.report("error", what, { errorId, error });
  };

  sessionEnded(ended: EndedSession): void {
    this.#guarded("onSessionEnd", () => this.#onSessionEnd?.(ended));
  }

  /** A resource that cannot be watched can still be subscribed to: it may be announced by `resourceUpdated`. */
  #watch(uri: string): (() => void) | undefined {
    const what = `Watching ${JSON.stringify(uri)}`;
    const stop = this.#guarded(what, () => this.reader.watch(uri, () => this.subscribers.resourceUpdated(uri)));
    return stop && (() => this.#guarded(what, stop));
  }

  /** Runs what an author wrote where nobody waits for an answer: failures, later ones too, are reported. */
  #guarded<T>(what: string, run: () => T): T | undefined {
    const failed = (error: unknown): void => this.report("error", `${what} failed`, { error });
    try {
      const returned = run();
      if (returned instanceof Promise) returned.catch(failed);
      return returned;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  #changed(kind: ListKind): void {
    this.#capabilities = undefined;
    this.subscribers.listChanged(kind);
  }
}

// Everybody who wants to hear of changes: sessions and listen requests, told once a tick.

const ALL_LISTS: ReadonlySet<ListKind> = new Set(["tools", "prompts", "resources"]);

/** Called when the first subscriber of a URI comes; what it returns is called when the last one has gone. */
type Watcher = (uri: string) => (() => void) | undefined;

/** Fans changes out to subscriptions. Changes of one tick are merged. */
class Subscribers {
  readonly #all = new Set<Subscription>();
  readonly #watched = new Map<string, { count: number; readonly stop: (() => void) | undefined }>();
  readonly #listens = new WeakMap<Peer, number>();
  readonly #tasks = new Map<string, Set<Subscription>>();
  readonly #watch: Watcher;
  readonly #lists = new Set<ListKind>();
  readonly #uris = new Set<string>();
  #scheduled = false;

  constructor(watch: Watcher) {
    this.#watch = watch;
  }

  /** A session hears of every list, and of the resources it subscribes to. */
  addSession(session: Session, peer: Peer, carrier: Carrier): Subscription {
    const subscription = new Subscription({ peer, codec: session.codec, carrier, lists: ALL_LISTS });
    this.#all.add(subscription);
    return subscription;
  }

  add(subscription: Subscription): void {
    this.#all.add(subscription);
    this.#listens.set(subscription.peer, this.listensOf(subscription.peer) + 1);
    for (const uri of subscription.uris) this.#attach(uri);
    for (const taskId of subscription.tasks) {
      const listeners = this.#tasks.get(taskId);
      if (listeners === undefined) this.#tasks.set(taskId, new Set([subscription]));
      else listeners.add(subscription);
    }
  }

  remove(subscription: Subscription): void {
    if (!this.#all.delete(subscription)) return;
    if (subscription.id !== undefined) this.#listens.set(subscription.peer, this.listensOf(subscription.peer) - 1);
    for (const uri of subscription.uris) this.#detach(uri);
    for (const taskId of subscription.tasks) {
      const listeners = this.#tasks.get(taskId);
      if (listeners?.delete(subscription) && listeners.size === 0) this.#tasks.delete(taskId);
    }
  }

  /** Listen requests a peer has open. */
  listensOf(peer: Peer): number {
    return this.#listens.get(peer) ?? 0;
  }

  /** Does nothing for a subscription that is over: nobody would ever end the watching. */
  subscribe(subscription: Subscription, uri: string): void {
    if (this.#all.has(subscription) && subscription.addUri(uri)) this.#attach(uri);
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

  /** Tells those who listen to a task how it is now, in their own revision. */
  taskChanged(taskId: string, detail: (codec: Codec) => object): void {
    for (const subscription of this.#tasks.get(taskId) ?? []) {
      subscription.taskChanged(taskId, "notifications/tasks", detail(subscription.codec));
    }
  }

  /** Ends a peer's listen requests gracefully. */
  endAll(peer: Peer): void {
    for (const subscription of this.#all) if (subscription.peer === peer) subscription.end?.();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    for (const subscription of this.#all) {
      for (const kind of this.#lists) subscription.listChanged(kind);
      for (const uri of this.#uris) subscription.resourceUpdated(uri);
    }
    this.#lists.clear();
    this.#uris.clear();
  }

  #attach(uri: string): void {
    const watched = this.#watched.get(uri);
    if (watched === undefined) this.#watched.set(uri, { count: 1, stop: this.#watch(uri) });
    else watched.count++;
  }

  #detach(uri: string): void {
    const watched = this.#watched.get(uri);
    if (watched === undefined || --watched.count > 0) return;
    this.#watched.delete(uri);
    watched.stop?.();
  }
}
