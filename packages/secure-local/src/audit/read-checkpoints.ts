// Reads the checkpoints of one log, as far as they are signed with the right key.
import * as fs from "node:fs";
import { basename } from "node:path";
import { publicKeyOf, readCheckpoint } from "./checkpoint.js";

export interface Checkpoints {
  /** Number of the last record that was signed for; 0 when none was. */
  readonly last: number;
  /** Hashes of records by their numbers. */
  readonly hashes: ReadonlyMap<number, string>;
}

/** Signatures that are checked, the newest ones: a second's work. An older record cannot change without a newer one. */
const MAX_CHECKED = 10_000;

/** As many checkpoints and more. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What is wrong with the file, in words, when it holds a line that nobody with the key wrote. */
export function readCheckpoints(log: string, given: { file: string; publicKey: string }): Checkpoints | string {
  const { file } = given;
  let text: string;
  try {
    text = endOf(file);
  } catch (error) {
    return `the checkpoints in ${file} cannot be read (${error instanceof Error ? error.message : String(error)})`;
  }
  const key = publicKeyOf(given.publicKey);
  // What stands behind the last newline was cut short by a crash.
  const lines = text.split("\n").slice(0, -1);
  const first = Math.max(0, lines.length - MAX_CHECKED);
  const hashes = new Map<number, string>();
  let last = 0;
  for (let index = first; index < lines.length; index += 1) {
    const line = lines[index] as string;
    // A crash left a torn line here, and the next server went on behind it.
    const checkpoint = readCheckpoint(line, key) ?? readCheckpoint(line.slice(line.lastIndexOf('{"log":')), key);
    if (checkpoint === undefined) return `line ${index + 1} of ${file} is not signed with the key of this log`;
    if (checkpoint.log !== basename(log)) continue;
    hashes.set(checkpoint.seq, checkpoint.hash);
    last = Math.max(last, checkpoint.seq);
  }
  return { last, hashes };
}

/** The end of a file, from the beginning of a line on. */
function endOf(file: string): string {
  const fd = fs.openSync(file, "r");
  try {
    const { size } = fs.fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, MAX_BYTES));
    const read = fs.readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    const text = buffer.toString("utf8", 0, read);
    return size > MAX_BYTES ? text.slice(text.indexOf("\n") + 1) : text;
  } finally {
    fs.closeSync(fd);
  }
}
