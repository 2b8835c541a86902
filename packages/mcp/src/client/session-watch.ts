// Watches in a session: changes of lists come unasked, resources are subscribed to one by one.
import type { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { Keeper } from "./keeper.js";
import type { Settings } from "./settings.js";
import type { Watching } from "./subscription.js";
import type { Wire } from "./wire.js";

export class SessionWatch {
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
