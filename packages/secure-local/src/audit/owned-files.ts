// What the log needs in its owner's folders: the folders, and the key by which records tell apart what they cannot hold.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
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
  const text = readShortFile(file, KEY_BYTES * 4, ({ mode }) => {
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw new Error("others may read it; take their rights away and think of it as known");
  });
  const written = text === undefined ? undefined : WRITTEN.exec(text)?.[1];
  if (written === undefined) throw new Error("it is no key of this program");
  return Buffer.from(written, "hex");
}

/**
 * The text of a file of the program's own; undefined for what is no file, which a pipe would keep us waiting for, and for one that is
 * longer. `judge` is given what the open file is like. Throws the system's errors, and what `judge` throws.
 */
export function readShortFile(file: string, mostBytes: number, judge?: (status: fs.Stats) => void): string | undefined {
  const fd = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const status = fs.fstatSync(fd);
    if (!status.isFile() || status.size > mostBytes) return undefined;
    judge?.(status);
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
 * `/proc`, which says of every new name that the folder above is missing. Throws the file system's error.
 */
export function makeFolder(path: string): void {
  const fault = made(path);
  if (fault === undefined) return;
  const above = dirname(path);
  if (fault.code !== "ENOENT" || above === path) throw fault;
  makeFolder(above);
  const again = made(path);
  if (again !== undefined) throw again;
}

/** Undefined when the folder is there now. */
function made(path: string): NodeJS.ErrnoException | undefined {
  try {
    fs.mkdirSync(path, { mode: 0o700 });
    return undefined;
  } catch (error) {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() === true ? undefined : (error as NodeJS.ErrnoException);
  }
}
