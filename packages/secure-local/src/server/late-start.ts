// Puts off what a start does beside serving until the client has its first answer: a record and its sync take 3 ms.
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";

/** Stands before the audit log: whatever is recorded, the start is recorded before it. */
export class LateStart implements AuditSink {
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
