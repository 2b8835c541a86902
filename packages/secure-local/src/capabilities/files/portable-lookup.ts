// Finds files where the system cannot tell the path of an open handle: looks, opens, and looks again whether it is still the same.
import { fstatSync, lstatSync, realpathSync, type BigIntStats } from "node:fs";
import { lstat, readlink, realpath } from "node:fs/promises";
import { FileError } from "./files.js";
import type { Found, Lookup } from "./finder.js";
import { join } from "./plain-path.js";

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
    return describe(path);
  },
};

function describe(path: string): Found {
  const stats = lstatSync(path);
  const exact = lstatSync(path, { bigint: true });
  // A file system that ignores case knows the name in another spelling; the rules have to see that one.
  const real = slashed(realpathSync.native(path));
  if (!sameAs(real, exact)) throw changed();
  const confirm = (fd: number): void => {
    const opened = fstatSync(fd, { bigint: true });
    // First the links of what is open, then its name: see the lookup of Linux.
    if (!isSame(opened, exact) || !opened.isFile() || opened.nlink !== 1n || !sameAs(real, exact)) throw changed();
  };
  return { path: real, stats, at: real, confirm, isCurrent: () => sameAs(real, exact), close: () => undefined };
}

function sameAs(path: string, before: BigIntStats): boolean {
  try {
    return isSame(lstatSync(path, { bigint: true }), before) && slashed(realpathSync.native(path)) === path;
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
