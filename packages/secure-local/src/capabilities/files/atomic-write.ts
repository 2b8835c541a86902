// Writes a file so that whoever looks sees all of it or what was there before, and a crash leaves one of the two.
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  lstatSync,
  type NoParamCallback,
  openSync,
  read as readByCallback,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  write,
  writeFile,
} from "node:fs";
import { open } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { Buffer } from "node:buffer";
import { FileError, type FileInfo, type OpenFile } from "./files.js";
import { type Found, type FoundPlace, inFolder } from "./finder.js";

const writeTo = promisify(writeFile);
const syncTo = promisify((fd: number, done: NoParamCallback) => fsync(fd, done));

/** Begins the names of files that are being written; they are shown to nobody. */
export const UNFINISHED = ".mcp-secure-local-";

const NEW_FILE: number = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
/** What programs give new files; the process's mask takes away what it should. */
const NEW_MODE = 0o666;
const PERMISSIONS = 0o777;

interface AtomicWrite {
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
function begun(
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
function checked(
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

function present(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function keepMode(fd: number, { mode, uid, gid }: Stats): void {
  const own = fstatSync(fd);
  // Only an administrator can give files away; for everybody else the file stays their own.
  if (own.uid !== uid || own.gid !== gid) attempt(() => fchownSync(fd, uid, gid));
  fchmodSync(fd, mode & PERMISSIONS);
}

/** It may have been renamed, or the folder is gone with it. */
function discard(folder: Found, unfinished: string): void {
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

// Opens and reads the very file that was found.

const read = promisify(readByCallback);

/** Without waiting for anybody, without becoming anybody's terminal. */
const READ_ONLY = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
/** Bytes read without asking a thread to do it, which would take ten times as long. */
const AT_ONCE = 16_384;
/** Added when a file grows while it is read. */
const GROWTH = 65_536;

/** @throws FileError `not-a-file` for anything but a regular file */
export function openFound(found: Found, shown: string): number {
  if (found.stats.isDirectory()) throw new FileError("not-a-file", `"${shown}" is a folder.`);
  if (!found.stats.isFile()) throw new FileError("not-a-file", `"${shown}" is no regular file.`);
  // What is opened has been looked up already, so this waits for no disk.
  return found.open(READ_ONLY);
}

/** Reads everything. @throws FileError `too-large`, the signal's reason */
export async function readWhole(fd: number, size: number, at: ReadingLimits): Promise<Uint8Array> {
  if (size > at.maxBytes) throw tooLarge(at, size);
  let bytes = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    at.signal?.throwIfAborted();
    length +=
      size <= AT_ONCE ? readSync(fd, bytes, length, bytes.length - length, length) : await more(fd, bytes, length);
    if (length > at.maxBytes) throw tooLarge(at, length);
    // Regular files give all they have: less than there is room for is the end.
    if (length < bytes.length) return bytes.subarray(0, length);
    bytes = Buffer.concat([bytes, Buffer.allocUnsafe(GROWTH)]);
  }
}

async function more(fd: number, into: Uint8Array, from: number): Promise<number> {
  const { bytesRead } = await read(fd, into, from, into.length - from, from);
  return bytesRead;
}

interface ReadingLimits {
  readonly maxBytes: number;
  /** The path as the caller gave it. */
  readonly shown: string;
  readonly signal: AbortSignal | undefined;
}

export function infoOf(path: string, stats: Stats): FileInfo {
  const folder = stats.isDirectory();
  return { path, kind: folder ? "folder" : "file", size: folder ? 0 : stats.size, modifiedMs: stats.mtimeMs };
}

export function opened(fd: number, info: FileInfo): OpenFile {
  let closed = false;
  return {
    ...info,
    handlePath: process.platform === "linux" ? `/proc/self/fd/${fd}` : info.path,
    async read(into, position) {
      const { bytesRead } = await read(fd, into, 0, into.length, position);
      return bytesRead;
    },
    close() {
      if (closed) return;
      closed = true;
      closeSync(fd);
    },
  };
}

function tooLarge({ maxBytes, shown }: ReadingLimits, size: number): FileError {
  return new FileError("too-large", `"${shown}" has ${size} bytes; at most ${maxBytes} are read at once.`);
}

// Changes a large file in a copy beside it that takes its place when it is whole.

const writeAt = promisify(write);

/** Gets the path of the copy under which this process reaches it until the promise settles. */
export type RebuildWork = (copy: string) => Promise<void>;

interface Rebuild extends Pick<AtomicWrite, "place" | "shown" | "stillAllowed"> {
  readonly signal: AbortSignal;
  readonly work: RebuildWork;
}

const COPIED_AT_ONCE = 1_048_576;
const COPY_NAME = new RegExp(`^\\${UNFINISHED}copy-(\\d{1,9})-[0-9a-f]{16}\\.tmp$`);

export async function rebuildFile({ place, shown, signal, stillAllowed, work }: Rebuild): Promise<void> {
  const { folder, name } = place;
  const copy = `${UNFINISHED}copy-${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
  const { before, fd } = inFolder(folder, (at) => {
    removeLeftovers(at);
    return begun({ mode: "either", shown, place }, at, copy);
  });
  try {
    try {
      stillAllowed();
      if (before !== undefined) await copyInto(fd, `${folder.at}/${name}`, { before, shown, signal });
      await work(`${folder.at}/${copy}`);
      signal.throwIfAborted();
      if (before !== undefined) keepMode(fd, before);
      await syncTo(fd);
    } finally {
      closeSync(fd);
    }
    signal.throwIfAborted();
    // Nothing waits between the last look and the renaming.
    stillAllowed();
    inFolder(folder, (at) => {
      const now = present(`${at}/${name}`);
      if (before === undefined) checked({ mode: "create", shown }, now);
      else checked({ mode: "replace", shown, expected: before }, now);
      renameSync(`${at}/${copy}`, `${at}/${name}`);
    });
  } catch (error) {
    discard(folder, copy);
    throw error;
  }
  await syncFolder(folder.at);
}

interface Source {
  readonly before: Stats;
  readonly shown: string;
  readonly signal: AbortSignal;
}

async function copyInto(fd: number, target: string, { before, shown, signal }: Source): Promise<void> {
  const source = await open(target, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const { ino, dev } = await source.stat();
    if (ino !== before.ino || dev !== before.dev)
      throw new FileError("changed", `"${shown}" was replaced by somebody else meanwhile.`);
    const bytes = Buffer.allocUnsafe(COPIED_AT_ONCE);
    for (let at = 0; ;) {
      signal.throwIfAborted();
      const { bytesRead } = await source.read(bytes, 0, bytes.length, at);
      if (bytesRead === 0) return;
      await writeAt(fd, bytes, 0, bytesRead, at);
      at += bytesRead;
    }
  } finally {
    await source.close();
  }
}

/** A process that was killed leaves its copy behind. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = COPY_NAME.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) rmSync(`${folder}/${name}`, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { readonly code?: string }).code !== "ESRCH";
  }
}
