// Finds files on Linux by handles: opens what stands there without acting on it and asks the kernel what it is and where.
//
// Node has no openat, but /proc/self/fd/N/name is the same thing. A handle opened with O_PATH does nothing to a device or
// pipe, and /proc/self/fd/N tells the path the kernel itself knows it by, so a link swapped in at any moment is noticed.
import type { Buffer } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  open as openByCallback,
  openSync,
  readlink,
  readlinkSync,
  type Stats,
} from "node:fs";
import { promisify } from "node:util";
import { exactText } from "../../sandbox/exact-text.js";
import { FileError } from "./files.js";
import type { Found, LinkOnTheWay, Lookup, RootFolder } from "./finder.js";
import { join } from "./plain-path.js";

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
