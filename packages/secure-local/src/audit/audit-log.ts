// Writes the audit log: append-only JSON lines, hash chained, synced before a record counts as made.
import { dirname, resolve } from "node:path";
import * as fs from "node:fs";
import { archivedFiles } from "./archive.js";
import { AuditError, type AuditEvent, type AuditSink, orAuditError, toAuditError } from "./audit-event.js";
import { eventText, GENESIS, lineBody, type RecordLink, MAX_LINE_BYTES, readLine } from "./event-text.js";
import {
  archivePath,
  archivesOf,
  dropJournal,
  type FilePresence,
  HEAD_RECORDS,
  journalledAfter,
  type LogFile,
  lookAtHead,
  newestRound,
  openLogFile,
  readJournal,
  removeUnbegun,
  writeHead,
} from "./log-file.js";
import {
  damageOf,
  lockLog,
  type LogLock,
  logReplaced,
  LogSyncer,
  LogWriter,
  RecordBatch,
  repaired,
} from "./log-writer.js";
import { makeFolder, openAtOnce } from "./owned-files.js";

const NOT_KEPT = { what: "a record could not be kept", advice: "Free space or repair the disk." };
/**
 * A failed log is tried again after so many milliseconds although nobody calls: whoever watches the server's health sends
 * no calls to one that is not well, and would never see it get well.
 */
const RETRY_MS = 1_000;

/** What may be changed while the log is open. */
export interface LogKeeping {
  /** Bytes from which on a file is put away and the next one begun; never when absent. */
  readonly rotateBytes?: number | undefined;
  /** Told of the last record each time more of them are on the disk, and what to wait for when the log is closed. */
  readonly checkpoints?:
    | { reached(link: RecordLink): void; close(): Promise<void>; readonly health?: AuditSink["checkpoints"] }
    | undefined;
}

export interface AuditLogOptions extends LogKeeping {
  /** Wait for the disk before a record counts (default true). False is for measurements: a crash then loses records. */
  readonly sync?: boolean;
  /** How files are opened. Tests give one whose operations fail. */
  readonly openFile?: (path: string) => LogFile;
  /** Monotonic milliseconds, by which the disk is judged; `performance.now` when absent. */
  readonly now?: () => number;
  /** Told once when records cannot be kept, and once when they can again. */
  readonly say?: (line: string) => void;
}

export class AuditLog implements AuditSink {
  /** The file in use; a numbered neighbour of the one asked for when another server writes that one. */
  readonly file: string;
  readonly #writer: LogWriter;
  readonly #lock: LogLock;
  readonly #say: (line: string) => void;
  #keeping: LogKeeping;
  /** The last record that is on the disk. */
  #safe: RecordLink;
  /** The last record that was handed out. */
  #seq: number;
  #prev: string;
  #headSeq: number;
  /** The log that was asked for; another process may have it. */
  readonly #named: string;
  #batch: RecordBatch | undefined;
  /** Memory of the batch written last: fresh memory for each costs as much as what is written into it. */
  #spare: Buffer | undefined;
  #writing: Promise<void> | undefined;
  #failure: AuditError | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * Opens a log to continue its chain, or begins one. Folders are created for their owner only.
   *
   * A last line torn by a crash is cut off, records that a power failure took are put back from the journal, and
   * `log.repaired` records say so; records missing at the end are noted by `log.truncated`. All of it is on the disk when
   * the promise resolves.
   *
   * @throws AuditError when the file, or the head file beside it, cannot be used: `io`, `not_ours` or `in_use`.
   */
  static async open(file: string, options: AuditLogOptions = {}): Promise<AuditLog> {
    const path = resolve(file);
    const lock = orAuditError(path, () => {
      makeFolder(dirname(path));
      return lockLog(path);
    });
    let log: LogFile | undefined;
    let audit: AuditLog | undefined;
    try {
      const head = usableHead(lock.file);
      const opened = orAuditError(lock.file, () => (log = (options.openFile ?? openLogFile)(lock.file)));
      const tail = orAuditError(lock.file, () => readTail(opened, lock.file));
      const made = new AuditLog(lock, opened, { tail, options, named: path });
      audit = made;
      const round = newestRound(readJournal(made.file));
      const restored = await made.#putBack(tail);
      const last = { seq: made.#seq, hash: made.#prev };
      const damage = damageOf({ tornBytes: tail.tornBytes, restored, head, last, round });
      await Promise.all(damage.map((event) => made.record(event)));
      await dropJournal(made.file, opened);
      // A stop that had no room for one would leave the log without its second witness until many records later.
      if (head === undefined) await made.#saveHead();
      return made;
    } catch (error) {
      // Nothing may be written to a file that is let go of.
      if (audit !== undefined) audit.#closed = true;
      log?.close();
      lock.release();
      throw error;
    }
  }

  private constructor(lock: LogLock, log: LogFile, start: { tail: Tail; options: AuditLogOptions; named: string }) {
    this.file = lock.file;
    this.#named = start.named;
    this.#lock = lock;
    const syncer = start.options.sync === false ? undefined : new LogSyncer(log, start.options.now);
    this.#writer = new LogWriter({ ...start.tail, file: lock.file, log, syncer });
    this.#say = start.options.say ?? (() => undefined);
    this.#keeping = start.options;
    this.#safe = start.tail.link;
    this.#seq = start.tail.link.seq;
    this.#prev = start.tail.link.hash;
    this.#headSeq = start.tail.link.seq;
  }

  /** Looks for the file too: a server that nobody calls would not learn that its log is gone. */
  get failure(): AuditError | undefined {
    if (this.#failure !== undefined || this.#closed) return this.#failure;
    const where = this.#presence();
    return where === "here" ? undefined : where instanceof AuditError ? where : logReplaced(this.file, where);
  }

  get checkpoints(): AuditSink["checkpoints"] {
    return this.#keeping.checkpoints?.health;
  }

  /** How the log is kept from now on. Resolves when what kept checkpoints before has written its last one. */
  async keep(keeping: LogKeeping): Promise<void> {
    const before = this.#keeping;
    this.#keeping = keeping;
    if (before.checkpoints !== keeping.checkpoints) await before.checkpoints?.close();
  }

  record(event: AuditEvent): Promise<void> {
    if (this.#closed) return Promise.reject(new AuditError("closed", this.file, "the audit log is closed."));
    const batch = this.#batch ?? this.#begin();
    if (batch.full) {
      const what = `${batch.records} records wait for the disk; no more are taken until it answers.`;
      return Promise.reject(new AuditError("queue_full", this.file, what));
    }
    this.#append(batch, event);
    return batch.done;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#retry);
    while (this.#batch || this.#writing) await (this.#writing ?? this.#flush());
    clearTimeout(this.#retry);
    await this.#saveHead();
    try {
      await this.#keeping.checkpoints?.close();
      await this.#writer.close();
      // A neighbour that nothing was written to would only be looked for in vain.
      if (this.#seq === 0 && this.file !== this.#named) removeUnbegun(this.file);
    } finally {
      this.#lock.release();
    }
  }

  #append(batch: RecordBatch, event: AuditEvent): void {
    this.#prev = batch.seal(lineBody(this.#seq + 1, this.#prev, eventText(event)));
    this.#seq++;
  }

  #begin(): RecordBatch {
    const batch = new RecordBatch(this.#spare);
    this.#spare = undefined;
    this.#batch = batch;
    if (this.#failure) this.#append(batch, repaired({ reason: this.#failure.message, bytes: this.#writer.dropped }));
    if (!this.#writing) this.#schedule();
    return batch;
  }

  /** Everything recorded while the current turn of the event loop lasts goes into one write. */
  #schedule(): void {
    setImmediate(() => void this.#flush());
  }

  #flush(): Promise<void> {
    const batch = this.#batch;
    if (!batch || this.#writing) return this.#writing ?? Promise.resolve();
    this.#batch = undefined;
    this.#writing = this.#commit(batch, { seq: this.#seq, hash: this.#prev }).finally(() => {
      this.#writing = undefined;
      if (this.#batch) this.#schedule();
    });
    return this.#writing;
  }

  async #commit(batch: RecordBatch, last: RecordLink): Promise<void> {
    try {
      const { bytes } = batch;
      const syncing = this.#writer.write(bytes, batch.records);
      if (syncing !== undefined) await syncing;
      this.#writer.kept(bytes);
      this.#safe = last;
      this.#wellAgain();
      this.#spare = batch.memory;
      batch.resolve();
      this.#keeping.checkpoints?.reached(last);
      if (this.#writer.size >= (this.#keeping.rotateBytes ?? Infinity)) await this.#rotate();
    } catch (error) {
      this.#fail(batch, error);
    }
    if (this.#safe.seq - this.#headSeq >= HEAD_RECORDS) await this.#saveHead();
  }

  /** Begins the next file. While that fails this one grows on, and it is tried again with the next records. */
  async #rotate(): Promise<void> {
    try {
      await this.#writer.rotate(archivePath(this.file, this.#safe.seq));
    } catch {
      // Nothing is lost: the records are where they were.
    }
  }

  /** Refuses all that waits and goes back to the last safe record: later records must not follow lost ones. */
  #fail(batch: RecordBatch, error: unknown): void {
    const failure = toAuditError(error, this.file, NOT_KEPT);
    if (this.#failure?.code !== failure.code) this.#say(`${failure.message} Until then no call is run.`);
    this.#failure = failure;
    this.#seq = this.#safe.seq;
    this.#prev = this.#safe.hash;
    const waiting = this.#batch;
    this.#batch = undefined;
    batch.reject(failure);
    waiting?.reject(failure);
    try {
      this.#writer.takeBack();
    } catch {
      // Tried again before the next write; until then the log stays failed.
    }
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#tryAgain(), RETRY_MS).unref();
  }

  #wellAgain(): void {
    if (this.#failure !== undefined) this.#say(`${this.file}: records are kept again, and calls are run`);
    this.#failure = undefined;
  }

  #presence(): FilePresence | AuditError {
    try {
      return this.#writer.presence();
    } catch (error) {
      return toAuditError(error, this.file, NOT_KEPT);
    }
  }

  /** Records that the log is whole again, if it is; if not, the next try follows. */
  #tryAgain(): void {
    if (this.#failure !== undefined && !this.#closed) this.#batch ??= this.#begin();
  }

  /** Appends what the journal has and the log has not. Returns how many records that were. */
  async #putBack(tail: Tail): Promise<number> {
    const { bytes, records, link } = journalledAfter(readJournal(this.file), tail.link);
    if (records === 0) return 0;
    const batch = new RecordBatch();
    batch.addSealed(bytes, records);
    await Promise.all([batch.done, this.#commit(batch, link)]);
    this.#seq = link.seq;
    this.#prev = link.hash;
    return records;
  }

  async #saveHead(): Promise<void> {
    try {
      // A head that knows of more than the log itself holds would accuse an honest log after a power failure.
      await this.#writer.settle();
      // Beside another file the head would speak of that one.
      if (this.#safe.seq > 0 && this.#writer.presence() !== "exchanged") writeHead(this.file, this.#safe);
      this.#headSeq = this.#safe.seq;
    } catch {
      // The head is a second witness; the log does not depend on it, and it is written again later.
    }
  }
}

/** Undefined where there is none. @throws AuditError (`io`) for one that is there and cannot be used: it may be what tells that records are gone */
function usableHead(log: string): RecordLink | undefined {
  const { head, fault } = lookAtHead(log);
  if (fault === undefined) return head;
  const advice =
    "Put it right, or look at the log (mcp-secure-local audit verify) and move the head file away: the next";
  throw new AuditError("io", log, `${fault}. ${advice} start makes a new one.`);
}

// Finds the end of an existing log: its last whole record, and how many bytes of a torn one follow.

/** The end of a log: the last record, the size up to and including it, and the bytes after it. */
interface Tail {
  readonly link: RecordLink;
  readonly size: number;
  readonly tornBytes: number;
}

/** Enough for the last record in nearly every log; the read is widened when it is not. */
const FIRST_READ = 64 * 1024;
const NEWLINE = 10;

type Readable = Pick<LogFile, "size" | "read">;

/**
 * Reads the end of a log; where it has no whole record yet, the chain goes on from the newest of its full files.
 *
 * @throws AuditError (`not_ours`) when the last whole line is not an intact record: nothing may be appended to it.
 */
export function readTail(log: Readable, path: string): Tail {
  const size = log.size();
  for (let length = FIRST_READ; ; length *= 4) {
    const start = Math.max(0, size - length);
    const chunk = log.read(start, size - start);
    const last = chunk.lastIndexOf(NEWLINE);
    const before = last > 0 ? chunk.lastIndexOf(NEWLINE, last - 1) : -1;
    if (before < 0 && start > 0) {
      if (length <= 4 * MAX_LINE_BYTES) continue;
      throw notOurs(path, "it ends in a line longer than any record");
    }
    const tornBytes = chunk.length - (last + 1);
    if (last < 0) return emptyTail(path, chunk);
    const link = readLine(chunk.subarray(before + 1, last));
    if (typeof link === "string") throw notOurs(path, `of its last line: ${link}`);
    return { link, size: size - tornBytes, tornBytes };
  }
}

/** A file without a whole line: empty, or the torn first record of a process that was killed. */
function emptyTail(path: string, chunk: Buffer): Tail {
  const begin = '{"seq":'.slice(0, chunk.length);
  if (chunk.toString("latin1", 0, begin.length) !== begin) throw notOurs(path, "it does not begin with a record");
  const newest = archivesOf(path).at(-1);
  const link = newest === undefined ? lastArchived(path) : lastOf(newest);
  return { link, size: 0, tornBytes: chunk.length };
}

/** The last record that was moved elsewhere for good. Whether that was signed is for `audit verify` to say. */
function lastArchived(path: string): RecordLink {
  const last = orAuditError(path, () => archivedFiles(path)).at(-1);
  return last === undefined ? { seq: 0, hash: GENESIS } : { seq: last.seq, hash: last.hash };
}

/** The last record of a full file, which was whole when it was put away. */
function lastOf(archive: string): RecordLink {
  const fd = openAtOnce(archive);
  try {
    const { size } = fs.fstatSync(fd);
    const read = (position: number, length: number): Buffer => {
      const buffer = Buffer.alloc(length);
      return buffer.subarray(0, fs.readSync(fd, buffer, 0, length, position));
    };
    const { link, tornBytes } = readTail({ size: () => size, read }, archive);
    if (tornBytes > 0) throw notOurs(archive, "its last line is torn");
    return link;
  } finally {
    fs.closeSync(fd);
  }
}

function notOurs(path: string, why: string): AuditError {
  const what = `cannot continue this audit log (${why}). Check it with \`mcp-secure-local audit verify\`, then move it away`;
  return new AuditError("not_ours", path, `${what} or name another file in audit.log_file.`);
}

// Puts off what a start does beside serving until the client has its first answer: a record and its sync take 3 ms.

/** Stands before the audit log: whatever is recorded, the start is recorded before it. */
export class DeferredStart implements AuditSink {
  readonly #audit: AuditSink;
  #start: (() => void) | undefined;

  constructor(audit: AuditSink) {
    this.#audit = audit;
  }

  /** Calls `start` once what has arrived already is answered, or right before the next record, whichever is sooner. */
  after(start: () => void): void {
    this.#start = start;
    // The first turn of the event loop reads what the client has sent and the end of it writes the answers.
    setImmediate(() => setImmediate(() => this.#begin()));
  }

  record(event: AuditEvent): Promise<void> {
    this.#begin();
    return this.#audit.record(event);
  }

  close(): Promise<void> {
    return this.#audit.close();
  }

  get failure(): Error | undefined {
    return this.#audit.failure;
  }

  #begin(): void {
    const start = this.#start;
    this.#start = undefined;
    start?.();
  }
}
