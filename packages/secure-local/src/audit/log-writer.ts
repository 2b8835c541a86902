// Appends to the log file so that all of what is given is safe afterwards, or none of it is there.
import { AuditError } from "./audit-error.js";
import type { LogFile } from "./log-file.js";
import type { LogSyncer } from "./log-syncer.js";

export interface LogWriterOptions {
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
    this.takeBack();
    this.#debris = bytes.length;
    const written = this.#log.append(bytes);
    if (written !== bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes were written`);
    return this.#syncer?.sync(bytes, records);
  }

  /** What was written last is safe. */
  kept(length: number): void {
    this.#safeSize += length;
    this.#debris = 0;
    this.#dropped = 0;
  }

  /** Cuts off what a failed write left behind, and refuses to touch what somebody else wrote. */
  takeBack(): void {
    if (this.#log.endsAt(this.#safeSize)) return;
    const size = this.#log.size();
    if (size < this.#safeSize || size > this.#safeSize + this.#debris) {
      const what = `somebody else changed this log (${size} bytes, expected ${this.#safeSize}). Restart the server to check it.`;
      throw new AuditError("foreign_writer", this.#file, what);
    }
    this.#log.truncate(this.#safeSize);
    this.#dropped += size - this.#safeSize;
  }

  /** Puts the file away under another name and goes on with an empty one. When it rejects, everything is as it was. */
  async rotate(archive: string): Promise<void> {
    await this.settle();
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
}
