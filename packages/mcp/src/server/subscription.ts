// One receiver of change notifications: what it wants, and how they reach it without piling up.
import type { Codec } from "../era/codec.js";
import type { Carrier } from "../jsonrpc/transport.js";
import { notificationText, type RequestId } from "../jsonrpc/message.js";
import type { Connection } from "../jsonrpc/connection.js";
import type { Call } from "../endpoint/call.js";
import { META } from "../protocol/meta.js";

/** The lists whose changes are announced. */
export type ListKind = "tools" | "prompts" | "resources";

/** Changes held for a receiver that does not read; past it the oldest are dropped, since each only says "look again". */
const HELD_CHANGES = 1_000;

const NO_URIS: ReadonlySet<string> = new Set();
const NO_TASKS: readonly string[] = [];

/** A session, or one `subscriptions/listen` request. */
export class Subscription {
  readonly connection: Connection<Call>;
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
    readonly connection: Connection<Call>;
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
    if (covers(this.uris, uri)) this.#change(uri, "notifications/resources/updated", { uri });
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
