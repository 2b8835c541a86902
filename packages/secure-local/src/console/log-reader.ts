// Reads audit logs from their first record on and follows them, over the moments when a full file is put away.
import { open, type FileHandle } from "node:fs/promises";
import { statSync } from "node:fs";
import { type LogRecord, recordOf } from "../audit/call-records.js";
import { archivesOf } from "../audit/log-file.js";
import { MAX_LINE_BYTES } from "../audit/event-text.js";
import type { RecordPlace } from "./call-index.js";

/** Bytes read at once: a second of a busy server. */
const CHUNK = 256 * 1024;
const NEWLINE = 10;

/** Told of each record in the order of its log. */
export type OnRecord = (record: LogRecord, place: RecordPlace) => void;

/** One log, with its full files. Lines that are no records are passed over: a verification names them. */
export class LogReader {
  readonly file: string;
  readonly #log: number;
  readonly #onRecord: OnRecord;
  #handle: FileHandle | undefined;
  #ino = 0;
  #position = 0;
  #rest: Buffer = Buffer.alloc(0);
  #records = 0;
  #fault: string | undefined;
  #changed: string | undefined;
  /** The last whole line as it was read, to be compared with what stands there later. */
  #last: { readonly offset: number; readonly line: Buffer } | undefined;
  #busy: Promise<void> | undefined;
  #wanted = false;
  #buffer: Buffer | undefined;

  /** @param log Names the log in the places of its records. */
  constructor(file: string, log: number, onRecord: OnRecord) {
    this.file = file;
    this.#log = log;
    this.#onRecord = onRecord;
  }

  get records(): number {
    return this.#records;
  }

  /** Why it cannot be read; undefined while it can. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** What is no longer as it was read: records cut from the end, or a log put in the place of this one. */
  get changed(): string | undefined {
    return this.#changed;
  }

  /** Reads what has been written until now; looks that overlap are one, which looks once more. Never rejects. */
  look(): Promise<void> {
    this.#wanted = true;
    this.#busy ??= this.#lookWhileWanted();
    return this.#busy;
  }

  async close(): Promise<void> {
    await this.#busy;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  /** The text of a record; undefined when its file is gone. */
  async textAt({ ino, offset, length }: RecordPlace): Promise<string | undefined> {
    const file = [this.file, ...archivesOf(this.file)].find((name) => inodeOf(name) === ino);
    if (file === undefined) return undefined;
    const handle = await open(file, "r");
    try {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await handle.read(buffer, 0, length, offset);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await handle.close();
    }
  }

  async #lookWhileWanted(): Promise<void> {
    while (this.#wanted) {
      this.#wanted = false;
      await this.#look();
    }
    this.#busy = undefined;
  }

  async #look(): Promise<void> {
    try {
      if (this.#handle === undefined) await this.#begin();
      await this.#compare();
      await this.#readOn();
      // What was written to a full file between the last look and the exchange has been read by now.
      if (this.#isAnother()) {
        const wasPutAway = archivesOf(this.file).some((each) => inodeOf(each) === this.#ino);
        await this.#goOn(wasPutAway);
        await this.#readOn();
      }
      this.#fault = undefined;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      this.#fault = code === "ENOENT" ? "there is no such file yet" : message;
    }
  }

  async #begin(): Promise<void> {
    for (const archive of archivesOf(this.file)) {
      await this.#open(archive);
      await this.#readOn();
    }
    await this.#open(this.file);
  }

  async #open(file: string): Promise<void> {
    const handle = await open(file, "r");
    await this.#handle?.close();
    this.#handle = handle;
    this.#ino = (await handle.stat()).ino;
    this.#position = 0;
    this.#rest = Buffer.alloc(0);
    this.#last = undefined;
  }

  /** Opens the file that has the name now. One that was not begun when the last was full takes the place of what was read. */
  async #goOn(wasPutAway: boolean): Promise<void> {
    const last = this.#last;
    await this.#open(this.file);
    if (wasPutAway || last === undefined || (await this.#continues(last.line))) return;
    this.#last = last;
    await this.#compare();
    // Of another log every record is shown: two rows of one call are less than a call that nobody sees.
    this.#position = this.#last === undefined ? 0 : last.offset + last.line.length + 1;
  }

  /** Whether its first record comes after the last one that was read: a full file may have been taken to another folder. */
  async #continues(last: Buffer): Promise<boolean> {
    const first = Buffer.alloc(64);
    const { bytesRead = 0 } = (await this.#handle?.read(first, 0, first.length, 0)) ?? {};
    const [before, now] = [last, first.subarray(0, bytesRead)].map((line) =>
      Number(/^\{"seq":(\d{1,15}),/.exec(line.toString("latin1"))?.[1]),
    ) as [number, number];
    return now > before;
  }

  /** Whether what was read last still stands there. Where it does not, reading goes on behind what is there now. */
  async #compare(): Promise<void> {
    const [last, handle] = [this.#last, this.#handle];
    if (last === undefined || handle === undefined) return;
    const end = last.line.length;
    const known = Buffer.concat([last.line, Buffer.from("\n"), this.#rest]);
    const there = Buffer.alloc(known.length);
    const { bytesRead } = await handle.read(there, 0, there.length, last.offset);
    if (bytesRead === known.length && there.equals(known)) return;
    const isThere = bytesRead > end && there.subarray(0, end + 1).equals(known.subarray(0, end + 1));
    const { size } = await handle.stat();
    // Of an unfinished last line nothing was taken for a record.
    this.#position = isThere ? last.offset + end + 1 : size;
    this.#rest = Buffer.alloc(0);
    if (isThere) return;
    this.#last = undefined;
    this.#changed = `this console had read ${this.#records} records of it, and the last of them is no longer there as it was read: records were taken from its end, or written anew`;
  }

  async #readOn(): Promise<void> {
    const buffer = (this.#buffer ??= Buffer.allocUnsafe(CHUNK));
    for (;;) {
      const read = await this.#handle?.read(buffer, 0, CHUNK, this.#position);
      if (read === undefined || read.bytesRead === 0) return;
      this.#cut(buffer.subarray(0, read.bytesRead));
      this.#position += read.bytesRead;
    }
  }

  #cut(piece: Buffer): void {
    const all = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const base = this.#position - this.#rest.length;
    let start = 0;
    let last: [start: number, end: number] | undefined;
    for (let end = all.indexOf(NEWLINE); end >= 0; end = all.indexOf(NEWLINE, start)) {
      this.#take(all.subarray(start, end), base + start);
      last = [start, end];
      start = end + 1;
    }
    if (last !== undefined) this.#last = { offset: base + last[0], line: Buffer.from(all.subarray(...last)) };
    const rest = all.subarray(start);
    // The rest is kept for the next piece, whose bytes lie in the same buffer. A line longer than any record is dropped.
    this.#rest = rest.length > MAX_LINE_BYTES ? Buffer.alloc(0) : Buffer.from(rest);
  }

  #take(line: Buffer, offset: number): void {
    const record = recordOf(line.toString("utf8"));
    if (record === undefined) return;
    this.#records += 1;
    this.#onRecord(record, { log: this.#log, ino: this.#ino, offset, length: line.length });
  }

  #isAnother(): boolean {
    const now = inodeOf(this.file);
    return now !== undefined && now !== this.#ino;
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}
