// Looks at an audit log from outside, as bytes, and damages it the way a power failure does.
import { appendFileSync, closeSync, existsSync, openSync, readSync, statSync } from "node:fs";

const NEWLINE = 10;
/** Longer than any record the bench causes. */
const TAIL_BYTES = 64 * 1024;
const KINDS = ["call.intent", "call.result", "log.repaired", "log.truncated"];

export function sizeOf(log) {
  return existsSync(log) ? statSync(log).size : 0;
}

export function hasTornTail(log) {
  const tail = read(log, Math.max(0, sizeOf(log) - 1));
  return tail.length > 0 && tail[0] !== NEWLINE;
}

/** Begins one more record and does not finish it; false when the log has none to begin like. */
export function tear(log) {
  const tail = read(log, Math.max(0, sizeOf(log) - TAIL_BYTES));
  const lastLine = tail.subarray(tail.lastIndexOf(NEWLINE, tail.length - 2) + 1, -1);
  if (lastLine.length < 2) return false;
  appendFileSync(log, lastLine.subarray(0, 1 + Math.floor(Math.random() * (lastLine.length - 1))));
  return true;
}

/** How many records of each kind follow the byte `from`. */
export function countRecords(log, from) {
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  for (const line of read(log, from).toString("utf8").split("\n").slice(0, -1)) {
    const kind = KINDS.find((candidate) => line.includes(`"kind":"${candidate}"`));
    if (kind !== undefined) counts[kind] += 1;
  }
  return counts;
}

function read(log, from) {
  const length = sizeOf(log) - from;
  if (length <= 0) return Buffer.alloc(0);
  const file = openSync(log, "r");
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, from);
  closeSync(file);
  return bytes;
}
