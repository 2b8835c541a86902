// What somebody watches, and the changes they have not read yet.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Change } from "./change.js";
import { ChangeQueue } from "./change-queue.js";

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
export class Watching implements Subscription {
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
