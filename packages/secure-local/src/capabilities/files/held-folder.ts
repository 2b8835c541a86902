// Works in a folder that was found, and in no other that has its name by then.
import { lstatSync } from "node:fs";
import { parse } from "node:path";
import { isMainThread } from "node:worker_threads";
import { FileError } from "./file-error.js";
import type { Found } from "./lookup.js";

/**
 * Calls `act` with a path under which the very folder is reached until it returns; `act` must not wait for anything.
 *
 * Where folders have no handles the process goes into it for that time: the system keeps a working folder by itself and not by
 * its name, so whatever is done under `.` happens there, even if the name leads elsewhere meanwhile.
 *
 * @throws FileError `changed` when what has its name is another one, `system` where the process cannot go anywhere (threads)
 */
export function inFolder<T>(folder: Found, act: (at: string) => T): T {
  if (folder.at !== folder.path) return act(folder.at);
  if (!isMainThread)
    throw new FileError("system", "This thread has no way to hold a folder, so nothing is written in it.");
  const back = workingFolder();
  try {
    enter(folder);
    return act(".");
  } finally {
    leave(back ?? parse(folder.path).root);
  }
}

function enter({ path, stats }: Found): void {
  process.chdir(path);
  // The path as the system knows it: a link that was followed is not in it.
  const here = lstatSync(".");
  const isIt = here.dev === stats.dev && here.ino === stats.ino && workingFolder() === path;
  if (!isIt) throw new FileError("changed", "Its folder was exchanged meanwhile; try again.");
}

/** Somebody may have removed it: then there is no way back. */
function leave(back: string): void {
  try {
    process.chdir(back);
  } catch {
    process.chdir(parse(back).root);
  }
}

function workingFolder(): string | undefined {
  try {
    const path = process.cwd();
    return process.platform === "win32" ? path.replaceAll("\\", "/") : path;
  } catch {
    return undefined;
  }
}
