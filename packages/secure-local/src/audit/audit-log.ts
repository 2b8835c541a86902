// Writes the audit log: append-only JSON lines, hash chained, synced before a record counts as made.
import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import { AuditError, orAuditError, toAuditError } from "./audit-error.js";
import type { AuditEvent, AuditSink } from "./audit-event.js";
import { bodyHash, lineBody, sealedLine, type Link } from "./chain.js";
import { eventText } from "./event-text.js";
import { archivePath } from "./log-archive.js";
import { isFull, newBatch, type Batch } from "./record-batch.js";
import { openLogFile, type LogFile } from "./log-file.js";
import { damageOf, repaired } from "./log-damage.js";
import { HEAD_RECORDS, readHead, writeHead } from "./log-head.js";
import { journalledAfter, readJournal } from "./log-journal.js";
import { lockLog, type LogLock } from "./log-lock.js";
import { LogSyncer } from "./log-syncer.js";
import { readTail, type Tail } from "./log-tail.js";

const NOT_KEPT = { what: "a record could not be kept", advice: "Free space or repair the disk." };

export interface AuditLogOptions {
  /** Wait for the disk before a record counts (default true). False is for measurements: a crash then loses records. */
  readonly sync?: boolean;
  /** How files are opened. Tests give one whose operations fail. */
  readonly openFile?: (path: string) => LogFile;
  /** Bytes from which on a file is put away and the next one begun; never when absent. */
  readonly rotateBytes?: number;
  /** Told of the last record each time more of them are on the disk, and what to wait for when the log is closed. */
  readonly checkpoints?: { reached(link: Link): void; close(): Promise<void> };
  /** Monotonic milliseconds, by which the disk is judged; `performance.now` when absent. */
  readonly now?: () => number;
}

export class AuditLog implements AuditSink {
  /** The file in use; a numbered neighbour of the one asked for when another server writes that one. */
  readonly file: string;
  readonly #log: LogFile;
  readonly #lock: LogLock;
  readonly #syncer: LogSyncer | undefined;
  readonly #options: AuditLogOptions;
  /** The last record that is on the disk, and the size of the file up to it. */
  #safe: Link;
  #safeSize: number;
  /** The last record that was handed out. */
  #seq: number;
  #prev: string;
  #headSeq: number;
  #batch: Batch | undefined;
  #writing: Promise<void> | undefined;
  #failure: AuditError | undefined;
  /** Bytes of a failed batch (or of a torn line) that may lie behind the safe size. */
  #debris = 0;
  /** Bytes cut off since the last record that is safe. */
  #dropped = 0;
  #closed = false;

  /**
   * Opens a log to continue its chain, or begins one. Folders are created for their owner only.
   *
   * A last line torn by a crash is cut off, records that a power failure took are put back from the journal, and
   * `log.repaired` records say so; records missing at the end are noted by `log.truncated`. All of it is on the disk when
   * the promise resolves.
   *
   * @throws AuditError when the file cannot be used: `io`, `not_ours` or `in_use`.
   */
  static async open(file: string, options: AuditLogOptions = {}): Promise<AuditLog> {
    const path = resolve(file);
    const lock = orAuditError(path, () => {
      fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      return lockLog(path);
    });
    let log: LogFile | undefined;
    try {
      const opened = orAuditError(lock.file, () => (log = (options.openFile ?? openLogFile)(lock.file)));
      const tail = orAuditError(lock.file, () => readTail(opened, lock.file));
      const audit = new AuditLog(lock, opened, { tail, options });
      const restored = await audit.#putBack(tail);
      const damage = damageOf({ tornBytes: tail.tornBytes, restored, head: readHead(audit.file), found: audit.#seq });
      await Promise.all(damage.map((event) => audit.record(event)));
      return audit;
    } catch (error) {
      log?.close();
      lock.release();
      throw error;
    }
  }

  private constructor(lock: LogLock, log: LogFile, start: { tail: Tail; options: AuditLogOptions }) {
    this.file = lock.file;
    this.#lock = lock;
    this.#log = log;
    this.#options = start.options;
    this.#syncer = start.options.sync === false ? undefined : new LogSyncer(log, start.options.now);
    this.#safe = start.tail.link;
    this.#safeSize = start.tail.size;
    this.#seq = start.tail.link.seq;
    this.#prev = start.tail.link.hash;
    this.#headSeq = start.tail.link.seq;
  }

  get failure(): AuditError | undefined {
    return this.#failure;
  }

  record(event: AuditEvent): Promise<void> {
    if (this.#closed) return Promise.reject(new AuditError("closed", this.file, "the audit log is closed."));
    const batch = this.#batch ?? this.#begin();
    if (isFull(batch)) {
      const what = `${batch.records} records wait for the disk; no more are taken until it answers.`;
      return Promise.reject(new AuditError("queue_full", this.file, what));
    }
    this.#append(batch, event);
    return batch.done;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#batch || this.#writing) await (this.#writing ?? this.#flush());
    await this.#saveHead();
    try {
      await this.#options.checkpoints?.close();
      await this.#syncer?.close();
      this.#log.close();
    } finally {
      this.#lock.release();
    }
  }

  #append(batch: Batch, event: AuditEvent): void {
    const body = lineBody(this.#seq + 1, this.#prev, eventText(event));
    this.#prev = bodyHash(body);
    this.#seq++;
    batch.text += sealedLine(body, this.#prev);
    batch.records++;
  }

  #begin(): Batch {
    const batch = newBatch();
    this.#batch = batch;
    if (this.#failure) this.#append(batch, repaired({ reason: this.#failure.message, bytes: this.#dropped }));
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

  async #commit(batch: Batch, last: Link): Promise<void> {
    try {
      const bytes = Buffer.from(batch.text);
      this.#clearDebris();
      this.#debris = bytes.length;
      const written = this.#log.append(bytes);
      if (written !== bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes were written`);
      const syncing = this.#syncer?.sync(bytes, batch.records);
      if (syncing !== undefined) await syncing;
      this.#safe = last;
      this.#safeSize += bytes.length;
      this.#debris = 0;
      this.#dropped = 0;
      this.#failure = undefined;
      batch.resolve();
      this.#options.checkpoints?.reached(last);
      if (this.#safeSize >= (this.#options.rotateBytes ?? Infinity)) await this.#rotate();
    } catch (error) {
      this.#fail(batch, error);
    }
    if (this.#safe.seq - this.#headSeq >= HEAD_RECORDS) await this.#saveHead();
  }

  /** Begins the next file. While that fails this one grows on, and it is tried again with the next records. */
  async #rotate(): Promise<void> {
    try {
      await this.#syncer?.settleJournal();
      this.#log.rotate(archivePath(this.file, this.#safe.seq));
      this.#safeSize = 0;
    } catch {
      // Nothing is lost: the records are where they were.
    }
  }

  /** Refuses all that waits and goes back to the last safe record: later records must not follow lost ones. */
  #fail(batch: Batch, error: unknown): void {
    const failure = toAuditError(error, this.file, NOT_KEPT);
    this.#failure = failure;
    this.#seq = this.#safe.seq;
    this.#prev = this.#safe.hash;
    const waiting = this.#batch;
    this.#batch = undefined;
    batch.reject(failure);
    waiting?.reject(failure);
    try {
      this.#clearDebris();
    } catch {
      // Tried again before the next write; until then the log stays failed.
    }
  }

  /** Cuts off what a failed batch left behind, and refuses to touch what somebody else wrote. */
  #clearDebris(): void {
    if (this.#log.endsAt(this.#safeSize)) return;
    const size = this.#log.size();
    if (size < this.#safeSize || size > this.#safeSize + this.#debris) {
      const what = `somebody else changed this log (${size} bytes, expected ${this.#safeSize}). Restart the server to check it.`;
      throw new AuditError("foreign_writer", this.file, what);
    }
    this.#log.truncate(this.#safeSize);
    this.#dropped += size - this.#safeSize;
  }

  /** Appends what the journal has and the log has not. Returns how many records that were. */
  async #putBack(tail: Tail): Promise<number> {
    this.#debris = tail.tornBytes;
    const { bytes, records, link } = journalledAfter(readJournal(this.file), tail.link);
    if (records === 0) return 0;
    const batch = newBatch();
    batch.text = bytes.toString();
    batch.records = records;
    await Promise.all([batch.done, this.#commit(batch, link)]);
    this.#seq = link.seq;
    this.#prev = link.hash;
    return records;
  }

  async #saveHead(): Promise<void> {
    try {
      // A head that knows of more than the log itself holds would accuse an honest log after a power failure.
      await this.#syncer?.settleJournal();
      if (this.#safe.seq > 0) writeHead(this.file, this.#safe);
      this.#headSeq = this.#safe.seq;
    } catch {
      // The head is a second witness; the log does not depend on it, and it is written again later.
    }
  }
}
