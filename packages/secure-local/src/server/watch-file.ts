// Tells that a file has changed and then rested, whether it was written to or replaced.
import * as fs from "node:fs";
import { basename, dirname } from "node:path";

/** Time without a change before a file is taken to be whole: nobody should read what is half written. */
export const QUIET_MS = 1_000;

export interface WatchOptions {
  readonly changed: () => void;
  /** Told once when the file cannot be watched. */
  readonly say: (line: string) => void;
  /** In milliseconds; `QUIET_MS` when absent. */
  readonly quietMs?: number;
}

/**
 * Watches the folder, since editors put a new file in the place of the old one, and the folder a link leads to. Returns the
 * function that stops it. It keeps no process alive.
 */
export function watchFile(file: string, { changed, say, quietMs = QUIET_MS }: WatchOptions): () => void {
  let timer: NodeJS.Timeout | undefined;
  const names = new Set([basename(file)]);
  const touched = (_event: string, name: string | null): void => {
    if (name !== null && !names.has(name)) return;
    clearTimeout(timer);
    timer = setTimeout(changed, quietMs).unref();
  };
  const watchers: fs.FSWatcher[] = [];
  const stop = (): void => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
  const fail = (error: unknown): void => {
    stop();
    say(`${file} cannot be watched (${error instanceof Error ? error.message : String(error)}); send SIGHUP to reload`);
  };
  try {
    // One that is not there yet is seen when it comes.
    const real = fs.existsSync(file) ? fs.realpathSync(file) : file;
    names.add(basename(real));
    for (const folder of new Set([dirname(file), dirname(real)])) {
      watchers.push(fs.watch(folder, { persistent: false }, touched).on("error", fail));
    }
  } catch (error) {
    fail(error);
  }
  return stop;
}
