// Looks files up by handles: on Linux by what the kernel says of them, elsewhere from within a folder that nobody can
// exchange.
//
// Node has no openat, but /proc/self/fd/N/name is the same thing. A handle opened with O_PATH does nothing to a device or
// pipe, and /proc/self/fd/N tells the path the kernel itself knows it by, so a link swapped in at any moment is noticed.
import type { Buffer } from "node:buffer";
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  open as openByCallback,
  openSync,
  readlink,
  readlinkSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { lstat, readlink as linkTarget, realpath } from "node:fs/promises";
import { promisify } from "node:util";
import { exactText } from "../../sandbox/exact-text.js";
import { FileError } from "./files.js";
import { type Found, type LinkOnTheWay, type Lookup, type RootFolder, standingIn } from "./finder.js";
import { join, namesOf, parentOf } from "./plain-path.js";

const open = promisify(openByCallback);
const readLink = promisify(readlink);

/** `O_PATH`, which Node does not name: the same number on every architecture Node runs on. */
const O_PATH = 0o10000000;
const { O_NOFOLLOW, O_DIRECTORY } = constants;

export const procLookup: Lookup = {
  async openRoot(written) {
    const fd = await open(written, O_PATH | O_DIRECTORY);
    const at = `/proc/self/fd/${fd}`;
    try {
      return { written, real: leadsTo(at), at, close: () => closeSync(fd) };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  },

  async find(root, names) {
    // Most paths have no links, and are found by one look; whatever else comes out is looked at name by name.
    const whole = await openAt([root.at, ...names].join("/")).catch(() => undefined);
    if (whole !== undefined) {
      const found = verified(whole, names.reduce(join, root.real));
      if (found !== undefined) return found;
    }
    return step(root, names);
  },
};

/** Goes from folder to folder and stops at the first link. */
async function step(root: RootFolder, names: readonly string[]): Promise<Found | LinkOnTheWay> {
  let folder: Found | undefined;
  try {
    for (const [index, name] of names.entries()) {
      const above = folder?.path ?? root.real;
      const next = describe(await openAt(`${folder?.at ?? root.at}/${name}`));
      if (next.stats.isSymbolicLink()) {
        next.close();
        const target = textOf(await readLink(`${folder?.at ?? root.at}/${name}`, { encoding: "buffer" }));
        return { folder: above, target, rest: names.slice(index + 1) };
      }
      folder?.close();
      folder = next;
      if (index < names.length - 1 && !next.stats.isDirectory()) throw new FileError("not-found", "");
    }
    const found = folder ?? describe(await openAt(`${root.at}/.`));
    folder = undefined;
    return found;
  } finally {
    folder?.close();
  }
}

function openAt(path: string): Promise<number> {
  return open(path, O_PATH | O_NOFOLLOW);
}

/** What a handle stands for when it is where it was looked for and no link; otherwise the handle is closed. */
function verified(fd: number, path: string): Found | undefined {
  const found = describe(fd);
  if (found.path === path && !found.stats.isSymbolicLink()) return found;
  found.close();
  return undefined;
}

/**
 * The order counts: a name that the kernel still knows after the links were counted stood for the file when they were
 * counted, so a single link was this one.
 */
function describe(fd: number): Found {
  const at = `/proc/self/fd/${fd}`;
  let stats: Stats;
  let path: string;
  try {
    stats = fstatSync(fd);
    path = leadsTo(at);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  const isCurrent = (): boolean => leadsTo(at) === path;
  // The path is a link of the kernel's own, and leads to what was found and nowhere else.
  return { path, stats, at, isCurrent, open: (flags) => openSync(at, flags), close: () => closeSync(fd) };
}

function leadsTo(link: string): string {
  return textOf(readlinkSync(link, { encoding: "buffer" }));
}

/** No rule can name what is no UTF-8, and decoded loosely it would be judged by another name. @throws FileError */
function textOf(path: Buffer): string {
  const text = exactText(path);
  if (text !== undefined) return text;
  throw new FileError("not-found", "");
}

// Finds files where the system cannot tell the path of an open handle: goes into the folder, which nobody can exchange then, and
// asks the system where that is. Whatever was looked at by its name alone decides nothing but which way to go.

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
        return { folder: above, target: slashed(await linkTarget(path)), rest: names.slice(index + 1) };
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
