// A small file beside the log, of fixed size, into which a few records are synced in less time than into the log itself.
//
// A sync of the log has to commit its new length besides the records, which costs as much again; the journal's room was
// there before. Each record still goes into the log first, unsynced, so that the log is whole for every reader at all
// times and for the next start after a crash of the process. Only a power failure can take records from the log that had
// been promised: then the journal has them, and the next start puts them back. Records need no other mark than their own
// chain: a line of the journal counts when it follows the last line of the log, so what older rounds or a torn write left
// there is passed over.
import * as fs from "node:fs";
import { dirname } from "node:path";
import { type RecordLink, readLine } from "./event-text.js";
import { type HeldFile, heldFile, presenceOf } from "./file-presence.js";

/** Some 600 records: syncing the log when the journal is full adds a microsecond to each of them. */
const JOURNAL_BYTES = 256 * 1024;
/** The unit of writing: what disks and file systems align to at most. */
const BLOCK_BYTES = 4096;
const NEWLINE = 10;
/** As for the log: a link planted under the name would send the records elsewhere. */
const NO_FOLLOW: number = fs.constants.O_NOFOLLOW ?? 0;

/** Room for records that are in the log and not yet synced there. Operations throw the system's error. */
export interface Journal {
  /** Whether so many bytes still fit. */
  fits(length: number): boolean;
  /** Returns when the bytes are on the disk, in the file of that name. Nothing else happens in the meantime. */
  write(bytes: Buffer): void;
  /** Says that the log itself has been synced: all the room is free again. */
  rewind(): void;
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
  const fd = fs.openSync(path, O_RDWR | O_CREAT | O_TRUNC | NO_FOLLOW | flag, 0o600);
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

/** The bytes of a log's journal; empty when there is none or it cannot be read. */
export function readJournal(log: string): Buffer {
  try {
    const fd = fs.openSync(journalPath(log), fs.constants.O_RDONLY | NO_FOLLOW);
    try {
      const content = Buffer.alloc(JOURNAL_BYTES);
      return content.subarray(0, fs.readSync(fd, content, 0, JOURNAL_BYTES, 0));
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return Buffer.alloc(0);
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
  const fd = fs.openSync(path, "r");
  try {
    await synced(fd);
  } finally {
    fs.closeSync(fd);
  }
}
