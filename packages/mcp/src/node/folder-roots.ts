// Folders of this machine as a source of roots: only those that can be read, looked at again now and then.
import { access, constants, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Root } from "../protocol/features/roots.js";

export interface FolderRootsOptions {
  /** Milliseconds between two looks at whether the folders are still there. Default 2,000. */
  readonly intervalMs?: number;
}

export interface FolderRoots {
  list(): readonly Root[];
  accessible(root: Root): Promise<boolean>;
  watch(changed: () => void): () => void;
  /** Other folders from now on. */
  set(paths: readonly string[]): void;
}

/** Soon enough for a person who makes a folder and asks for it, seldom enough to cost nothing. */
const INTERVAL_MS = 2_000;

/** Folders by path, as `roots.source` of a host. */
export function folderRoots(
  paths: readonly string[],
  { intervalMs = INTERVAL_MS }: FolderRootsOptions = {},
): FolderRoots {
  let roots = paths.map(rootOf);
  const watchers = new Set<() => void>();
  return {
    list: () => roots,
    accessible: ({ uri }) => isReadableFolder(fileURLToPath(uri)),
    set(others) {
      roots = others.map(rootOf);
      for (const changed of watchers) changed();
    },
    watch(changed) {
      watchers.add(changed);
      const stop = poll(() => stateOf(roots), { intervalMs, changed });
      return () => {
        watchers.delete(changed);
        stop();
      };
    },
  };
}

function rootOf(path: string): Root {
  const whole = resolve(path);
  return { uri: pathToFileURL(whole).href, name: basename(whole) || whole };
}

async function isReadableFolder(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    await access(path, constants.R_OK | constants.X_OK);
    return found.isDirectory();
  } catch {
    return false;
  }
}

async function stateOf(roots: readonly Root[]): Promise<string> {
  const states = await Promise.all(roots.map(({ uri }) => isReadableFolder(fileURLToPath(uri))));
  return JSON.stringify(states);
}

// Watching by events does not see a folder come back whose parent was gone as well.
function poll(
  look: () => Promise<string>,
  { intervalMs, changed }: { intervalMs: number; changed: () => void },
): () => void {
  let before: string | undefined;
  let stopped = false;
  let looking = false;
  const once = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    const now = await look();
    looking = false;
    const differs = before !== undefined && before !== now;
    before = now;
    if (differs && !stopped) changed();
  };
  void once();
  const timer = setInterval(() => void once(), intervalMs);
  timer.unref();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
