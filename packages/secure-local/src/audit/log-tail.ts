// Finds the end of an existing log: its last whole record, and how many bytes of a torn one follow.
import { AuditError } from "./audit-error.js";
import { GENESIS, MAX_LINE_BYTES, readLine, type Link } from "./chain.js";
import * as fs from "node:fs";
import { archivesOf } from "./log-archive.js";
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

type Readable = Pick<LogFile, "size" | "read">;

/**
 * Reads the end of a log; where it has no whole record yet, the chain goes on from the newest of its full files.
 *
 * @throws AuditError (`not_ours`) when the last whole line is not an intact record: nothing may be appended to it.
 */
export function readTail(log: Readable, path: string): Tail {
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
  const begin = '{"seq":'.slice(0, chunk.length);
  if (chunk.toString("latin1", 0, begin.length) !== begin) throw notOurs(path, "it does not begin with a record");
  const newest = archivesOf(path).at(-1);
  const link = newest === undefined ? { seq: 0, hash: GENESIS } : lastOf(newest);
  return { link, size: 0, tornBytes: chunk.length };
}

/** The last record of a full file, which was whole when it was put away. */
function lastOf(archive: string): Link {
  const fd = fs.openSync(archive, "r");
  try {
    const { size } = fs.fstatSync(fd);
    const read = (position: number, length: number): Buffer => {
      const buffer = Buffer.alloc(length);
      return buffer.subarray(0, fs.readSync(fd, buffer, 0, length, position));
    };
    const { link, tornBytes } = readTail({ size: () => size, read }, archive);
    if (tornBytes > 0) throw notOurs(archive, "its last line is torn");
    return link;
  } finally {
    fs.closeSync(fd);
  }
}

function notOurs(path: string, why: string): AuditError {
  const what = `cannot continue this audit log (${why}). Check it with \`mcp-secure-local audit verify\`, then move it away`;
  return new AuditError("not_ours", path, `${what} or name another file in audit.log_file.`);
}
