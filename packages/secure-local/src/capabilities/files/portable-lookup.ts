// Finds files where the system cannot tell the path of an open handle: goes into the folder, which nobody can exchange then, and
// asks the system where that is. Whatever was looked at by its name alone decides nothing but which way to go.
import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, realpathSync } from "node:fs";
import { lstat, readlink, realpath } from "node:fs/promises";
import { FileError } from "./files.js";
import type { Found, Lookup } from "./finder.js";
import { standingIn } from "./held-folder.js";
import { join, namesOf } from "./plain-path.js";
import { parentOf } from "./root-folders.js";

export const portableLookup: Lookup = {
  async openRoot(written) {
    const real = slashed(await realpath(written));
    if (!lstatSync(real).isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
    return { written, real, at: real, close: () => undefined };
  },

  async find(root, names) {
    let path = root.real;
    for (const [index, name] of names.entries()) {
      const above = path;
      path = join(path, name);
      const stats = await lstat(path);
      if (stats.isSymbolicLink()) {
        return { folder: above, target: slashed(await readlink(path)), rest: names.slice(index + 1) };
      }
      if (index < names.length - 1 && !stats.isDirectory()) throw new FileError("not-found", "");
    }
    return lstatSync(path).isDirectory() ? folderAt(path) : fileAt(path);
  },
};

function folderAt(path: string): Found {
  return standingIn(path, (real) => {
    const exact = lstatSync(".", { bigint: true });
    const isCurrent = (): boolean => isStill(real, () => isSame(lstatSync(".", { bigint: true }), exact));
    const open = (): never => {
      throw new FileError("not-a-file", "It is a folder.");
    };
    return { path: real, stats: lstatSync("."), at: real, open, isCurrent, close: () => undefined };
  });
}

function fileAt(path: string): Found {
  const asked = `./${namesOf(path).at(-1) ?? ""}`;
  return standingIn(parentOf(path), (folder) => {
    const exact = lstatSync(asked, { bigint: true });
    const stats = lstatSync(asked);
    // A file system that ignores case knows the name in another spelling; the rules have to see that one.
    const real = slashed(realpathSync.native(asked));
    if (parentOf(real) !== folder) throw changed();
    const name = `./${namesOf(real).at(-1) ?? ""}`;
    if (!isNamed(name, exact)) throw changed();
    const open = (flags: number): number =>
      standingIn(folder, (now) => {
        if (now !== folder) throw changed();
        return openedAs(name, exact, flags);
      });
    const isCurrent = (): boolean => isStill(folder, () => isNamed(name, exact));
    return { path: real, stats, at: real, open, isCurrent, close: () => undefined };
  });
}

/** Opens what has the name in the working folder, and refuses what is not what was found. */
function openedAs(name: string, exact: BigIntStats, flags: number): number {
  const fd = openSync(name, flags | (constants.O_NOFOLLOW ?? 0));
  try {
    const opened = fstatSync(fd, { bigint: true });
    // One look tells both: a file with a single name that stands here has none outside.
    if (!opened.isFile() || !isSame(opened, exact) || !isNamed(name, opened, 1n)) throw changed();
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Whether the name stands for it in the working folder, by so many names in all. */
function isNamed(name: string, exact: BigIntStats, names?: bigint): boolean {
  const there = lstatSync(name, { bigint: true, throwIfNoEntry: false });
  return there !== undefined && isSame(there, exact) && (names === undefined || there.nlink === names);
}

function isStill(folder: string, holds: () => boolean): boolean {
  try {
    return standingIn(folder, (now) => now === folder && holds());
  } catch {
    return false;
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino && one.mode === other.mode;
}

function slashed(path: string): string {
  return process.platform === "win32" ? path.replaceAll("\\", "/") : path;
}

function changed(): FileError {
  return new FileError("changed", "It was exchanged while it was opened; try again.");
}
