// Gathers the records that share one write and one sync, as bytes, and the promise their callers wait on.
import type { AuditError } from "./audit-error.js";
import { bodyHash, GENESIS, sealText } from "./chain.js";

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
