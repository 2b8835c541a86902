// Tells at once that something was written to one of the logs, by what the system says of their folders.
import { type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";

/** Folders watched: those of the logs of all policies in use. */
const MAX_FOLDERS = 32;

/**
 * Watches folders and not files, since a full log is put away and another one takes its name. Who writes the logs pays nothing
 * for it and need not know. A system that cannot watch a folder says nothing: whoever needs to know looks now and then.
 */
export class LogWatch {
  readonly #written: (log: string | undefined) => void;
  readonly #folders = new Map<string, FSWatcher>();
  #logs: ReadonlySet<string> = new Set();

  /** @param written told which log was written to; undefined where that is not known, or a name came or went beside them. */
  constructor(written: (log: string | undefined) => void) {
    this.#written = written;
  }

  /** From now on these are the logs. Folders that cannot be watched are tried again at the next call. */
  follow(files: Iterable<string>): void {
    const all = [...files];
    this.#logs = new Set(all);
    for (const folder of new Set(all.map((file) => dirname(file)))) {
      if (this.#folders.has(folder) || this.#folders.size >= MAX_FOLDERS) continue;
      try {
        const watcher = watch(folder, { persistent: false }, (event, name) =>
          this.#touched(event, name === null ? undefined : join(folder, name)),
        );
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

  #touched(event: string, file: string | undefined): void {
    if (event === "rename" || file === undefined) this.#written(undefined);
    // Locks, heads and journals of the logs lie in the same folder.
    else if (this.#logs.has(file)) this.#written(file);
  }
}
