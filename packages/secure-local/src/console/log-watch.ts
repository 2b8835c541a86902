// Tells at once that something was written to one of the logs, by what the system says of their folders.
import { type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";

/** Folders watched: those of the logs of all policies in use. */
const MAX_FOLDERS = 32;

/**
 * Watches folders and not files, since a full log is put away and another one takes its name. Each write that is told of
 * costs the server that writes as much as waking us: so a folder is watched until it has told something once, and again from
 * the next `follow` on. A system that cannot watch a folder says nothing: whoever needs to know looks now and then.
 */
export class LogWatch {
  readonly #written: () => void;
  readonly #folders = new Map<string, FSWatcher>();
  #logs: ReadonlySet<string> = new Set();

  /** @param written told that a log was written to, or a name came or went beside one: once, until `follow` is called. */
  constructor(written: () => void) {
    this.#written = written;
  }

  /**
   * From now on these are the logs, and whoever is told next has not been told before. What was written until now has to be
   * looked at after this call, and not before it. Folders that cannot be watched are tried again at the next call.
   */
  follow(files: Iterable<string>): void {
    const all = [...files];
    this.#logs = new Set(all);
    for (const folder of new Set(all.map((file) => dirname(file)))) {
      if (this.#folders.has(folder) || this.#folders.size >= MAX_FOLDERS) continue;
      try {
        const watcher = watch(folder, { persistent: false }, (event, name) => this.#touched(folder, event, name));
        watcher.on("error", () => this.#leave(folder));
        this.#folders.set(folder, watcher);
      } catch {
        // There is no such folder yet, or the system watches no more of them.
      }
    }
  }

  close(): void {
    for (const folder of [...this.#folders.keys()]) this.#leave(folder);
  }

  #leave(folder: string): void {
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  #touched(folder: string, event: string, name: string | null): void {
    // Locks, heads and journals of the logs lie in the same folder.
    if (event === "change" && name !== null && !this.#logs.has(join(folder, name))) return;
    this.#leave(folder);
    this.#written();
  }
}
