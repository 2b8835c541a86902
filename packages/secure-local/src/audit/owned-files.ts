// Files and folders of the program's own: opened at once whatever lies under their names, and made; and the key by which records tell
// apart what they cannot hold.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { AuditError } from "./audit-event.js";

const KEY_BYTES = 32;
/** In hexadecimal, with a line break that an editor may have added. */
const WRITTEN = /^([0-9a-f]{64})\n?$/;

let key: Buffer | undefined;

/** That of the file in use; before there is one, a key of this process alone. */
export function recordKey(): Buffer {
  return (key ??= randomBytes(KEY_BYTES));
}

/**
 * Uses the key in a file from now on; one is made where there is none.
 *
 * @throws AuditError (`io`) when it cannot be read or made, or others may read it.
 */
export function useRecordKey(file: string): void {
  try {
    if (!fs.existsSync(file)) makeKey(file);
    key = readKey(file);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const advice = "Mend that, or move it away, and a new one is made.";
    throw new AuditError("io", file, `the key of the records cannot be used (${why}). ${advice}`, { cause: error });
  }
}

function readKey(file: string): Buffer {
  const written = WRITTEN.exec(readKeyText(file, KEY_BYTES * 4))?.[1];
  if (written === undefined) throw new Error("it is no key of this program");
  return Buffer.from(written, "hex");
}

/** The text of a key's file. Throws as `readAtMost` does, and an Error where others may read it. */
export function readKeyText(file: string, mostBytes: number): string {
  return readAtMost(file, mostBytes, ({ mode }) => {
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw new Error("others may read it; take their rights away and think of it as known");
  });
}

/** Something else lies under a name of ours, for example a pipe in place of a file: the message says what, where, and what to do. */
export class WrongKindError extends Error {
  /** As the system would say it, where a folder was wanted, or is there in place of a file. */
  readonly code: "ENOTDIR" | "EISDIR" | undefined;
  /** Without its name, and without what to do: `no file but a pipe`. */
  readonly what: string;

  constructor(path: string, status: fs.Stats, wanted: "file" | "folder" = "file") {
    const what = `no ${wanted} but ${kindOf(status)}`;
    super(`${path} is ${what}; move it away`);
    this.name = "WrongKindError";
    this.what = what;
    this.code = wanted === "folder" ? "ENOTDIR" : status.isDirectory() ? "EISDIR" : undefined;
  }
}

function kindOf(status: fs.Stats): string {
  if (status.isFIFO()) return "a pipe";
  if (status.isSocket()) return "a socket";
  if (status.isDirectory()) return "a folder";
  return status.isFile() ? "a file" : "a device";
}

/** Why a file cannot be read, without its name. */
export function whyUnread(error: unknown): string {
  if (error instanceof WrongKindError) {
    const advice = error.what.endsWith("a pipe") ? "; keep what comes out of it in a file first" : "";
    return `it is ${error.what}${advice}`;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && SAID[code]) || message;
}

const SAID: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "you have no right to read it",
  EPERM: "you have no right to read it",
  EISDIR: "it is a folder",
  ENOTDIR: "it is no folder, or one on the way to it is none",
  // So the system says that it is a socket.
  ENXIO: "it is no regular file",
  ELOOP: "it is a link that may not be followed, or its links lead in a circle",
};

/** To read what may be no file: of a pipe the system waits for whoever opens its other end, which may be nobody. Windows has no such flag. */
export const READ_AT_ONCE: number = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);

/** Opens a file, by default to read it, at once. Throws the system's errors, and a WrongKindError for what is no file. */
export function openAtOnce(file: string, flags: number = fs.constants.O_RDONLY, mode?: number): number {
  const fd = opened(file, flags | (fs.constants.O_NONBLOCK ?? 0), mode);
  const status = fs.fstatSync(fd);
  if (status.isFile()) return fd;
  fs.closeSync(fd);
  throw new WrongKindError(file, status);
}

/** The same to read it, for whoever waits for the system in turns. */
export async function handleAtOnce(file: string): Promise<FileHandle> {
  const handle = await open(file, READ_AT_ONCE).catch((error: unknown) => {
    throw wrongKind(error, file) ?? error;
  });
  const status = await handle.stat();
  if (status.isFile()) return handle;
  await handle.close();
  throw new WrongKindError(file, status);
}

function opened(file: string, flags: number, mode: number | undefined): number {
  try {
    return fs.openSync(file, flags, mode);
  } catch (error) {
    throw wrongKind(error, file) ?? error;
  }
}

/** So the system says that it is a socket, or a pipe that nobody reads. */
function wrongKind(error: unknown, file: string): WrongKindError | undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENXIO") return undefined;
  const status = statusAt(file);
  return status && new WrongKindError(file, status);
}

/** The text of a file, at once, or its bytes. Throws as `openAtOnce` does. */
export function readAtOnce(file: string): string;
export function readAtOnce(file: string, encoding: null): Buffer;
export function readAtOnce(file: string, encoding: "utf8" | null = "utf8"): string | Buffer {
  const fd = openAtOnce(file);
  try {
    return fs.readFileSync(fd, encoding);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * The text of a file that is no longer than that. `judge` is given what the open file is like. Throws as `openAtOnce` does, an Error for
 * a longer one, and what `judge` throws.
 */
export function readAtMost(file: string, mostBytes: number, judge?: (status: fs.Stats) => void): string {
  const fd = openAtOnce(file);
  try {
    const status = fs.fstatSync(fd);
    if (status.size > mostBytes) throw new Error(`${file} is longer than ${mostBytes} bytes`);
    judge?.(status);
    return fs.readFileSync(fd, "utf8");
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * The text of a file of the program's own; undefined for what is no file, which a pipe would keep us waiting for, and for one that is
 * longer. Throws the system's errors.
 */
export function readShortFile(file: string, mostBytes: number): string | undefined {
  const fd = fs.openSync(file, READ_AT_ONCE);
  try {
    const status = fs.fstatSync(fd);
    if (!status.isFile() || status.size > mostBytes) return undefined;
    return fs.readFileSync(fd, "utf8");
  } finally {
    fs.closeSync(fd);
  }
}

/** The link makes the name appear with the whole key, and for one of several servers that start together only. */
function makeKey(file: string): void {
  makeFolder(dirname(file));
  const temporary = `${file}.${process.pid}`;
  fs.rmSync(temporary, { force: true });
  fs.writeFileSync(temporary, randomBytes(KEY_BYTES).toString("hex"), { mode: 0o600, flag: "wx", flush: true });
  try {
    fs.linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

// Makes folders with those above them, and ends where a file system refuses without saying so.

/**
 * Makes the folder for its owner only, those above it too where they are missing. Node's own `recursive` tries for ever below
 * `/proc`, which says of every new name that the folder above is missing. Throws the file system's error, and a WrongKindError for
 * what is no folder, in its place or above it.
 */
export function makeFolder(path: string): void {
  const fault = made(path);
  if (fault === undefined) return;
  const above = dirname(path);
  if (fault.code !== "ENOENT" || above === path) throw notFolder(path) ?? fault;
  makeFolder(above);
  const again = made(path);
  if (again !== undefined) throw again;
}

/** What of a path is there and no folder. */
function notFolder(path: string): WrongKindError | undefined {
  for (let at = path; ; at = dirname(at)) {
    const status = statusAt(at);
    if (status !== undefined) return status.isDirectory() ? undefined : new WrongKindError(at, status, "folder");
    if (at === dirname(at)) return undefined;
  }
}

/** Undefined when the folder is there now. */
function made(path: string): NodeJS.ErrnoException | undefined {
  try {
    fs.mkdirSync(path, { mode: 0o700 });
    return undefined;
  } catch (error) {
    return statusAt(path)?.isDirectory() === true ? undefined : (error as NodeJS.ErrnoException);
  }
}

/** Undefined where nobody can say. */
function statusAt(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path);
  } catch {
    return undefined;
  }
}
