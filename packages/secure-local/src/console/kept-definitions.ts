// What was compared last of what plugins and servers offer, and what a person decided of it: the same for every page of the console.
import type {
  ComparedDefinitions,
  OfferedDefinitions,
  PolicyServer,
  RunningPlugin,
  RunningServer,
  ShownDefinitions,
} from "@secure-local/console/api";

type Offering = Extract<ShownDefinitions, OfferedDefinitions>;

export class KeptDefinitions {
  readonly #changed: () => void;
  #kept: ComparedDefinitions | undefined;

  /** @param changed told after each change */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Undefined before anything was compared. */
  get now(): ComparedDefinitions | undefined {
    return this.#kept;
  }

  compared(all: readonly ShownDefinitions[]): ComparedDefinitions {
    this.#kept = { at: Date.now(), all: [...all].sort((one, other) => urgency(one) - urgency(other)) };
    this.#changed();
    return this.#kept;
  }

  /** One of them is another now; it stays in its place. */
  put(one: ShownDefinitions): void {
    if (this.#kept === undefined) return;
    this.#kept = { ...this.#kept, all: this.#kept.all.map((each) => (isSame(each, one) ? one : each)) };
    this.#changed();
  }

  /** What has one of these digests was refused: an item, or all of a plugin or server. */
  refused(digests: readonly string[], date: string): void {
    for (const each of this.#kept?.all ?? []) {
      if ("fault" in each) continue;
      const isIt = (digest: string | undefined): boolean => digest !== undefined && digests.includes(digest);
      const items = each.items.map((item) => (isIt(item.digest) ? { ...item, refused: date } : item));
      const whole = isIt(each.digest) || (items.some(({ digest }) => isIt(digest)) && allRefused(items));
      if (whole || items.some(({ digest }) => isIt(digest)))
        this.put({ ...each, items, ...(whole ? { refused: date } : {}) });
    }
  }

  /** Servers with the time at which a person refused what they withhold, where that is all they withhold. */
  decided(servers: readonly RunningServer[]): RunningServer[] {
    return servers.map((server) => ({
      ...server,
      plugins: server.plugins.map((plugin) => this.#plugin(server, plugin)),
      servers: (server.servers ?? []).map((mounted) => this.#server(server, mounted)),
    }));
  }

  #refusal(server: RunningServer, kind: "plugin" | "server", name: string): Offering | undefined {
    const found = this.#kept?.all.find(
      (each): each is Offering =>
        !("fault" in each) && each.policy === server.policy.file && each.kind === kind && each.name === name,
    );
    return found?.refused === undefined || found.approved ? undefined : found;
  }

  #plugin(server: RunningServer, plugin: RunningPlugin): RunningPlugin {
    const offered = this.#refusal(server, "plugin", plugin.name);
    if (offered === undefined) return plugin;
    const known = new Set(offered.changes.map((change) => JSON.stringify(change)));
    const isKnown = plugin.changes.every((change) => known.has(JSON.stringify(change)));
    return isKnown ? { ...plugin, refused: offered.refused } : plugin;
  }

  #server(server: RunningServer, mounted: PolicyServer): PolicyServer {
    const offered = this.#refusal(server, "server", mounted.name);
    return offered === undefined ? mounted : { ...mounted, refused: offered.refused };
  }
}

/** What waits for a decision first, then what could not be looked at, then what is as it was approved. */
function urgency(of: ShownDefinitions): number {
  if ("fault" in of) return 2;
  return of.approved ? 3 : of.refused === undefined ? 0 : 1;
}

function isSame(one: ShownDefinitions, other: ShownDefinitions): boolean {
  return one.policy === other.policy && one.kind === other.kind && one.name === other.name;
}

function allRefused(items: OfferedDefinitions["items"]): boolean {
  return items.every(({ kind, refused }) => kind === "same" || refused !== undefined);
}
