// Appends to the log file so that all of what is given is safe afterwards, or none of it is there.
import { AuditError } from "./audit-error.js";
import { GENESIS, sealText } from "./chain.js";
import type { LogFile } from "./log-file.js";
import type { LogSyncer } from "./log-syncer.js";
import type { Whereabouts } from "./whereabouts.js";

/** The end of a batch that is read again: the last record's hash, which no other record has. */
const PROOF_BYTES = sealText(GENESIS).length;

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
    return doubted ? this.#syncer?.settle() : this.#syncer?.sync(bytes, records);
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
  whereabouts(): Whereabouts {
    return this.#log.whereabouts();
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
    const where = this.whereabouts();
    if (where !== "here") throw takenAway(this.#file, where);
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
export function takenAway(file: string, where: Exclude<Whereabouts, "here">): AuditError {
  const what = where === "gone" ? "the log was moved or removed" : "another file was put in the place of the log";
  const advice = "Put the log back, or restart the server to begin with what is there.";
  return new AuditError("taken_away", file, `${what} while the server ran. ${advice}`);
}
