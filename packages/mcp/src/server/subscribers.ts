// Everybody who wants to hear of changes: sessions and listen requests, told once a tick.
import type { Codec } from "../era/codec.js";
import type { Carrier } from "../jsonrpc/carrier.js";
import type { Peer } from "../jsonrpc/peer.js";
import type { Session } from "./session.js";
import { type ListKind, Subscription } from "./subscription.js";

const ALL_LISTS: ReadonlySet<ListKind> = new Set(["tools", "prompts", "resources"]);

/** Called when the first subscriber of a URI comes; what it returns is called when the last one has gone. */
export type Watcher = (uri: string) => (() => void) | undefined;

/** Fans changes out to subscriptions. Changes of one tick are merged. */
export class Subscribers {
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
