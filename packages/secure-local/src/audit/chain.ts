// Seals records into a chain: each line carries the hash of the line before and, last, the hash of its own bytes.
//
//   {"seq":7,"prev":"<hash of line 6>","time":"…","kind":"…",…,"hash":"<sha-256 of all bytes before ,\"hash\">"}
//
// Whoever edits, removes, inserts or moves a line breaks the chain at that line. What the chain alone cannot show is
// that whole lines were cut off at the end: for that see `log-head.ts`.
import { hash } from "node:crypto";

/** The `prev` of the first line of a file. */
export const GENESIS: string = "0".repeat(64);

/** The place of a record in its file: its number, counted from 1, and its hash. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

const PREFIX = /^\{"seq":([1-9][0-9]{0,15}),"prev":"([0-9a-f]{64})","time":"/;
const SUFFIX = /^,"hash":"([0-9a-f]{64})"\}$/;
const SUFFIX_LENGTH = ',"hash":""}'.length + 64;
/** Longer than any line the limits of a record allow, each character written as an escape included. */
export const MAX_LINE_BYTES: number = 1024 * 1024;

/** The bytes of a record before its hash. */
export function lineBody(seq: number, prev: string, fields: string): string {
  return `{"seq":${seq},"prev":"${prev}","time":"${isoTime(Date.now())}"${fields}`;
}

/** Hash of a body, as 64 hexadecimal digits. */
export function bodyHash(body: string | Buffer): string {
  return hash("sha256", body, "hex");
}

/** What ends the line of a body that has this hash, its newline included. */
export function sealText(digest: string): string {
  return `,"hash":"${digest}"}\n`;
}

/** Reads one line (without its newline). Returns its place and the hash it claims to follow, or what is wrong with it. */
export function readLine(line: Buffer): (Link & { readonly prev: string }) | string {
  const end = line.length - SUFFIX_LENGTH;
  if (end <= 0) return "the line is not a record of this program";
  const suffix = SUFFIX.exec(line.toString("latin1", end));
  const prefix = PREFIX.exec(line.toString("latin1", 0, Math.min(end, 128)));
  if (suffix?.[1] === undefined || prefix?.[2] === undefined) return "the line is not a record of this program";
  if (bodyHash(line.subarray(0, end)) !== suffix[1]) return "the line was changed: its hash does not fit its text";
  return { seq: Number(prefix[1]), prev: prefix[2], hash: suffix[1] };
}

let lastTime = 0;
let lastText = "";

/** Most records of a burst fall into one millisecond, and the text of a date costs as much as the rest of a line. */
function isoTime(now: number): string {
  if (now !== lastTime) {
    lastTime = now;
    lastText = utcText(new Date(now));
  }
  return lastText;
}

/** As `toISOString` until the year 9999. That one has V8 load the time zones of the world: 0.8 MB for the life of a server. */
function utcText(time: Date): string {
  const day = `${time.getUTCFullYear()}-${digits(time.getUTCMonth() + 1, 2)}-${digits(time.getUTCDate(), 2)}`;
  const clock = [time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds()].map((part) => digits(part, 2));
  return `${day}T${clock.join(":")}.${digits(time.getUTCMilliseconds(), 3)}Z`;
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, "0");
}
