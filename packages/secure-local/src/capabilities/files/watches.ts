// Watches files and folders for changes, within bounds: so many at a time, and each told only so often.
import { watch, type FSWatcher } from "node:fs";
import type { Finder, Terms } from "./finder.js";
import { MAX_WATCHES, WATCH_PAUSE_MS } from "./file-limits.js";

interface Watch {
  readonly changed: () => void;
  watcher: FSWatcher | undefined;
  timer: NodeJS.Timeout | undefined;
  ended: boolean;
}

export class Watches {
  readonly #finder: Finder;
  readonly #terms: () => Promise<Terms>;
  readonly #all = new Set<Watch>();

  constructor(finder: Finder, terms: () => Promise<Terms>) {
    this.#finder = finder;
    this.#terms = terms;
  }

  watch(path: string, changed: () => void): () => void {
    const watch: Watch = { changed, watcher: undefined, timer: undefined, ended: false };
    if (this.#all.size >= MAX_WATCHES) return () => undefined;
    this.#all.add(watch);
    void this.#start(watch, path).catch(() => this.#end(watch));
    return () => this.#end(watch);
  }

  close(): void {
    for (const watch of this.#all) this.#end(watch);
  }

  /** Files are watched by name in their folder: programs that write them anew put another file in their place. */
  async #start(watch: Watch, path: string): Promise<void> {
    const terms = await this.#terms();
    const found = await this.#finder.find(terms, path, "read");
    try {
      if (found.stats.isDirectory()) return this.#begin(watch, found.at);
      const { folder, name } = await this.#finder.place(terms, found.path, "read");
      try {
        this.#begin(watch, folder.at, name);
      } finally {
        folder.close();
      }
    } finally {
      found.close();
    }
  }

  /** What is watched is the very folder that was found, whatever becomes of its name. */
  #begin(watch: Watch, at: string, name?: string): void {
    if (watch.ended) return;
    watch.watcher = watchFolder(at, (entry) => {
      if (name === undefined || entry === null || entry === name) note(watch);
    });
    watch.watcher.on("error", () => this.#end(watch));
  }

  #end(watch: Watch): void {
    watch.ended = true;
    watch.watcher?.close();
    clearTimeout(watch.timer);
    this.#all.delete(watch);
  }
}

function watchFolder(path: string, changed: (name: string | null) => void): FSWatcher {
  return watch(path, { persistent: false }, (_event, name) => changed(name));
}

/** The first change is told after the pause, with all that happened in it. */
function note(watch: Watch): void {
  if (watch.timer !== undefined || watch.ended) return;
  watch.timer = setTimeout(() => {
    watch.timer = undefined;
    if (!watch.ended) watch.changed();
  }, WATCH_PAUSE_MS).unref();
}
