// All plugins of one policy: starts what it names, keeps them equal to it, and tells what they offer.
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { PluginGrant, Policy } from "../policy/policy.js";
import { PluginCache } from "./plugin-cache.js";
import { Plugin, type PluginHealth, type PluginOptions } from "./plugin.js";

/** Time without a change before a plugin's files are taken to be whole. */
const QUIET_MS = 300;
/** Folders of one plugin that are watched, nearest first; what changes deeper counts when it is started from anew. */
const MAX_WATCHED = 256;
/** Not watched: packages change by an update, which changes other files of the plugin as well. */
const UNWATCHED: ReadonlySet<string> = new Set(["node_modules", ".git", "__pycache__"]);

export interface PluginSetOptions {
  readonly own: readonly string[];
  readonly changed: () => void;
  readonly say?: PluginOptions["say"];
  readonly refused?: NonNullable<PluginOptions["refused"]>;
  readonly storage?: PluginOptions["storage"];
  /** Folder for the copies of their content that are started; without it they last as long as this. */
  readonly copies?: string | undefined;
  readonly unapproved?: PluginOptions["unapproved"];
  readonly tryPlugins?: PluginOptions["tryPlugins"];
  readonly tellPrinted?: PluginOptions["tellPrinted"];
  readonly learn: PluginOptions["learn"];
  readonly records: PluginOptions["records"];
}

interface Kept {
  plugin: Plugin;
  watch: Watch;
}

/** Stops watching. */
type Watch = () => void;

export class PluginSet {
  readonly #options: PluginSetOptions;
  readonly #copies: PluginCache;
  readonly #kept = new Map<string, Kept>();
  /** Those that are being stopped. */
  readonly #leaving = new Set<Promise<void>>();
  #policy: Policy | undefined;
  #closed = false;

  constructor(options: PluginSetOptions) {
    this.#options = options;
    this.#copies = new PluginCache(options.copies);
  }

  /** Starts what the policy names and stops what it no longer does. Under another policy all start again: grants differ. */
  apply(policy: Policy): void {
    if (this.#closed || this.#policy?.hash === policy.hash) return;
    this.#policy = policy;
    this.#drop();
    for (const grant of policy.plugins.load.values()) {
      if (!grant.enabled) continue;
      const plugin = this.#started(policy, grant.name);
      this.#kept.set(grant.name, { plugin, watch: this.#watch(grant) });
    }
  }

  /** Starts those anew that were not started: what is approved now is something else. */
  reconsider(): void {
    for (const [name, { plugin }] of this.#kept) if (plugin.health.state === "refused") this.#restart(name);
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
    for (const kept of this.#kept.values()) kept.watch();
    this.#kept.clear();
    await Promise.all([...stopping, ...this.#leaving]);
    this.#copies.close();
  }

  #started(policy: Policy, name: string): Plugin {
    const { own, changed, say, refused, storage, unapproved, tryPlugins, tellPrinted, learn, records } = this.#options;
    const grant = policy.plugins.load.get(name)!;
    const current = (): boolean => !this.#closed && this.#kept.get(name)?.plugin === plugin;
    const plugin: Plugin = new Plugin({
      policy,
      grant,
      own,
      copies: this.#copies,
      storage,
      unapproved,
      tryPlugins,
      tellPrinted,
      learn,
      records,
      say,
      changed: () => (current() ? changed() : undefined),
      ...(refused === undefined ? {} : { refused }),
    });
    void plugin.start();
    return plugin;
  }

  /** A plugin whose files change is started again, and its new list takes the place of the old one. */
  #watch({ path, name, filesystem: { allowed } }: PluginGrant): Watch {
    let timer: NodeJS.Timeout | undefined;
    const watchers: FSWatcher[] = [];
    const touched = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => void this.#touched(name), QUIET_MS).unref();
    };
    const look = (folder: string, seen: (name: string | null) => void): void => {
      try {
        const watcher = watch(folder, { persistent: false }, (_event, entry) => seen(entry));
        watchers.push(watcher.on("error", () => watcher.close()));
      } catch {
        // Without it a change counts from the next start on.
      }
    };
    // What it may write is its data: it is not started again because it wrote some.
    const isData = (folder: string): boolean => allowed.find(join(folder, "x")) !== undefined;
    for (const folder of foldersOf(path, isData)) look(folder, touched);
    // Another folder may be put in its place.
    look(dirname(path), (entry) => (entry === null || entry === basename(path) ? touched() : undefined));
    return () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    };
  }

  /** What it says of itself is asked again only when its content is another. */
  async #touched(name: string): Promise<void> {
    const kept = this.#kept.get(name);
    if (kept === undefined || (await kept.plugin.isAsItsFiles())) return;
    // Meanwhile the policy may have changed.
    if (this.#kept.get(name) === kept) this.#restart(name);
  }

  #restart(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined || this.#closed || this.#policy === undefined) return;
    const grant = this.#policy.plugins.load.get(name)!;
    kept.watch();
    this.#leave(kept.plugin);
    kept.plugin = this.#started(this.#policy, name);
    kept.watch = this.#watch(grant);
  }

  #leave(plugin: Plugin): void {
    const leaving = plugin.stop().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  #drop(): void {
    for (const { plugin, watch: stop } of this.#kept.values()) {
      stop();
      this.#leave(plugin);
    }
    this.#kept.clear();
  }
}

/** The folders of a plugin, nearest first; none for a file, which the folder it lies in tells of. */
function foldersOf(path: string, isData: (folder: string) => boolean): string[] {
  const found = [path];
  for (let at = 0; at < found.length && found.length < MAX_WATCHED; at += 1) {
    for (const name of namesOf(found[at] as string)) {
      const folder = join(found[at] as string, name);
      if (!UNWATCHED.has(name) && !isData(folder) && found.length < MAX_WATCHED) found.push(folder);
    }
  }
  return found;
}

function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []));
  } catch {
    return [];
  }
}
