// All plugins of one policy: starts what it names, keeps them equal to it, and tells what they offer.
import { type FSWatcher, watch } from "node:fs";
import type { Policy } from "../policy/policy.js";
import { Plugin, type PluginHealth, type PluginOptions } from "./plugin.js";

/** Time without a change before a plugin's files are taken to be whole. */
const QUIET_MS = 300;

export interface PluginSetOptions {
  readonly own: readonly string[];
  readonly changed: () => void;
  readonly say?: PluginOptions["say"];
  readonly refused?: NonNullable<PluginOptions["refused"]>;
  readonly storage?: PluginOptions["storage"];
  readonly learn: PluginOptions["learn"];
  readonly runs: PluginOptions["runs"];
}

interface Kept {
  plugin: Plugin;
  readonly watcher: FSWatcher | undefined;
}

export class PluginSet {
  readonly #options: PluginSetOptions;
  readonly #kept = new Map<string, Kept>();
  #policy: Policy | undefined;
  #closed = false;

  constructor(options: PluginSetOptions) {
    this.#options = options;
  }

  /** Starts what the policy names and stops what it no longer does. Under another policy all start again: grants differ. */
  apply(policy: Policy): void {
    if (this.#closed || this.#policy?.hash === policy.hash) return;
    this.#policy = policy;
    this.#drop();
    for (const grant of policy.plugins.load.values()) {
      if (!grant.enabled) continue;
      const plugin = this.#started(policy, grant.name);
      this.#kept.set(grant.name, { plugin, watcher: this.#watch(grant.path, grant.name) });
    }
  }

  plugins(): readonly Plugin[] {
    return [...this.#kept.values()].map(({ plugin }) => plugin);
  }

  health(): readonly PluginHealth[] {
    return this.plugins().map(({ health }) => health);
  }

  /** Resolves when every process is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    const stopping = this.plugins().map((plugin) => plugin.stop());
    for (const { watcher } of this.#kept.values()) watcher?.close();
    this.#kept.clear();
    await Promise.all(stopping);
  }

  #started(policy: Policy, name: string): Plugin {
    const { own, changed, say, refused, storage, learn, runs } = this.#options;
    const grant = policy.plugins.load.get(name)!;
    const current = (): boolean => !this.#closed && this.#kept.get(name)?.plugin === plugin;
    const plugin: Plugin = new Plugin({
      policy,
      grant,
      own,
      storage,
      learn,
      runs,
      say,
      changed: () => (current() ? changed() : undefined),
      ...(refused === undefined ? {} : { refused }),
    });
    void plugin.start();
    return plugin;
  }

  /** A plugin whose files change is started again, and its new list takes the place of the old one. */
  #watch(path: string, name: string): FSWatcher | undefined {
    let timer: NodeJS.Timeout | undefined;
    const restart = (): void => {
      const kept = this.#kept.get(name);
      if (kept === undefined || this.#policy === undefined || this.#closed) return;
      void kept.plugin.stop();
      kept.plugin = this.#started(this.#policy, name);
    };
    try {
      const watcher = watch(path, { persistent: false }, () => {
        clearTimeout(timer);
        timer = setTimeout(restart, QUIET_MS).unref();
      });
      return watcher.on("error", () => watcher.close()).on("close", () => clearTimeout(timer));
    } catch {
      // Without it a change counts from the next start on.
      return undefined;
    }
  }

  #drop(): void {
    for (const { plugin, watcher } of this.#kept.values()) {
      watcher?.close();
      void plugin.stop();
    }
    this.#kept.clear();
  }
}
