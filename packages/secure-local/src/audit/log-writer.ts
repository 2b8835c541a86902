// Appends to the log file so that all of what is given is safe afterwards, or none of it is there, and holds the lock
// that lets one process do so.
import * as fs from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { AuditError, type AuditEvent } from "./audit-event.js";
import { bodyHash, GENESIS, type RecordLink, sealText } from "./event-text.js";
import { archivedPath, type FilePresence, type Journal, type LogFile, lookAtHead } from "./log-file.js";

/** The end of a batch that is read again: the last record's hash, which no other record has. */
const PROOF_BYTES = sealText(GENESIS).length;

interface LogWriterOptions {
  readonly file: string;
  readonly log: LogFile;
  /** Undefined: what is appended counts as safe at once. */
  readonly syncer: LogSyncer | undefined;
  /** Bytes that are safe, and those of a torn line behind them. */
  readonly size: number;
  readonly tornBytes: number;
}

export class LogWriter {
  readonly #file: string;
  readonly #log: LogFile;
  readonly #syncer: LogSyncer | undefined;
  #safeSize: number;
  /** Bytes of what failed (or of a torn line) that may lie behind the safe size. */
  #debris: number;
  /** Bytes cut off since something was safe. */
  #dropped = 0;
  /** The last write is not known to be safe. The file may be anywhere, so it is looked for before the next one. */
  #doubted = false;

  constructor({ file, log, syncer, size, tornBytes }: LogWriterOptions) {
    this.#file = file;
    this.#log = log;
    this.#syncer = syncer;
    this.#safeSize = size;
    this.#debris = tornBytes;
  }

  /** Bytes of the file that are safe. */
  get size(): number {
    return this.#safeSize;
  }

  /** Bytes cut off since something was safe. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Undefined when the bytes are on the disk already. `kept` or `takeBack` has to follow. */
  write(bytes: Buffer, records: number): Promise<void> | undefined {
    const doubted = this.#doubted;
    if (doubted) this.#lookForFile();
    this.takeBack();
    this.#doubted = true;
    this.#debris = bytes.length;
    const written = this.#log.append(bytes);
    if (written !== bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes were written`);
    // What failed may be in the journal, where it would stand in the way of this.
    return doubted ? this.#syncer?.settleAnew() : this.#syncer?.sync(bytes, records);
  }

  /**
   * What was written last is safe, once its end is read from the file under the log's name: only then would anybody find it.
   *
   * @throws AuditError when it is not there, and the system's error when nobody can say
   */
  kept(bytes: Buffer): void {
    const size = this.#safeSize + bytes.length;
    if (!this.#nameHolds(bytes.subarray(-PROOF_BYTES), size)) {
      this.#lookForFile();
      throw this.#foreign(this.#log.size(), size);
    }
    this.#safeSize = size;
    this.#debris = 0;
    this.#dropped = 0;
    this.#doubted = false;
  }

  /** What the log's name leads to. Throws the system's error when nobody can say. */
  presence(): FilePresence {
    return this.#log.presence();
  }

  /** Cuts off what a failed write left behind, and refuses to touch what somebody else wrote. */
  takeBack(): void {
    if (this.#log.endsAt(this.#safeSize)) return;
    const size = this.#log.size();
    if (size < this.#safeSize || size > this.#safeSize + this.#debris) throw this.#foreign(size, this.#safeSize);
    this.#log.truncate(this.#safeSize);
    this.#dropped += size - this.#safeSize;
  }

  /** Puts the file away under another name and goes on with an empty one. When it rejects, everything is as it was. */
  async rotate(archive: string): Promise<void> {
    await this.settle();
    this.#lookForFile();
    this.#log.rotate(archive);
    this.#safeSize = 0;
  }

  /** Resolves when the log itself holds all that is safe, without its journal. */
  async settle(): Promise<void> {
    await this.#syncer?.settleJournal();
  }

  async close(): Promise<void> {
    await this.#syncer?.close();
    this.#log.close();
  }

  #lookForFile(): void {
    const where = this.presence();
    if (where !== "here") throw logReplaced(this.#file, where);
  }

  #nameHolds(bytes: Buffer, size: number): boolean {
    try {
      return this.#log.nameHolds(bytes, size);
    } catch (error) {
      this.#lookForFile();
      throw error;
    }
  }

  #foreign(size: number, expected: number): AuditError {
    const what = `somebody else changed this log (${size} bytes, expected ${expected}). Restart the server to check it.`;
    return new AuditError("foreign_writer", this.#file, what);
  }
}

/** The error of a log whose name leads to nothing, or to another file. */
export function logReplaced(file: string, where: Exclude<FilePresence, "here">): AuditError {
  const what = where === "gone" ? "the log was moved or removed" : "another file was put in the place of the log";
  const advice = "Put the log back, or restart the server to begin with what is there.";
  return new AuditError("taken_away", file, `${what} while the server ran. ${advice}`);
}

// Makes what was appended to a log durable: through its journal when that is quickest, through the log itself otherwise.

/**
 * A disk is quick while a sync takes less than this many milliseconds. Waiting for it without doing anything else then
 * costs less than handing the wait to another thread and coming back; on a slower one every other caller would notice.
 */
const QUICK_MS = 1;
/** More records than this came together, so there is more to do meanwhile; they also share the price of a whole sync. */
const FEW_RECORDS = 4;
/** The share of the newest sync in the moving figure: some ten syncs tell whether a disk has become quick or slow. */
const NEWEST_SHARE = 0.2;

/** What is synced. */
interface Syncable {
  sync(): Promise<void>;
  journal(): Promise<Journal>;
}

/** Callers wait for one sync before they ask for the next. */
export class LogSyncer {
  readonly #log: Syncable;
  readonly #now: () => number;
  #journal: Journal | undefined;
  /** The journal in the making. One that failed is not tried again: the log can do without. */
  #making: Promise<void> | undefined;
  #recentMs: number | undefined;
  /** The journal holds what the log may not. */
  #journalled = false;

  /** `now` gives monotonic milliseconds; `performance.now` when absent. */
  constructor(log: Syncable, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** Makes `bytes`, appended to the log before, durable. Undefined when they are already; rejects with the system's error. */
  sync(bytes: Buffer, records: number): Promise<void> | undefined {
    const journal = this.#journal;
    if (journal === undefined || records > FEW_RECORDS || !this.#quick || !journal.fits(bytes.length)) {
      return this.settle();
    }
    const from = this.#now();
    try {
      journal.write(bytes);
    } catch {
      return this.#giveUpJournal();
    }
    this.#journalled = true;
    this.#took(this.#now() - from);
    return undefined;
  }

  /** Syncs the log itself. */
  async settle(): Promise<void> {
    const from = this.#now();
    await this.#log.sync();
    this.#took(this.#now() - from);
    this.#journal?.rewind();
    this.#journalled = false;
    if (this.#quick) this.#making ??= this.#makeJournal();
  }

  /** As `settle`, after a record was refused that the journal may have: it must not contradict what takes its place in the log. */
  async settleAnew(): Promise<void> {
    await this.settle();
    try {
      this.#journal?.clear();
    } catch {
      this.#journal?.close();
      this.#journal = undefined;
    }
  }

  /** As `settle`, where the log depends on the journal. */
  settleJournal(): Promise<void> | undefined {
    return this.#journalled ? this.settle() : undefined;
  }

  /** Lets go of the journal, which is removed when the log no longer needs it. */
  async close(): Promise<void> {
    try {
      await this.settleJournal();
    } catch {
      // Then the journal stays, and the next start puts back what the log may have lost.
    }
    await this.#making;
    this.#journal?.close();
  }

  get #quick(): boolean {
    return this.#recentMs !== undefined && this.#recentMs < QUICK_MS;
  }

  #took(ms: number): void {
    this.#recentMs = this.#recentMs === undefined ? ms : this.#recentMs + (ms - this.#recentMs) * NEWEST_SHARE;
  }

  /** What was written into it before stays there until the log is synced. */
  async #giveUpJournal(): Promise<void> {
    await this.settleAnew();
    this.#journal?.close();
    this.#journal = undefined;
  }

  async #makeJournal(): Promise<void> {
    try {
      this.#journal = await this.#log.journal();
    } catch {
      // A full disk, a file system without syncs of folders: the log itself is synced each time.
    }
  }
}

// Gathers the records that share one write and one sync, as bytes, and the promise their callers wait on.

/** Records that may wait for the disk. A burst of calls fits; a disk that hangs must not fill the memory. */
const MAX_WAITING_RECORDS = 10_000;
/** Bytes that may wait for the disk, for the same reason. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** What the records of one tick come to on a busy server. */
const USUAL_BYTES = 32 * 1024;
/** Bytes of UTF-8 that a UTF-16 unit can become. */
const MOST_BYTES = 3;
const SEAL_BYTES = sealText(GENESIS).length;

export class RecordBatch {
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: AuditError) => void;
  #memory: Buffer;
  #length = 0;
  #records = 0;

  /** `memory` is used until it is too small. */
  constructor(memory: Buffer = Buffer.allocUnsafeSlow(USUAL_BYTES)) {
    let resolve!: () => void;
    let reject!: (error: AuditError) => void;
    this.done = new Promise<void>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    // Callers that wait get the error; one that does not wait must not bring the process down.
    this.done.catch(() => undefined);
    this.resolve = resolve;
    this.reject = reject;
    this.#memory = memory;
  }

  get records(): number {
    return this.#records;
  }

  get full(): boolean {
    return this.#records >= MAX_WAITING_RECORDS || this.#length >= MAX_WAITING_BYTES;
  }

  /** Whole lines. They stay as they are until something is added or the memory is used again. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** For the next batch, once this one has been written; undefined where it has grown too large to be kept. */
  get memory(): Buffer | undefined {
    return this.#memory.length <= USUAL_BYTES ? this.#memory : undefined;
  }

  /** Adds a record by the bytes before its hash, and returns that. */
  seal(body: string): string {
    this.#makeRoom(body.length * MOST_BYTES + SEAL_BYTES);
    const start = this.#length;
    const end = start + this.#memory.write(body, start);
    const digest = bodyHash(this.#memory.subarray(start, end));
    this.#length = end + this.#memory.write(sealText(digest), end, "latin1");
    this.#records += 1;
    return digest;
  }

  /** Adds lines that were sealed before. */
  addSealed(lines: Buffer, records: number): void {
    this.#makeRoom(lines.length);
    this.#length += lines.copy(this.#memory, this.#length);
    this.#records += records;
  }

  #makeRoom(needed: number): void {
    if (this.#memory.length - this.#length >= needed) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#memory.length, this.#length + needed));
    this.#memory.copy(larger, 0, 0, this.#length);
    this.#memory = larger;
  }
}

// Makes sure that one process writes one log, although several clients start several servers at the same time.
//
// Each process puts down a lock file of its own (`<log>.lock-<pid>-<birth>`) and looks for others only afterwards. Of two
// that come together the later one to look sees the other, so both can lose but never both win. Those that lost every name
// to each other, step by step, wait for a moment of chance each and begin again. Nobody removes the lock
// of a live process, and a dead one's has a name no other process uses, so there is nothing to race for. Who loses takes
// the next name (`audit.2.log`), whose chain is as sound as the first one's. Containers that share a folder but not their
// process numbers must not share a log; the writer's check of the file size catches those that do.

/** Servers of one person on one machine: one for each client that runs, with room to spare. */
const MAX_LOGS = 32;
/** Looking through all names takes a few milliseconds, so whoever wakes this much sooner is done before the other looks. */
const LONGEST_PAUSE_MS = 40;
/** Two that began in the same moment have parted after one pause, a dozen of them after a few; then the names are truly taken. */
const MOST_ROUNDS = 6;

/** A lock that is held. */
export interface LogLock {
  /** The log this process may write. */
  readonly file: string;
  release(): void;
}

/**
 * Takes the first free name: the file itself, then its numbered neighbours.
 *
 * @param pause Waits for so many milliseconds without returning: nothing is served before there is a log.
 * @throws AuditError (`in_use`) when every name is taken.
 */
export function lockLog(file: string, pause: (ms: number) => void = sleep): LogLock {
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    for (let number = 1; number <= MAX_LOGS; number++) {
      const lock = tryLock(numberedLog(file, number));
      if (lock === undefined) continue;
      clearHeads(file);
      return lock;
    }
    if (round < MOST_ROUNDS) pause(Math.random() * LONGEST_PAUSE_MS);
  }
  throw new AuditError("in_use", file, `${MAX_LOGS} running servers write beside this log already. Stop some of them.`);
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** The name of the log that the `number`-th server running at the same time writes, counted from 1. */
export function numberedLog(file: string, number: number): string {
  if (number === 1) return file;
  const extension = extname(file);
  return join(dirname(file), `${basename(file, extension)}.${number}${extension}`);
}

/** The log and those of its numbered neighbours that exist; a neighbour without a record is none, and whoever left it had nothing to write. */
export function existingLogs(file: string): string[] {
  return numberedLogs(file).filter((name) => fs.existsSync(name) && (name === file || isBegun(name)));
}

function isBegun(log: string): boolean {
  const { size = 0 } = fs.statSync(log, { throwIfNoEntry: false }) ?? {};
  return size > 0 || hasRecords(log);
}

/** Whether a record of it was ever written, as what lies beside it says. */
function hasRecords(log: string): boolean {
  const { head, fault } = lookAtHead(log);
  return fault !== undefined || (head?.seq ?? 0) > 0 || fs.existsSync(archivedPath(log));
}

/**
 * Those that exist, and those that somebody took away: of which only the head file, or the word of what was archived, is left,
 * or that checkpoints know by one of these names.
 */
export function rememberedLogs(file: string, checkpointed: { has(name: string): boolean } = new Set()): string[] {
  const existing = new Set(existingLogs(file));
  return numberedLogs(file).filter(
    (name) => existing.has(name) || hasRecords(name) || checkpointed.has(basename(name)),
  );
}

/** Those that this program may write, and those of higher numbers that lie there: whoever put one there is read as well. */
function numberedLogs(file: string): string[] {
  const extension = extname(file);
  const prefix = `${basename(file, extension)}.`;
  const higher = new Set<number>();
  for (const name of fs.existsSync(dirname(file)) ? fs.readdirSync(dirname(file)) : []) {
    if (!name.startsWith(prefix)) continue;
    const [, digits = "0", rest] = NUMBERED.exec(name.slice(prefix.length)) ?? [];
    const isOurs = rest === extension || rest === `${extension}.head` || rest === `${extension}.archived`;
    if (isOurs && Number(digits) > MAX_LOGS) higher.add(Number(digits));
  }
  const numbers = [...Array.from({ length: MAX_LOGS }, (_, index) => index + 1), ...[...higher].sort((a, b) => a - b)];
  return numbers.map((number) => numberedLog(file, number));
}

/** The number of a log as `numberedLog` writes it, and what follows it. */
const NUMBERED = /^([1-9]\d{0,8})(.*)$/s;

function tryLock(file: string): LogLock | undefined {
  const prefix = `${basename(file)}.lock-`;
  const folder = dirname(file);
  const lock = `${prefix}${process.pid}-${ownBirth() ?? "0"}-${Math.random().toString(36).slice(2, 10)}`;
  const path = join(folder, lock);
  fs.closeSync(fs.openSync(path, "wx", 0o600));
  for (const name of fs.readdirSync(folder)) {
    if (name === lock || !name.startsWith(prefix)) continue;
    if (isHeld(name.slice(prefix.length))) {
      fs.rmSync(path, { force: true });
      return undefined;
    }
    fs.rmSync(join(folder, name), { force: true });
  }
  return { file, release: () => fs.rmSync(path, { force: true }) };
}

/** Takes heads away that were never put in place, because the process that wrote them was killed meanwhile. */
function clearHeads(file: string): void {
  const extension = extname(file);
  const stem = basename(file, extension);
  for (const name of fs.readdirSync(dirname(file))) {
    const [, log = "", pid = ""] = UNPLACED.exec(name) ?? [];
    if (!log.startsWith(stem) || !log.endsWith(extension)) continue;
    const isOurs = /^(?:\.[1-9]\d*)?$/.test(log.slice(stem.length, log.length - extension.length));
    // Of this number there is one process alone, and it is not writing one now.
    if (isOurs && (Number(pid) === process.pid || !isHeld(pid))) fs.rmSync(join(dirname(file), name), { force: true });
  }
}

/** As `writeHead` calls it before it has its name. */
const UNPLACED = /^(.+)\.head\.(\d+)$/s;

function isHeld(owner: string): boolean {
  const [pid, born = "0"] = owner.split("-");
  const id = Number(pid);
  if (!Number.isSafeInteger(id) || id <= 0) return false;
  try {
    process.kill(id, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  // A number used again by another process is not the one that put the lock down.
  const now = id === process.pid ? ownBirth() : birth(id);
  return now === undefined || born === "0" || now === born;
}

let own: { readonly birth: string | undefined } | undefined;

/** Asked for at every name that is tried. */
function ownBirth(): string | undefined {
  own ??= { birth: birth(process.pid) };
  return own.birth;
}

/** When a process was started, where the system tells (Linux); with the pid it names one process. */
function birth(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

// Says what was wrong with a log when it was opened, as records for that log.

interface Damage {
  /** Bytes of an unfinished last line that were cut off. */
  readonly tornBytes: number;
  /** Records put back from the journal. */
  readonly restored: number;
  readonly head: RecordLink | undefined;
  /** The last record there is. */
  readonly last: RecordLink;
  /** The newest records that the journal held. */
  readonly round: readonly RecordLink[];
}

export function damageOf({ tornBytes: bytes, restored, head, last, round }: Damage): AuditEvent[] {
  const notes: AuditEvent[] = [];
  if (bytes > 0) notes.push(repaired({ reason: "the last line was torn", bytes }));
  if (restored > 0) notes.push(repaired({ reason: "the journal had records the log had not", restored }));
  const isOther = round.some(({ seq, hash }) => seq > last.seq || (seq === last.seq && hash !== last.hash));
  const isBegun = last.seq > 0 || head !== undefined;
  if (isOther && !isBegun) notes.push(repaired({ reason: "a journal of another log lay beside this one" }));
  if ((head && head.seq > last.seq) || (isOther && isBegun)) {
    const expected = Math.max(head?.seq ?? last.seq, round.at(-1)?.seq ?? last.seq);
    notes.push({ kind: "log.truncated", detail: { expected, found: last.seq } });
  }
  return notes;
}

export function repaired(detail: { reason: string; bytes?: number; restored?: number }): AuditEvent {
  return { kind: "log.repaired", detail };
}
