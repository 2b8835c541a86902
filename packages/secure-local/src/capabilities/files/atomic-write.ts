// Writes a file so that whoever looks sees all of it or what was there before, and a crash leaves one of the two.
import { constants, lstatSync, renameSync, type Stats, unlinkSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { FileError } from "./file-error.js";
import type { FoundPlace } from "./finder.js";

/** Begins the names of files that are being written; they are shown to nobody. */
export const UNFINISHED = ".mcp-secure-local-";

export const NEW_FILE: number = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
/** What programs give new files; the process's mask takes away what it should. */
export const NEW_MODE = 0o666;
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
  const target = `${place.folder.at}/${place.name}`;
  const before = checked(write, present(target));
  const unfinished = `${place.folder.at}/${UNFINISHED}${randomBytes(8).toString("hex")}.tmp`;
  // Until it is whole nobody else may read it: the file it replaces may have been private.
  const file = await open(unfinished, NEW_FILE, before === undefined ? NEW_MODE : 0o600);
  try {
    try {
      const own = await file.stat();
      mayGoOn(write, own, unfinished);
      await file.writeFile(bytes, signal === undefined ? {} : { signal });
      if (before !== undefined) await keepMode(file, before);
      await file.sync();
      signal?.throwIfAborted();
      // Nothing waits between the last look and the renaming.
      mayGoOn(write, own, unfinished);
      checked(write, present(target));
      renameSync(unfinished, target);
    } finally {
      await file.close();
    }
  } catch (error) {
    discard(unfinished);
    throw error;
  }
  await syncFolder(place.folder.at);
  return before === undefined;
}

/** Where folders have no handles, this one may have been exchanged before the file was made in it, or since. */
function mayGoOn({ stillAllowed, shown }: AtomicWrite, own: Stats, unfinished: string): void {
  stillAllowed();
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

export async function keepMode(file: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  const own = await file.stat();
  // Only an administrator can give files away; for everybody else the file stays their own.
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid).catch(() => undefined);
  await file.chmod(mode & PERMISSIONS);
}

export function discard(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It has been renamed, or the folder is gone with it.
  }
}

/** Not every system can do it with folders, and the file itself is safe. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)).catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}
