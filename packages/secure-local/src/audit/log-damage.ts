// Says what was wrong with a log when it was opened, as records for that log.
import type { AuditEvent } from "./audit-event.js";
import type { Link } from "./chain.js";

export interface Damage {
  /** Bytes of an unfinished last line that were cut off. */
  readonly tornBytes: number;
  /** Records put back from the journal. */
  readonly restored: number;
  readonly head: Link | undefined;
  /** The number of the last record there is. */
  readonly found: number;
}

export function damageOf({ tornBytes: bytes, restored, head, found }: Damage): AuditEvent[] {
  const notes: AuditEvent[] = [];
  if (bytes > 0) notes.push(repaired({ reason: "the last line was torn", bytes }));
  if (restored > 0) notes.push(repaired({ reason: "the journal had records the log had not", restored }));
  if (head && head.seq > found) notes.push({ kind: "log.truncated", detail: { expected: head.seq, found } });
  return notes;
}

export function repaired(detail: { reason: string; bytes?: number; restored?: number }): AuditEvent {
  return { kind: "log.repaired", detail };
}
