// Sinks without a file: one that remembers every event, one that forgets them, for tests and measurements.
import type { AuditEvent, AuditSink } from "./audit-event.js";
import { bodyHash, GENESIS, lineBody, sealText } from "./chain.js";
import { eventText } from "./event-text.js";

const DONE: Promise<void> = Promise.resolve();

/** Keeps the lines a file would have held. Set `failure` to make every later record fail. */
export class MemoryAudit implements AuditSink {
  readonly lines: string[] = [];
  failure: Error | undefined;
  #prev: string = GENESIS;

  record(event: AuditEvent): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    const body = lineBody(this.lines.length + 1, this.#prev, eventText(event));
    this.#prev = bodyHash(body);
    this.lines.push(body + sealText(this.#prev));
    return DONE;
  }

  /** The records, parsed. */
  records(): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  close(): Promise<void> {
    return DONE;
  }
}

/** Records nothing. */
export const noAudit: AuditSink = { record: () => DONE, close: () => DONE, failure: undefined };
