// Keeps subscriptions alive in both eras, over reconnections too.
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { Change, Settings } from "./options.js";
import { pause, startTimer } from "../jsonrpc/outgoing.js";
import type { Keeper, Wire } from "./wire.js";

/** More would be a leak: each of them is a request that stays open. */
const MOST_SUBSCRIPTIONS = 100;

export class Subscriptions {
  readonly #wire: Wire;
  readonly #settings: Settings;
  readonly #session: SessionWatch;
  readonly #keepers = new Map<Watching, Keeper>();

  constructor(wire: Wire, settings: Settings) {
    this.#wire = wire;
    this.#settings = settings;
    this.#session = new SessionWatch(wire, settings);
  }

  subscribe(watched: Watched): Subscription {
    const watching = new Watching(watched, (ended) => this.#stop(ended));
    const fault = this.#fault(watched);
    if (fault !== undefined) {
      watching.fail(fault);
      return watching;
    }
    const stateless = this.#wire.established.revision.era === "stateless";
    const options = { wire: this.#wire, settings: this.#settings };
    const keeper = stateless ? new Listener(watching, options) : this.#session.keeper(watching);
    this.#keepers.set(watching, keeper);
    keeper.start();
    return watching;
  }

  /** Hands a change to those who watch for it. `id`: that of the subscription it came under. */
  changed(change: Change, id: unknown): void {
    for (const [watching, keeper] of this.#keepers) {
      if (keeper.accepts(id) && watching.wants(change)) watching.push(change);
    }
  }

  acknowledged(id: unknown, honoured: JsonObject): void {
    for (const keeper of this.#keepers.values()) keeper.acknowledged(id, honoured);
  }

  cancelled(id: unknown): void {
    for (const keeper of this.#keepers.values()) keeper.cancelled(id);
  }

  reopened(): void {
    this.#session.reopened();
    for (const keeper of this.#keepers.values()) keeper.reopened();
  }

  /** Ends all of them; with an error if there is one. */
  end(error: LocalError | undefined): void {
    for (const watching of this.#keepers.keys()) {
      if (error === undefined) watching.end();
      else watching.fail(error);
    }
    for (const keeper of this.#keepers.values()) void keeper.stop();
    this.#keepers.clear();
  }

  async #stop(watching: Watching): Promise<void> {
    const keeper = this.#keepers.get(watching);
    this.#keepers.delete(watching);
    await keeper?.stop();
  }

  #fault(watched: Watched): LocalError | undefined {
    const odd = watchedFault(watched);
    if (odd !== undefined) return new LocalError("BAD_OPTIONS", `subscribe(watched): ${odd}. ${WATCHED}`);
    const { toolsListChanged, promptsListChanged, resourcesListChanged, resources = [] } = watched;
    if (this.#keepers.size >= MOST_SUBSCRIPTIONS) {
      return new LocalError("LIMIT", `There are ${MOST_SUBSCRIPTIONS} subscriptions already: close some first`);
    }
    const { tools, prompts, resources: served } = this.#wire.established.capabilities;
    const possible =
      (toolsListChanged === true && tools?.listChanged === true) ||
      (promptsListChanged === true && prompts?.listChanged === true) ||
      (resourcesListChanged === true && served?.listChanged === true) ||
      (resources.length > 0 && served?.subscribe === true);
    return possible ? undefined : nothingToWatch(this.#wire.established.capabilities);
  }
}

const WATCHED =
  'Write subscribe({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, resources: ["note://a"] }), or some of these';

/** What is wrong with what is to be watched; undefined where nothing is. */
function watchedFault(watched: unknown): string | undefined {
  if (typeof watched === "string")
    return `resources are given in a list: subscribe({ resources: [${JSON.stringify(watched)}] })`;
  if (typeof watched !== "object" || watched === null || Array.isArray(watched))
    return "it is an object of what is to be watched";
  const { resources, ...lists } = watched as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(lists)) {
    const meant = /^(?:tool|prompt|resource)s?/.exec(name)?.[0].replace(/s?$/, "s");
    if (!/^(?:tools|prompts|resources)ListChanged$/.test(name))
      return `there is no member ${JSON.stringify(name)}${meant === undefined ? "" : `: that is ${meant}ListChanged`}`;
    if (value !== undefined && typeof value !== "boolean") return `${name} is true or false`;
  }
  const texts =
    resources === undefined || (Array.isArray(resources) && resources.every((uri) => typeof uri === "string"));
  return texts ? undefined : "resources is a list of URIs";
}

function nothingToWatch({ tools, prompts, resources }: ServerCapabilities): LocalError {
  const declared = JSON.stringify({ tools, prompts, resources });
  const text = `The server tells of none of these changes: it declared ${declared}. Read the lists again when you need them.`;
  return new LocalError("NOT_SUPPORTED", text);
}

// Changes that nobody has read yet: each once, however often it happened.

/** A reader that never reads must not fill the memory: more resources than this are said to have changed as a list. */
const MOST_CHANGES = 1_000;

class ChangeQueue {
  readonly #changes = new Map<string, Change>();
  #wake: (() => void) | undefined;
  #ended = false;
  #error: Error | undefined;

  push(change: Change): void {
    if (this.#ended) return;
    const full = change.kind === "resource" && this.#changes.size >= MOST_CHANGES;
    const kept: Change = full ? { kind: "resources" } : change;
    this.#changes.set(kept.kind === "resource" ? `resource ${kept.uri}` : kept.kind, kept);
    this.#wake?.();
  }

  /** What is left is still read; then the error is thrown, if there is one. */
  end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  /** The next change, when there is one; undefined at the end. */
  async next(): Promise<Change | undefined> {
    for (;;) {
      const [first] = this.#changes;
      if (first !== undefined) {
        this.#changes.delete(first[0]);
        return first[1];
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

// Watches without a session: one long request, sent again whenever it ends before its time.

/** Before the request is sent again, doubled each time it ends at once. */
const PAUSE_MS = 250;
const MOST_PAUSE_MS = 30_000;

class Listener implements Keeper {
  readonly #watching: Watching;
  readonly #wire: Wire;
  readonly #settings: Settings;
  readonly #stopped = new AbortController();
  #id: RequestId | undefined;
  #acknowledged = false;
  /** Ends the wait for the acknowledgement. */
  #patience: ReturnType<typeof setTimeout> | undefined;
  #before = false;

  constructor(watching: Watching, { wire, settings }: { wire: Wire; settings: Settings }) {
    this.#watching = watching;
    this.#wire = wire;
    this.#settings = settings;
  }

  start(): void {
    void this.#keep();
  }

  // The lost request is what tells of a new process.
  reopened(): void {}

  accepts(id: unknown): boolean {
    return id === this.#id;
  }

  acknowledged(id: unknown, honoured: JsonObject): void {
    if (id !== this.#id) return;
    this.#acknowledged = true;
    clearTimeout(this.#patience);
    this.#watching.honour(readHonoured(honoured));
    if (this.#before) this.#watching.pushAll();
    this.#before = true;
  }

  cancelled(id: unknown): void {
    if (this.#id === undefined || id !== this.#id) return;
    this.#wire.conversation.giveUp(this.#id, new LocalError("ENDED", "The server ended the subscription"));
  }

  stop(): Promise<void> {
    this.#stopped.abort("unsubscribed");
    return Promise.resolve();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopped;
    for (let delay = PAUSE_MS; !signal.aborted; delay = Math.min(delay * 2, MOST_PAUSE_MS)) {
      this.#acknowledged = false;
      const error = await this.#listen();
      if (signal.aborted) return;
      if (error !== undefined && isFinal(error)) return this.#watching.fail(error);
      if (this.#acknowledged) delay = PAUSE_MS;
      await pause(delay, signal);
    }
  }

  async #listen(): Promise<Error | undefined> {
    const { toolsListChanged, promptsListChanged, resourcesListChanged, resources } = this.#watching.watched;
    const wanted = { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions: resources };
    this.#patience = startTimer(() => this.#unacknowledged(), this.#settings.timeoutMs);
    try {
      await this.#wire.send({
        method: "subscriptions/listen",
        params: { notifications: JSON.parse(JSON.stringify(wanted)) as JsonObject },
        timeoutMs: Number.POSITIVE_INFINITY,
        maxTimeoutMs: Number.POSITIVE_INFINITY,
        signal: this.#stopped.signal,
        onSent: (id) => {
          this.#id = id;
        },
      });
      return undefined;
    } catch (error) {
      return error as Error;
    } finally {
      clearTimeout(this.#patience);
      this.#id = undefined;
    }
  }

  #unacknowledged(): void {
    const id = this.#id;
    if (id === undefined) return;
    const text = `subscriptions/listen was not acknowledged within ${this.#settings.timeoutMs} ms`;
    this.#wire.conversation.giveUp(id, new LocalError("TIMEOUT", text));
  }
}

/** Errors after which asking again would bring the same. */
function isFinal(error: Error): boolean {
  if (error instanceof RpcError) return true;
  const { code } = error as LocalError;
  return code !== "ENDED" && code !== "OUTCOME_UNKNOWN" && code !== "HTTP_STATUS" && code !== "EXITED";
}

function readHonoured({
  toolsListChanged,
  promptsListChanged,
  resourcesListChanged,
  resourceSubscriptions,
}: JsonObject): Watched {
  return {
    ...(toolsListChanged === true && { toolsListChanged }),
    ...(promptsListChanged === true && { promptsListChanged }),
    ...(resourcesListChanged === true && { resourcesListChanged }),
    ...(Array.isArray(resourceSubscriptions) && { resources: resourceSubscriptions as string[] }),
  };
}

// Watches in a session: changes of lists come unasked, resources are subscribed to one by one.

class SessionWatch {
  readonly #wire: Wire;
  readonly #settings: Settings;
  /** How many watch each URI: the server is told of the first and the last. */
  readonly #watchers = new Map<string, number>();

  constructor(wire: Wire, settings: Settings) {
    this.#wire = wire;
    this.#settings = settings;
  }

  keeper(watching: Watching): Keeper {
    return {
      start: () => void this.#start(watching),
      reopened: () => watching.pushAll(),
      accepts: () => true,
      acknowledged: () => undefined,
      cancelled: () => undefined,
      stop: () => this.#stop(watching),
    };
  }

  /** The new session knows nothing of what the old one was asked. */
  reopened(): void {
    for (const uri of this.#watchers.keys()) void this.#send("resources/subscribe", uri).catch(() => undefined);
  }

  async #start(watching: Watching): Promise<void> {
    const { resources = [] } = watching.watched;
    const { capabilities } = this.#wire.established;
    const served = capabilities.resources?.subscribe === true ? resources : [];
    try {
      await Promise.all(served.map((uri) => this.#add(uri)));
      watching.honour({ ...watching.watched, resources: served });
    } catch (error) {
      watching.fail(error as LocalError);
    }
  }

  async #stop({ watched }: Watching): Promise<void> {
    const gone: string[] = [];
    for (const uri of watched.resources ?? []) {
      const left = (this.#watchers.get(uri) ?? 0) - 1;
      if (left > 0) this.#watchers.set(uri, left);
      else if (this.#watchers.delete(uri)) gone.push(uri);
    }
    await Promise.all(gone.map((uri) => this.#send("resources/unsubscribe", uri).catch(() => undefined)));
  }

  async #add(uri: string): Promise<void> {
    const watchers = this.#watchers.get(uri) ?? 0;
    this.#watchers.set(uri, watchers + 1);
    if (watchers === 0) await this.#send("resources/subscribe", uri);
  }

  #send(method: string, uri: string): Promise<JsonObject> {
    const { timeoutMs, maxTimeoutMs } = this.#settings;
    return this.#wire.send({ method, params: { uri }, timeoutMs, maxTimeoutMs });
  }
}

// What somebody watches, and the changes they have not read yet.
/// <reference lib="esnext.disposable" preserve="true" />

/** What to watch. */
export interface Watched {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  /** URIs. */
  readonly resources?: readonly string[];
}

/** Iterate over it for the changes; several of the same kind that were not read yet are one. */
export interface Subscription extends AsyncIterable<Change>, AsyncDisposable {
  /** Resolves with what the server agreed to tell; rejects, as the iteration does, when that is nothing. */
  readonly ready: Promise<Watched>;
  /** Ends the iteration, and tells the server. Never rejects. */
  close(): Promise<void>;
}

/** A subscription as those see it who keep it alive. */
class Watching implements Subscription {
  readonly watched: Watched;
  readonly ready: Promise<Watched>;
  readonly #queue = new ChangeQueue();
  readonly #onClose: (watching: Watching) => Promise<void>;
  #settle!: { resolve(honoured: Watched): void; reject(error: Error): void };
  #closed = false;

  constructor(watched: Watched, onClose: (watching: Watching) => Promise<void>) {
    this.watched = watched;
    this.#onClose = onClose;
    this.ready = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Whoever only iterates hears of the failure there.
    this.ready.catch(() => undefined);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  honour(honoured: Watched): void {
    this.#settle.resolve(honoured);
  }

  push(change: Change): void {
    this.#queue.push(change);
  }

  /** Everything watched may have changed unseen. */
  pushAll(): void {
    const { toolsListChanged, promptsListChanged, resourcesListChanged, resources = [] } = this.watched;
    if (toolsListChanged) this.push({ kind: "tools" });
    if (promptsListChanged) this.push({ kind: "prompts" });
    if (resourcesListChanged) this.push({ kind: "resources" });
    for (const uri of resources) this.push({ kind: "resource", uri });
  }

  /** Whether the change is one of those watched; what lies under a watched URI belongs to it. */
  wants(change: Change): boolean {
    const { toolsListChanged, promptsListChanged, resourcesListChanged, resources = [] } = this.watched;
    if (change.kind === "tools") return toolsListChanged === true;
    if (change.kind === "prompts") return promptsListChanged === true;
    if (change.kind === "resources") return resourcesListChanged === true;
    return change.kind === "resource" && resources.some((uri) => change.uri.startsWith(uri));
  }

  fail(error: Error): void {
    this.#closed = true;
    this.#settle.reject(error);
    this.#queue.end(error);
  }

  /** Ends it without telling the server. */
  end(): void {
    this.#closed = true;
    this.#settle.resolve({});
    this.#queue.end();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.end();
    await this.#onClose(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Change> {
    try {
      for (;;) {
        const change = await this.#queue.next();
        if (change === undefined) return;
        yield change;
      }
    } finally {
      await this.close();
    }
  }
}
