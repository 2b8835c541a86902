// Finds the end of an existing log: its last whole record, and how many bytes of a torn one follow.
import { AuditError } from "./audit-error.js";
import { GENESIS, MAX_LINE_BYTES, readLine, type Link } from "./chain.js";
import type { LogFile } from "./log-file.js";

/** The end of a log: the last record, the size up to and including it, and the bytes after it. */
export interface Tail {
  readonly link: Link;
  readonly size: number;
  readonly tornBytes: number;
}

/** Enough for the last record in nearly every log; the read is widened when it is not. */
const FIRST_READ = 64 * 1024;
const NEWLINE = 10;

/**
 * Reads the end of a log.
 *
 * @throws AuditError (`not_ours`) when the last whole line is not an intact record: nothing may be appended to it.
 */
export function readTail(log: LogFile, path: string): Tail {
  const size = log.size();
  for (let length = FIRST_READ; ; length *= 4) {
    const start = Math.max(0, size - length);
    const chunk = log.read(start, size - start);
    const last = chunk.lastIndexOf(NEWLINE);
    const before = last > 0 ? chunk.lastIndexOf(NEWLINE, last - 1) : -1;
    if (before < 0 && start > 0) {
      if (length <= 4 * MAX_LINE_BYTES) continue;
      throw notOurs(path, "it ends in a line longer than any record");
    }
    const tornBytes = chunk.length - (last + 1);
    if (last < 0) return emptyTail(path, chunk);
    const link = readLine(chunk.subarray(before + 1, last));
    if (typeof link === "string") throw notOurs(path, `of its last line: ${link}`);
    return { link, size: size - tornBytes, tornBytes };
  }
}

/** A file without a whole line: empty, or the torn first record of a process that was killed. */
function emptyTail(path: string, chunk: Buffer): Tail {
  const begin = '{"seq":1,"prev":"'.slice(0, chunk.length);
  if (chunk.toString("latin1", 0, begin.length) !== begin) throw notOurs(path, "it does not begin with a record");
  return { link: { seq: 0, hash: GENESIS }, size: 0, tornBytes: chunk.length };
}

function notOurs(path: string, why: string): AuditError {
  const what = `cannot continue this audit log (${why}). Check it with \`mcp-secure-local audit verify\`, then move it away`;
  return new AuditError("not_ours", path, `${what} or name another file in audit.log_file.`);
}
