// Checks an audit log from its first line to its last, in bounded memory, and names the first line that is wrong.
import { createReadStream } from "node:fs";
import { GENESIS, MAX_LINE_BYTES, readLine, type Link } from "./chain.js";
import { readHead } from "./log-head.js";

/** What a check found. */
export interface AuditReport {
  /** Whether every record is intact and none is missing. A torn last line alone is no fault: a crash leaves it. */
  readonly ok: boolean;
  /** Intact records before the first bad line. */
  readonly records: number;
  /** Number of the first bad line, counted from 1. */
  readonly firstBadLine?: number;
  readonly reason?: string;
  /** Bytes of an unfinished last line; the next start of a server cuts them off and says so. */
  readonly tornTail?: number;
}

const NEWLINE = 10;
const TRUNCATED = '"kind":"log.truncated"';

/**
 * Verifies a log and its head file, if there is one.
 *
 * @throws the system's error when the log cannot be read.
 */
export async function verifyAudit(file: string): Promise<AuditReport> {
  const head = readHead(file);
  let last: Link = { seq: 0, hash: GENESIS };
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
    const chunk = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const next = follow(chunk.subarray(start, end), last, head);
      if (typeof next === "string") return bad(last, next);
      last = next;
      start = end + 1;
    }
    rest = chunk.subarray(start);
    if (rest.length > MAX_LINE_BYTES) return bad(last, "the line is longer than any record");
  }
  if (head && head.seq > last.seq) return bad(last, `records ${last.seq + 1} to ${head.seq} were cut off at the end`);
  return { ok: true, records: last.seq, ...(rest.length > 0 ? { tornTail: rest.length } : {}) };
}

/** The place of a line that rightly follows `last`, or what is wrong. */
function follow(line: Buffer, last: Link, head: Link | undefined): Link | string {
  const next = readLine(line);
  if (typeof next === "string") return next;
  if (next.seq !== last.seq + 1)
    return `record ${last.seq + 1} belongs here, not record ${next.seq}: lines are missing, added or moved`;
  if (next.prev !== last.hash) return "the line does not follow the one before it: lines were replaced";
  if (head?.seq === next.seq && head.hash !== next.hash)
    return "the log was rewritten: the head file remembers another record";
  if (line.includes(TRUNCATED) && isTruncation(line)) {
    return "records before this line had been cut off when the server started; if you removed them yourself, remove the log and its .head file";
  }
  return next;
}

function isTruncation(line: Buffer): boolean {
  return (JSON.parse(line.toString("utf8")) as { kind?: unknown }).kind === "log.truncated";
}

function bad(last: Link, reason: string): AuditReport {
  return { ok: false, records: last.seq, firstBadLine: last.seq + 1, reason };
}
