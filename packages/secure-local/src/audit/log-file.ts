// The few file operations the log needs, behind an interface so that tests can make each of them fail, and whether an
// open file still has its name.
import * as fs from "node:fs";
import { createReadStream, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { MAX_LINE_BYTES, readLine, type RecordLink } from "./event-text.js";
import { openAtOnce, readAtMost, whyUnread, WrongKindError } from "./owned-files.js";

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
  const { O_RDWR, O_APPEND, O_CREAT } = fs.constants;
  try {
    return openAtOnce(path, O_RDWR | O_APPEND | O_CREAT | NO_FOLLOW | flags, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP") throw new Error("it is a link, which the log may not be", { cause: error });
    if (code === "EISDIR") throw new WrongKindError(path, fs.statSync(path));
    throw error;
  }
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

/** A folder, at once: a pipe that was put in its place would be waited for. */
function openFolder(path: string): number {
  return fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_DIRECTORY ?? 0));
}

/** More than any file beside a log has in a century: what is longer was put there by somebody else. */
const MAX_BESIDE_BYTES = 16 * 1024 * 1024;

/** The text of a small file beside the log, at once. @throws Error for what is no file or too long, and the system's */
export function readBeside(path: string, most: number = MAX_BESIDE_BYTES): string {
  return readAtMost(path, most);
}

/** Without this a power failure could take the name of a new log away, and its records with it. */
function syncFolder(path: string): void {
  const fd = openFolder(path);
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

/** Where it is said which full files of a log were moved elsewhere for good. */
export function archivedPath(log: string): string {
  return `${log}.archived`;
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

/** Longer than any head. */
const MAX_HEAD_BYTES = 1_024;

/** The head's name for a log. */
export function headPath(log: string): string {
  return `${log}.head`;
}

/** Takes a log away that holds no record, with its head. Only for whoever has its lock. */
export function removeUnbegun(log: string): void {
  if (fs.statSync(log, { throwIfNoEntry: false })?.size !== 0) return;
  fs.rmSync(log, { force: true });
  fs.rmSync(headPath(log), { force: true });
}

/** Replaces the head in one step: readers see the old or the new one, never half. */
export function writeHead(log: string, link: RecordLink): void {
  const path = headPath(log);
  const temporary = `${path}.${process.pid}`;
  try {
    fs.rmSync(temporary, { force: true });
    const text = `{"records":${link.seq},"hash":"${link.hash}"}\n`;
    // On the disk before it has the name: a power failure must not leave an empty one, with which no log is opened.
    fs.writeFileSync(temporary, text, { mode: 0o600, flag: "wx", flush: true });
    fs.renameSync(temporary, path);
  } catch (error) {
    // On a full disk it is made and left empty.
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** The head of a log; undefined when there is none or it is unreadable. */
export function readHead(log: string): RecordLink | undefined {
  return lookAtHead(log).head;
}

/**
 * The head of a log, if there is one; `fault`: why one that is there cannot be used, and what that means; `unread`: nobody can say what is
 * in it. Otherwise what lies there is not what a server wrote.
 */
export function lookAtHead(log: string): {
  readonly head?: RecordLink;
  readonly fault?: string;
  readonly unread?: true;
} {
  const path = headPath(log);
  try {
    const head = headIn(readBeside(path, MAX_HEAD_BYTES));
    return head === undefined ? { fault: unusable(path, "it is damaged") } : { head };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    // A link that leads nowhere is there all the same.
    if (isMissing && fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return {};
    const isOther = isMissing || code === undefined || error instanceof WrongKindError;
    return { fault: unusable(path, whyUnread(error)), ...(isOther ? {} : { unread: true }) };
  }
}

function unusable(path: string, why: string): string {
  return `the head file ${path} cannot be read (${why}), so nobody can tell whether records were cut off the end of the log`;
}

const HASH = /^[0-9a-f]{64}$/;

function headIn(text: string): RecordLink | undefined {
  try {
    const { records, hash } = JSON.parse(text) as Record<string, unknown>;
    if (!Number.isSafeInteger(records) || (records as number) < 0) return undefined;
    return typeof hash === "string" && HASH.test(hash) ? { seq: records as number, hash } : undefined;
  } catch {
    return undefined;
  }
}

// A small file beside the log, of fixed size, into which a few records are synced in less time than into the log itself.
//
// A sync of the log has to commit its new length besides the records, which costs as much again; the journal's room was
// there before. Each record still goes into the log first, unsynced, so that the log is whole for every reader at all
// times and for the next start after a crash of the process. Only a power failure can take records from the log that had
// been promised: then the journal has them, and the next start puts them back. Records need no other mark than their own
// chain: a line of the journal counts when it follows the last line of the log, so what older rounds or a torn write left
// there is passed over.

/** Some 600 records: syncing the log when the journal is full adds a microsecond to each of them. */
const JOURNAL_BYTES = 256 * 1024;
/** The unit of writing: what disks and file systems align to at most. */
const BLOCK_BYTES = 4096;
const NEWLINE = 10;

/** Room for records that are in the log and not yet synced there. Operations throw the system's error. */
export interface Journal {
  /** Whether so many bytes still fit. */
  fits(length: number): boolean;
  /** Returns when the bytes are on the disk, in the file of that name. Nothing else happens in the meantime. */
  write(bytes: Buffer): void;
  /** Says that the log itself has been synced: all the room is free again. */
  rewind(): void;
  /** Forgets all of it, on the disk too: what it holds may not be what the log has. */
  clear(): void;
  /** Lets go of the file, and removes it unless it holds what the log may lose. */
  close(): void;
}

/** The journal's name for a log. */
export function journalPath(log: string): string {
  return `${log}.journal`;
}

/**
 * Makes the journal of a log, whose records must all be synced; one that is there already is emptied. Resolves when its
 * room is on the disk and rejects with the system's error.
 */
export async function openJournal(log: string): Promise<Journal> {
  const path = journalPath(log);
  // Pages may go to the disk as they are; through the page cache a sync takes a quarter longer.
  const image = wholePages(JOURNAL_BYTES);
  const { fd, durable } = openFilled(path, image);
  try {
    await synced(fd);
    await folderSynced(dirname(path));
  } catch (error) {
    fs.closeSync(fd);
    fs.rmSync(path, { force: true });
    throw error;
  }
  return new FileJournal(path, { fd, durable }, image);
}

/** Memory that can grow begins with a page. It could be otherwise: then writes go through the page cache. */
function wholePages(length: number): Uint8Array {
  const Growing = ArrayBuffer as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
  return new Uint8Array(new Growing(length, { maxByteLength: length }));
}

interface Filled {
  readonly fd: number;
  /** A write returns when its bytes are on the disk: that takes less than a sync, which looks for what else there is. */
  readonly durable: boolean;
}

/** Not every system and file system writes past the page cache, and what it wants to be aligned how differs. */
function openFilled(path: string, image: Uint8Array): Filled {
  const direct = fs.constants.O_DIRECT ?? 0;
  const dsync = fs.constants.O_DSYNC ?? 0;
  if (direct !== 0 && dsync !== 0) {
    try {
      return { fd: fillFile(path, image, direct | dsync), durable: true };
    } catch {
      // Through the page cache, then.
    }
  }
  return { fd: fillFile(path, image, 0), durable: false };
}

function fillFile(path: string, image: Uint8Array, flag: number): number {
  const { O_RDWR, O_CREAT, O_TRUNC } = fs.constants;
  // A pipe that was put there would take some of the image and keep us waiting for whoever reads it.
  const fd = openAtOnce(path, O_RDWR | O_CREAT | O_TRUNC | NO_FOLLOW | flag, 0o600);
  try {
    writeAll(fd, image, { from: 0, to: image.length });
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    fs.rmSync(path, { force: true });
    throw error;
  }
}

/** Writes a part of the image to its place in the file. */
function writeAll(fd: number, image: Uint8Array, { from, to }: { from: number; to: number }): void {
  const written = fs.writeSync(fd, image, from, to - from, from);
  if (written !== to - from) throw new Error(`only ${written} of ${to - from} bytes were written`);
}

class FileJournal implements Journal {
  readonly #path: string;
  readonly #fd: number;
  readonly #held: HeldFile;
  readonly #durable: boolean;
  /** What the file holds. */
  readonly #image: Uint8Array;
  #used = 0;

  constructor(path: string, { fd, durable }: Filled, image: Uint8Array) {
    this.#path = path;
    this.#fd = fd;
    this.#held = heldFile(fd);
    this.#durable = durable;
    this.#image = image;
  }

  fits(length: number): boolean {
    return this.#used + length <= JOURNAL_BYTES;
  }

  write(bytes: Buffer): void {
    const end = this.#used + bytes.length;
    this.#image.set(bytes, this.#used);
    // What stands before in the first block is written once more as it is.
    const from = this.#used - (this.#used % BLOCK_BYTES);
    writeAll(this.#fd, this.#image, { from, to: Math.ceil(end / BLOCK_BYTES) * BLOCK_BYTES });
    if (!this.#durable) fs.fdatasyncSync(this.#fd);
    // The next start looks for it by its name.
    fs.accessSync(this.#path);
    this.#used = end;
  }

  rewind(): void {
    this.#used = 0;
  }

  clear(): void {
    this.#used = 0;
    this.#image.fill(0);
    writeAll(this.#fd, this.#image, { from: 0, to: this.#image.length });
    if (!this.#durable) fs.fdatasyncSync(this.#fd);
  }

  close(): void {
    const ours = this.#isHere;
    fs.closeSync(this.#fd);
    if (this.#used === 0 && ours) fs.rmSync(this.#path, { force: true });
  }

  get #isHere(): boolean {
    return presenceOf(this.#path, this.#held) === "here";
  }
}

/** What a journal holds beyond the log: its lines, how many, and the last one's place. */
export interface Journalled {
  readonly bytes: Buffer;
  readonly records: number;
  readonly link: RecordLink;
}

/** The records of a log's journal that follow `last`, in order; none when there is no journal or it cannot be read. */
export function journalledAfter(content: Buffer, last: RecordLink): Journalled {
  const lines: Buffer[] = [];
  let link = last;
  let start = 0;
  for (let end = content.indexOf(NEWLINE); end >= 0; end = content.indexOf(NEWLINE, start)) {
    const next = readLine(content.subarray(start, end));
    if (typeof next !== "string" && next.seq === link.seq + 1 && next.prev === link.hash) {
      lines.push(content.subarray(start, end + 1));
      link = { seq: next.seq, hash: next.hash };
    }
    start = end + 1;
  }
  return { bytes: Buffer.concat(lines), records: lines.length, link };
}

/**
 * The records of the newest round, from the beginning of the journal on as far as one follows the other. A round begins when all
 * records before it are safe in the log, so each of these is in the log, or follows its last one.
 */
export function newestRound(content: Buffer): RecordLink[] {
  const round: RecordLink[] = [];
  let start = 0;
  for (let end = content.indexOf(NEWLINE); end >= 0; end = content.indexOf(NEWLINE, start)) {
    const next = readLine(content.subarray(start, end));
    const before = round.at(-1);
    if (typeof next === "string" || (before && (next.seq !== before.seq + 1 || next.prev !== before.hash))) break;
    round.push({ seq: next.seq, hash: next.hash });
    start = end + 1;
  }
  return round;
}

/** The bytes of a log's journal; empty when there is none or it cannot be read. */
export function readJournal(log: string): Buffer {
  return lookAtJournal(log).content;
}

/** The bytes of a log's journal, and why it is none of ours, if it is not; `unread`: nobody can say what is in it. */
export function lookAtJournal(log: string): {
  readonly content: Buffer;
  readonly fault?: string;
  readonly unread?: true;
} {
  const path = journalPath(log);
  try {
    const fd = openAtOnce(path, NO_FOLLOW);
    try {
      const { size } = fs.fstatSync(fd);
      const whole = Buffer.alloc(JOURNAL_BYTES);
      const content = whole.subarray(0, fs.readSync(fd, whole, 0, JOURNAL_BYTES, 0));
      // A crash while it is made leaves a shorter one, which holds nothing yet.
      const isCut = size < JOURNAL_BYTES && content.some((byte) => byte !== 0);
      if (!isCut && size <= JOURNAL_BYTES) return { content };
      return {
        content,
        fault: `the journal ${path} was ${isCut ? "cut" : "made longer"}: it has ${size} bytes of ${JOURNAL_BYTES}`,
      };
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    const none = { content: Buffer.alloc(0) };
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return none;
    return { ...none, fault: `the journal ${path} cannot be read (${code ?? message})`, unread: true };
  }
}

/** Removes a journal that an earlier process left, once all of the log is on the disk. */
export async function dropJournal(log: string, file: Pick<LogFile, "sync">): Promise<void> {
  if (fs.lstatSync(journalPath(log), { throwIfNoEntry: false }) === undefined) return;
  await file.sync();
  try {
    fs.rmSync(journalPath(log), { force: true });
  } catch {
    // A folder that was put in its place: the check of the log says so.
  }
}

function synced(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.fsync(fd, (error) => (error ? reject(error) : resolve()));
  });
}

/** Without this a power failure could take the name of a new journal away, and its records with it. */
async function folderSynced(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const fd = openFolder(path);
  try {
    await synced(fd);
  } finally {
    fs.closeSync(fd);
  }
}

// Tells whether a file that is held open still is the one under its name.

/** The file itself, nothing, or another file (a link too, wherever it leads). */
export type FilePresence = "here" | "gone" | "exchanged";

/** What tells an open file from all others: no second file has its device and number as long as somebody holds it. */
interface HeldFile {
  readonly dev: bigint;
  readonly ino: bigint;
}

function heldFile(fd: number): HeldFile {
  const { dev, ino } = fs.fstatSync(fd, { bigint: true });
  return { dev, ino };
}

/**
 * What `path` leads to now.
 *
 * @throws the system's error when nobody can say, for example because a folder may no longer be entered
 */
function presenceOf(path: string, { dev, ino }: HeldFile): FilePresence {
  try {
    const named = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (named === undefined) return "gone";
    return named.ino === ino && named.dev === dev ? "here" : "exchanged";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return "gone";
    throw error;
  }
}

// Reads files line by line in bounded memory: a file that is no log may have no end of line at all.

/** Cuts text into lines; of one that is longer than any record the rest is dropped. */
export class LineCutter {
  readonly #decoder = new StringDecoder("utf8");
  /** What has come of the line that is not whole. */
  #parts: string[] = [];
  #length = 0;

  /** The whole lines that have come up to now. */
  take(chunk: Buffer): string[] {
    const lines = this.#decoder.write(chunk).split("\n");
    const rest = lines.pop() ?? "";
    if (lines.length > 0) lines[0] = this.end() + (lines[0] ?? "");
    this.#length += rest.length;
    if (this.#length > MAX_LINE_BYTES) this.#parts = [];
    else if (rest !== "") this.#parts.push(rest);
    return lines;
  }

  /** What stands behind the last whole line. */
  end(): string {
    const rest = this.#parts.join("");
    this.#parts = [];
    this.#length = 0;
    return rest;
  }
}

/** The lines of a file, with what stands behind the last end of line. Throws as `openAtOnce` does. */
export async function* linesOf(file: string): AsyncIterable<string> {
  const cutter = new LineCutter();
  const fd = openAtOnce(file);
  for await (const chunk of createReadStream(file, { fd }) as AsyncIterable<Buffer>) yield* cutter.take(chunk);
  const rest = cutter.end();
  if (rest !== "") yield rest;
}
