// Keeps subscriptions alive in both eras, over reconnections too.
import { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { Change } from "./change.js";
import type { Keeper } from "./keeper.js";
import { Listener } from "./listener.js";
import { SessionWatch } from "./session-watch.js";
import { type Subscription, Watching, type Watched } from "./subscription.js";
import type { Wire } from "./wire.js";
import type { Settings } from "./settings.js";

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

  cancelled(id: RequestId): void {
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

  #fault({
    toolsListChanged,
    promptsListChanged,
    resourcesListChanged,
    resources = [],
  }: Watched): LocalError | undefined {
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

function nothingToWatch({ tools, prompts, resources }: ServerCapabilities): LocalError {
  const declared = JSON.stringify({ tools, prompts, resources });
  const text = `The server tells of none of these changes: it declared ${declared}. Read the lists again when you need them.`;
  return new LocalError("NOT_SUPPORTED", text);
}
