// Watches without a session: one long request, sent again whenever it ends before its time.
import { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { Keeper } from "./keeper.js";
import type { Settings } from "./settings.js";
import type { Watched, Watching } from "./subscription.js";
import { pause } from "./pause.js";
import type { Wire } from "./wire.js";

/** Before the request is sent again, doubled each time it ends at once. */
const PAUSE_MS = 250;
const MOST_PAUSE_MS = 30_000;

export class Listener implements Keeper {
  readonly #watching: Watching;
  readonly #wire: Wire;
  readonly #settings: Settings;
  readonly #stopped = new AbortController();
  #id: RequestId | undefined;
  #acknowledged = false;
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
    this.#watching.honour(readHonoured(honoured));
    if (this.#before) this.#watching.pushAll();
    this.#before = true;
  }

  cancelled(id: RequestId): void {
    if (id === this.#id)
      this.#wire.conversation.giveUp(id, new LocalError("ENDED", "The server ended the subscription"));
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
    const timer = setTimeout(() => this.#unacknowledged(), this.#settings.timeoutMs);
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
      clearTimeout(timer);
      this.#id = undefined;
    }
  }

  #unacknowledged(): void {
    const id = this.#id;
    if (this.#acknowledged || id === undefined) return;
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
