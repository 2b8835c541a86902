// Works in a folder that was found, and in no other that has its name by then.
import { lstatSync, realpathSync } from "node:fs";
import { parse } from "node:path";
import { isMainThread } from "node:worker_threads";
import { FileError } from "./files.js";
import type { Found } from "./finder.js";

/**
 * Calls `act` with a path under which the very folder is reached until it returns; `act` must not wait for anything.
 *
 * @throws FileError `changed` when what has its name is another one, `system` where the process cannot go anywhere (threads)
 */
export function inFolder<T>(folder: Found, act: (at: string) => T): T {
  if (folder.at !== folder.path) return act(folder.at);
  return standingIn(folder.path, (real) => {
    const { dev, ino } = lstatSync(".");
    if (dev === folder.stats.dev && ino === folder.stats.ino && real === folder.path) return act(".");
    throw new FileError("changed", "Its folder was exchanged meanwhile; try again.");
  });
}

/**
 * Where folders have no handles the process goes into one for that time: the system keeps a working folder by itself and not by
 * its name, so whatever is done under `.` happens there, even if the name leads elsewhere meanwhile. `act` gets the path the
 * system knows it by, without any link that was followed, and must not wait for anything.
 */
export function standingIn<T>(path: string, act: (real: string) => T): T {
  if (!isMainThread)
    throw new FileError("system", "This thread has no way to hold a folder, so no file is used in it.");
  const back = workingFolder();
  try {
    process.chdir(path);
    return act(workingFolder() ?? "");
  } finally {
    leave(back ?? parse(path).root);
  }
}

/** Somebody may have removed it: then there is no way back. */
function leave(back: string): void {
  try {
    process.chdir(back);
  } catch {
    process.chdir(parse(back).root);
  }
}

/** Undefined when it was removed. Windows says by what path it was entered, and tells the real one by the folder alone. */
function workingFolder(): string | undefined {
  try {
    return process.platform === "win32" ? realpathSync.native(".").replaceAll("\\", "/") : process.cwd();
  } catch {
    return undefined;
  }
}
