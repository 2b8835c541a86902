// Gathers the records that share one write and one sync, and the promise their callers wait on.
import type { AuditError } from "./audit-error.js";

/** Records that may wait for the disk. A burst of calls fits; a disk that hangs must not fill the memory. */
const MAX_WAITING_RECORDS = 10_000;
/** Characters that may wait for the disk, for the same reason. */
const MAX_WAITING_TEXT = 16 * 1024 * 1024;

export interface Batch {
  text: string;
  records: number;
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: AuditError) => void;
}

export function newBatch(): Batch {
  let resolve!: () => void;
  let reject!: (error: AuditError) => void;
  const done = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Callers that wait get the error; one that does not wait must not bring the process down.
  done.catch(() => undefined);
  return { text: "", records: 0, done, resolve, reject };
}

export function isFull(batch: Batch): boolean {
  return batch.records >= MAX_WAITING_RECORDS || batch.text.length >= MAX_WAITING_TEXT;
}
