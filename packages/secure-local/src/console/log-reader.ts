// Reads audit logs: from their first record on, on and on over the moments when a full file is put away, or one record
// again by its line.
import { createReadStream, existsSync, type FSWatcher, statSync, watch } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { type LogRecord, recordOf, textOf } from "../audit/call-records.js";
import { MAX_LINE_BYTES } from "../audit/event-text.js";
import { archivesOf } from "../audit/log-file.js";
import { handleAtOnce, openAtOnce } from "../audit/owned-files.js";
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
  #begins: number | undefined;
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

  /** When the first record that was read was made, in milliseconds since 1970; undefined where the log has none before it. */
  get begins(): number | undefined {
    return this.#begins;
  }

  /** What is to be said where the file is not there any more. */
  get gone(): string {
    const read = this.#records === 1 ? "one record" : `${this.#records} records`;
    return `its file is gone: this console had read ${read} of it`;
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
    const handle = await handleAtOnce(file);
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
    const handle = await handleAtOnce(file);
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
    // Older ones were archived, or moved away.
    if (this.#records === 0 && Number(record["seq"]) > 1)
      this.#begins = Date.parse(textOf(record["time"])) || undefined;
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

// Reads the records of logs again, from their files: one by its line, or all of a time in the order of time.

/** A line of a log, and where it begins in its file. */
interface FoundLine {
  readonly text: string;
  readonly offset: number;
  readonly ino: number;
}

/** A line by its number, counted from 1; undefined where the file has none. */
export async function lineAt(file: string, wanted: number): Promise<FoundLine | undefined> {
  if (!existsSync(file)) return undefined;
  let [number, offset] = [0, 0];
  // Byte by byte a character, so that places are those of the file whatever is in it.
  for await (const line of linesOf(file, "latin1")) {
    number += 1;
    if (number === wanted)
      return { text: Buffer.from(line, "latin1").toString("utf8"), offset, ino: statSync(file).ino };
    offset += line.length + 1;
  }
  return undefined;
}

/** Every record of these logs from a time, those of all logs in the order of time. */
export async function* recordsOf(
  logs: readonly string[],
  { since = -Infinity, until = Infinity }: { readonly since?: number | undefined; readonly until?: number | undefined },
): AsyncIterable<string> {
  const readers = logs.map((log) => inTime(log));
  try {
    const heads = await Promise.all(readers.map((reader) => reader.next()));
    for (;;) {
      const first = earliest(heads);
      const [head, reader] = [heads[first], readers[first]];
      if (head === undefined || head.done === true || reader === undefined) return;
      if (head.value.at >= since && head.value.at < until) yield head.value.text;
      heads[first] = await reader.next();
    }
  } finally {
    await Promise.all(readers.map((reader) => reader.return(undefined)));
  }
}

interface Timed {
  readonly at: number;
  readonly text: string;
}

/** Which of them is the first by its time; -1 where none is left. */
function earliest(heads: readonly IteratorResult<Timed>[]): number {
  let first = -1;
  let least = Infinity;
  for (const [index, head] of heads.entries())
    if (head.done !== true && (first < 0 || head.value.at < least)) [first, least] = [index, head.value.at];
  return first;
}

async function* inTime(log: string): AsyncGenerator<Timed, undefined> {
  for (const file of [...archivesOf(log), log]) {
    if (!existsSync(file)) continue;
    for await (const text of linesOf(file, "utf8")) {
      const record = recordOf(text);
      if (record !== undefined) yield { at: Date.parse(textOf(record["time"])) || 0, text };
    }
  }
  return undefined;
}

/** The file is closed also where nobody reads to its end. */
async function* linesOf(file: string, encoding: "latin1" | "utf8"): AsyncIterable<string> {
  const input = createReadStream(file, { encoding, fd: openAtOnce(file) });
  try {
    yield* createInterface({ input, crlfDelay: Infinity });
  } finally {
    input.destroy();
  }
}

// Tells at once that something was written to one of the logs, by what the system says of their folders.

/** Folders watched: those of the logs of all policies in use. */
const MAX_FOLDERS = 32;

/**
 * Watches folders and not files, since a full log is put away and another one takes its name. Each write that is told of
 * costs the server that writes as much as waking us: so a folder is watched until it has told something once, and again from
 * the next `follow` on. A system that cannot watch a folder says nothing: whoever needs to know looks now and then.
 */
export class LogWatch {
  readonly #written: () => void;
  readonly #folders = new Map<string, FSWatcher>();
  #logs: ReadonlySet<string> = new Set();

  /** @param written told that a log was written to, or a name came or went beside one: once, until `follow` is called. */
  constructor(written: () => void) {
    this.#written = written;
  }

  /**
   * From now on these are the logs, and whoever is told next has not been told before. What was written until now has to be
   * looked at after this call, and not before it. Folders that cannot be watched are tried again at the next call.
   */
  follow(files: Iterable<string>): void {
    const all = [...files];
    this.#logs = new Set(all);
    for (const folder of new Set(all.map((file) => dirname(file)))) {
      if (this.#folders.has(folder) || this.#folders.size >= MAX_FOLDERS) continue;
      try {
        const watcher = watch(folder, { persistent: false }, (event, name) => this.#touched(folder, event, name));
        watcher.on("error", () => this.#leave(folder));
        this.#folders.set(folder, watcher);
      } catch {
        // There is no such folder yet, or the system watches no more of them.
      }
    }
  }

  close(): void {
    for (const folder of [...this.#folders.keys()]) this.#leave(folder);
  }

  #leave(folder: string): void {
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  #touched(folder: string, event: string, name: string | null): void {
    // Locks, heads and journals of the logs lie in the same folder.
    if (event === "change" && name !== null && !this.#logs.has(join(folder, name))) return;
    this.#leave(folder);
    this.#written();
  }
}
