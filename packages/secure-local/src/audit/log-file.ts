// The few file operations the log needs, behind an interface so that tests can make each of them fail.
import * as fs from "node:fs";
import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Journal, openJournal } from "./log-journal.js";
import { heldFile, type FilePresence, presenceOf } from "./file-presence.js";
import type { RecordLink } from "./event-text.js";

/** An open log file. Every operation throws (or rejects) with the system's error. */
export interface LogFile {
  /** Appends bytes and returns how many were taken. It fills the page cache and does not wait for the disk. */
  append(bytes: Buffer): number;
  /** Resolves once everything appended is on the disk. */
  sync(): Promise<void>;
  /** Makes the journal beside the log. Everything appended must be on the disk. */
  journal(): Promise<Journal>;
  size(): number;
  /** As `size() === size`, without what asking for a size may cost. */
  endsAt(size: number): boolean;
  /**
   * Whether the file under the name, opened anew, ends in these bytes at this size: then whoever looks for them finds them,
   * whatever happened to names, links, folders and mounts. Throws the system's error when it cannot be opened.
   */
  nameHolds(bytes: Buffer, size: number): boolean;
  /** What the name leads to now: people move logs, remove folders, and unmount disks while a server runs. */
  presence(): FilePresence;
  truncate(size: number): void;
  /** Puts the file away under another name, durably, and goes on with an empty one. All of it must be on the disk. */
  rotate(archive: string): void;
  /** Reads exactly `length` bytes at `position`, or fewer at the end of the file. */
  read(position: number, length: number): Buffer;
  close(): void;
}

/** A link planted under the log's name would send the records elsewhere. Windows has no such flag. */
const NO_FOLLOW: number = fs.constants.O_NOFOLLOW ?? 0;

/** Opens (or creates, for its owner only) a file for appending. */
export function openLogFile(path: string): LogFile {
  let fd = openAppending(path);
  if (process.platform !== "win32" && fs.fstatSync(fd).size === 0) syncFolder(dirname(path));
  let held = heldFile(fd);
  const probe = Buffer.alloc(2);
  return {
    append: (bytes) => fs.writeSync(fd, bytes),
    sync: () =>
      new Promise((resolve, reject) => {
        fs.fdatasync(fd, (error) => (error ? reject(error) : resolve()));
      }),
    journal: () => openJournal(path),
    size: () => fs.fstatSync(fd).size,
    // Linux gives a file that was asked for its times a new one at its next write, which then is one more thing to sync.
    endsAt: (size) => {
      const last = Math.min(size, 1);
      return fs.readSync(fd, probe, 0, last + 1, size - last) === last;
    },
    nameHolds: (bytes, size) => fileEndsIn(path, bytes, size),
    presence: () => presenceOf(path, held),
    truncate: (size) => fs.ftruncateSync(fd, size),
    rotate: (archive) => {
      const next = exchange(path, archive);
      fs.closeSync(fd);
      fd = next;
      held = heldFile(fd);
    },
    read: (position, length) => {
      const buffer = Buffer.alloc(length);
      return buffer.subarray(0, fs.readSync(fd, buffer, 0, length, position));
    },
    close: () => fs.closeSync(fd),
  };
}

/** Neither follows what was put in the log's place nor waits for it. */
const LOOK: number = NO_FOLLOW | (fs.constants.O_NONBLOCK ?? 0) | (fs.constants.O_NOCTTY ?? 0);

/** Asking for the inode would do as well, and costs half a sync more: see `endsAt`. */
function fileEndsIn(path: string, bytes: Buffer, size: number): boolean {
  const fd = fs.openSync(path, fs.constants.O_RDONLY | LOOK);
  try {
    const found = Buffer.allocUnsafe(bytes.length + 1);
    const length = fs.readSync(fd, found, 0, found.length, size - bytes.length);
    return length === bytes.length && found.subarray(0, length).equals(bytes);
  } finally {
    fs.closeSync(fd);
  }
}

function openAppending(path: string, flags = 0): number {
  return fs.openSync(
    path,
    fs.constants.O_RDWR | fs.constants.O_APPEND | fs.constants.O_CREAT | NO_FOLLOW | flags,
    0o600,
  );
}

/**
 * Renames the log and opens an empty one in its place. When that fails everything is as it was; a crash half-way leaves no
 * log under the name, and the next start begins one.
 */
function exchange(path: string, archive: string): number {
  if (fs.existsSync(archive)) throw new Error(`${archive} exists already`);
  const fresh = `${path}.next`;
  fs.rmSync(fresh, { force: true });
  const fd = openAppending(fresh, fs.constants.O_EXCL);
  try {
    fs.renameSync(path, archive);
    try {
      fs.renameSync(fresh, path);
      if (process.platform !== "win32") syncFolder(dirname(path));
    } catch (error) {
      fs.renameSync(archive, path);
      throw error;
    }
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    fs.rmSync(fresh, { force: true });
    throw error;
  }
}

/** Without this a power failure could take the name of a new log away, and its records with it. */
function syncFolder(path: string): void {
  const fd = fs.openSync(path, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

// Names the files of a log that are full: `<log>.<number of the last record>`, so that they sort in the order of the chain.

/** Wide enough for every number a record can have. */
const DIGITS = 16;
const NUMBER = /^\d{16}$/;

/** The name under which a log is put away whose last record has this number. */
export function archivePath(log: string, lastSeq: number): string {
  return `${log}.${String(lastSeq).padStart(DIGITS, "0")}`;
}

/** The full files of a log, the oldest first. */
export function archivesOf(log: string): string[] {
  const prefix = `${basename(log)}.`;
  let names: string[];
  try {
    names = readdirSync(dirname(log));
  } catch {
    return [];
  }
  const full = names.filter((name) => name.startsWith(prefix) && NUMBER.test(name.slice(prefix.length)));
  return full.sort().map((name) => join(dirname(log), name));
}

// Keeps a small file beside the log that remembers how many records there were, so that a cut-off end is noticed.
//
// It is written after the records it counts are on the disk, so it is never ahead of an honest log. It lags by up to
// `HEAD_RECORDS` records while a server runs and is exact after a clean stop. Whoever can rewrite the log and this file
// can also forge both: copy the file elsewhere to guard against that.

/**
 * Records after which the head is written again. Replacing a file costs as much as writing hundreds of records, and a
 * server that stops cleanly leaves an exact head whatever this number is.
 */
export const HEAD_RECORDS = 10_000;

/** The head's name for a log. */
export function headPath(log: string): string {
  return `${log}.head`;
}

/** Replaces the head in one step: readers see the old or the new one, never half. */
export function writeHead(log: string, link: RecordLink): void {
  const path = headPath(log);
  const temporary = `${path}.${process.pid}`;
  try {
    fs.writeFileSync(temporary, `{"records":${link.seq},"hash":"${link.hash}"}\n`, { mode: 0o600 });
    fs.renameSync(temporary, path);
  } catch (error) {
    // On a full disk it is made and left empty.
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** The head of a log; undefined when there is none or it is unreadable. */
export function readHead(log: string): RecordLink | undefined {
  try {
    const { records, hash } = JSON.parse(fs.readFileSync(headPath(log), "utf8")) as Record<string, unknown>;
    if (Number.isSafeInteger(records) && typeof hash === "string") return { seq: records as number, hash };
  } catch {
    // No head, or not a whole one: the chain of the log itself still holds.
  }
  return undefined;
}
