// Writes a file so that whoever looks sees all of it or what was there before, and a crash leaves one of the two.
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeFile,
} from "node:fs";
import { open } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { FileError } from "./file-error.js";
import type { FoundPlace } from "./finder.js";
import { inFolder } from "./held-folder.js";
import type { Found } from "./lookup.js";

const writeTo = promisify(writeFile);
const syncTo = promisify(fsync);

/** Begins the names of files that are being written; they are shown to nobody. */
export const UNFINISHED = ".mcp-secure-local-";

const NEW_FILE: number = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
/** What programs give new files; the process's mask takes away what it should. */
const NEW_MODE = 0o666;
const PERMISSIONS = 0o777;

export interface AtomicWrite {
  readonly place: FoundPlace;
  readonly bytes: Uint8Array;
  /** The path as the caller gave it. */
  readonly shown: string;
  readonly mode: "create" | "replace" | "either";
  /** What was read before and must still be there; undefined when that does not matter. */
  readonly expected?: Stats;
  readonly signal: AbortSignal | undefined;
  /** Called when everything is ready; throws when the folder must not be written any more. */
  readonly stillAllowed: () => void;
}

/** Resolves with whether the file is new, once it is safe on disk. */
export async function writeAtomically(write: AtomicWrite): Promise<boolean> {
  const { place, bytes, signal } = write;
  const { folder, name } = place;
  const unfinished = `${UNFINISHED}${randomBytes(8).toString("hex")}.tmp`;
  const { before, fd } = inFolder(folder, (at) => begun(write, at, unfinished));
  try {
    try {
      write.stillAllowed();
      await writeTo(fd, bytes, signal === undefined ? {} : { signal });
      if (before !== undefined) keepMode(fd, before);
      await syncTo(fd);
      signal?.throwIfAborted();
      // Nothing waits between the last look and the renaming.
      write.stillAllowed();
      inFolder(folder, (at) => {
        mayGoOn(write, fstatSync(fd), `${at}/${unfinished}`);
        checked(write, present(`${at}/${name}`));
        renameSync(`${at}/${unfinished}`, `${at}/${name}`);
      });
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    discard(folder, unfinished);
    throw error;
  }
  await syncFolder(folder.at);
  return before === undefined;
}

/** Until it is whole nobody else may read it: the file it replaces may have been private. */
export function begun(
  write: Pick<AtomicWrite, "mode" | "shown" | "expected" | "place">,
  at: string,
  unfinished: string,
): { readonly before: Stats | undefined; readonly fd: number } {
  const before = checked(write, present(`${at}/${write.place.name}`));
  return { before, fd: openSync(`${at}/${unfinished}`, NEW_FILE, before === undefined ? NEW_MODE : 0o600) };
}

/** What is renamed has to be what was written, and nothing that somebody put in its place. */
function mayGoOn({ shown }: AtomicWrite, own: Stats, unfinished: string): void {
  const there = present(unfinished);
  if (there?.ino === own.ino && there.dev === own.dev) return;
  throw new FileError("changed", `"${shown}": its folder was exchanged meanwhile; try again.`);
}

/** Throws unless what has the name now may be replaced. */
export function checked(
  { mode, shown, expected }: Pick<AtomicWrite, "mode" | "shown" | "expected">,
  now: Stats | undefined,
): Stats | undefined {
  if (expected !== undefined && !isUnchanged(expected, now)) {
    throw new FileError("changed", `"${shown}" was changed by somebody else meanwhile; read it again.`);
  }
  if (now === undefined) {
    if (mode === "replace") throw new FileError("not-found", `"${shown}" does not exist.`);
    return undefined;
  }
  if (mode === "create") throw new FileError("exists", `"${shown}" exists already.`);
  if (now.isSymbolicLink()) throw new FileError("link", `"${shown}" is a link; nothing is written through links.`);
  if (now.isDirectory()) throw new FileError("not-a-file", `"${shown}" is a folder.`);
  if (!now.isFile()) throw new FileError("not-a-file", `"${shown}" is no regular file.`);
  if (now.nlink > 1)
    throw new FileError("hard-link", `"${shown}" has several names (hard links).`, "built-in rule: no hard links");
  return now;
}

function isUnchanged(expected: Stats, now: Stats | undefined): boolean {
  if (now === undefined || now.ino !== expected.ino || now.dev !== expected.dev) return false;
  return now.size === expected.size && now.mtimeMs === expected.mtimeMs && now.ctimeMs === expected.ctimeMs;
}

export function present(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

export function keepMode(fd: number, { mode, uid, gid }: Stats): void {
  const own = fstatSync(fd);
  // Only an administrator can give files away; for everybody else the file stays their own.
  if (own.uid !== uid || own.gid !== gid) attempt(() => fchownSync(fd, uid, gid));
  fchmodSync(fd, mode & PERMISSIONS);
}

/** It may have been renamed, or the folder is gone with it. */
export function discard(folder: Found, unfinished: string): void {
  attempt(() => inFolder(folder, (at) => unlinkSync(`${at}/${unfinished}`)));
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // What cannot be done is left as it is.
  }
}

/** Not every system can do it with folders, and the file itself is safe. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)).catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}
