// Checks an audit log with all its full files from the first line to the last, in bounded memory, and names the first line that is wrong.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { createReadStream, existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { type ArchivedFile, signedArchives, type VerifiedFile } from "./archive.js";
import { GENESIS, lineBegin, type RecordLink, MAX_LINE_BYTES, readLine } from "./event-text.js";
import {
  archivedPath,
  archivesOf,
  journalledAfter,
  linesOf,
  lookAtHead,
  lookAtJournal,
  newestRound,
} from "./log-file.js";
import { type Checkpoint, publicKeyOf, readCheckpoint } from "./checkpoint.js";
import { openAtOnce, WrongKindError } from "./owned-files.js";
import { type Restored, signedRestores } from "./restored.js";

/** What a check found. */
interface AuditReport {
  /** Whether every record is intact and none is missing. A torn last line alone is no fault: a crash leaves it. */
  readonly ok: boolean;
  /** Intact records that were read before the first bad line. */
  readonly records: number;
  /** The archived file after which the log goes on, where its beginning was archived. */
  readonly continues?: ArchivedFile;
  /** The last file in each other folder to which files before that were archived, the newest first. */
  readonly earlierArchives?: readonly ArchivedFile[];
  /** The folder is not the log's own: it is where files were archived to, and this is the number of the last record there. */
  readonly archive?: number;
  /** The full files that were read, with the hash of the chain's first record; where they were asked for. */
  readonly full?: { readonly files: readonly VerifiedFile[]; readonly chain: string };
  /** Files that were read, the full ones included; absent when there is only one. */
  readonly files?: number;
  /** Signed checkpoints that agree with the log; undefined when none were asked for. */
  readonly checkpoints?: number;
  /** Which of the records those signed, counted from 1, the newest of them; where they were asked for. */
  readonly signed?: readonly number[];
  /** The full file with the first bad line; absent when that is the log itself. */
  readonly badFile?: string;
  /** Number of the first bad line in its file, counted from 1. */
  readonly firstBadLine?: number;
  readonly reason?: string;
  /** Of what is not in order: nothing was found to be changed, but something that has to be read could not be. */
  readonly unread?: true;
  /** Bytes of an unfinished last line; the next start of a server cuts them off and says so. */
  readonly tornTail?: number;
  /** Records that a power failure took from the log and its journal has; the next start puts them back. */
  readonly inJournal?: number;
  /** The restores that were accepted: what was recorded between is lost for good. */
  readonly restored?: readonly Restored[];
  /** Of a fault that a copy of an earlier time, put back, leaves too: its last record, and how far the log had come. */
  readonly earlier?: RecordLink & { readonly known: number };
}

export interface VerifyOptions {
  /** The file with the checkpoints of this log, and the public key they are signed with, in PEM. */
  readonly checkpoints?: { readonly file: string; readonly publicKey: string } | undefined;
  /** Hashes of records by their numbers, as other processes remember them. */
  readonly witnesses?: ReadonlyMap<number, string>;
  /** How words of archived files are judged: by this key, in PEM, which lies in that file and may be missing. */
  readonly archives?: { readonly publicKey: string | undefined; readonly keyFile: string } | undefined;
  /** The log was named: it may be one that was archived, which goes no further than that. */
  readonly named?: boolean;
  /** Find out what the full files are, too. */
  readonly full?: boolean;
  /** Name the records that checkpoints signed. */
  readonly signed?: boolean;
  /** Judge as if this restore had been accepted. */
  readonly supposed?: Restored;
}

const NEWLINE = 10;
/** Checkpoints that are named: more than anybody tells apart in a picture. */
const MAX_SIGNED = 100;
const NONE: ReadonlyMap<number, string> = new Map();
const TRUNCATED = '"kind":"log.truncated"';

/**
 * Verifies a log with its full files, its head file, its journal, its checkpoints and the words of what was archived, if there are such.
 *
 * @throws the system's error when a file cannot be read.
 */
export async function verifyAudit(file: string, options: VerifyOptions = {}): Promise<AuditReport> {
  const said = signedRestores(file, options.archives?.publicKey);
  if (typeof said === "string") return { ok: false, records: 0, reason: said };
  const restored = options.supposed === undefined ? said : [...said, options.supposed];
  const newest = options.checkpoints && readCheckpoints(file, options.checkpoints, restored);
  if (newest !== undefined && "reason" in newest) return { ok: false, records: 0, ...newest };
  const checkpoints = newest && (await withOlder(file, newest, { ...options, restored }));
  const archived = readArchived(file, options.archives);
  if (typeof archived === "string") return { ok: false, records: 0, reason: archived };
  const { head, fault: headFault, unread: headUnread } = lookAtHead(file);
  // What lies in the place of a head, or of a log that is remembered, was put there: a change, whether it can be read or not.
  const isHeadChanged = headFault !== undefined && headUnread !== true;
  const { witnesses = NONE } = options;
  const place = options.named === true ? archivePlace(file, archived) : undefined;
  // Before the log, which a server may be writing: whatever is in its journal is in the log already.
  const { content: journal, fault, unread } = lookAtJournal(file);
  if (fault !== undefined) return { ok: false, records: 0, reason: fault, ...(!isHeadChanged && unread && { unread }) };
  const round = newestRound(journal);
  const walk = new Walk(file, head, {
    checkpoints,
    witnesses,
    archived,
    place,
    round,
    restored,
    full: options.full === true,
    signed: options.signed === true,
  });
  const archives = archivesOf(file);
  // A server that was killed while it put a file away has not begun the next one; and a log that its head file, a checkpoint or
  // the word of what was archived remembers was taken away.
  const known = Math.max(head?.seq ?? 0, checkpoints?.last ?? 0, archived.length, witnesses.size);
  const isRemembered = archives.length > 0 || known > 0 || headFault !== undefined || options.supposed !== undefined;
  const files = isRemembered && !existsSync(file) ? archives : [...archives, file];
  const report = (await walk.readAll(files)) ?? walk.conclude(journal);
  const { unread: logUnread, ...found } = report;
  if (!report.ok) return logUnread && !isHeadChanged && known === 0 && archives.length === 0 ? report : found;
  if (headFault === undefined) return report;
  const advice = "put it right, or compare the log with a copy of yours, then move the head file away";
  return { ok: false, records: report.records, reason: `${headFault}; ${advice}`, ...(headUnread && { unread: true }) };
}

/** In words what is wrong with what is said of archived files. Without the key a log that has all its files needs none of it. */
function readArchived(log: string, archives: VerifyOptions["archives"]): readonly ArchivedFile[] | string {
  if (!existsSync(archivedPath(log))) return [];
  if (archives?.publicKey !== undefined) return signedArchives(log, archives.publicKey);
  const where = archives === undefined ? "" : ` at ${archives.keyFile}; copy it there`;
  const first = firstLine([...archivesOf(log), log].find((each) => existsSync(each)));
  if (first !== undefined && first.seq <= 1) return [];
  return `${archivedPath(log)} says what was archived, and there is no public key to check that with${where}`;
}

function firstLine(file: string | undefined): RecordLink | undefined {
  if (file === undefined) return undefined;
  const fd = openAtOnce(file);
  try {
    const buffer = Buffer.alloc(MAX_LINE_BYTES);
    const text = buffer.subarray(0, fs.readSync(fd, buffer, 0, buffer.length, 0));
    const line = readLine(text.subarray(0, Math.max(0, text.indexOf(NEWLINE))));
    return typeof line === "string" ? undefined : line;
  } finally {
    fs.closeSync(fd);
  }
}

/** The last of the files that were archived to where this log lies. Who signed for that is not whoever can write there. */
function archivePlace(log: string, archived: readonly ArchivedFile[]): ArchivedFile | undefined {
  if (archived.length === 0 || existsSync(log)) return undefined;
  const folder = fs.realpathSync(dirname(log));
  return archived.findLast(({ to }) => to === folder);
}

/** The way through the files, and where it is. */
class Walk {
  readonly #log: string;
  readonly #head: RecordLink | undefined;
  readonly #checkpoints: Checkpoints | undefined;
  readonly #witnesses: ReadonlyMap<number, string>;
  readonly #archived: ReadonlyMap<number, ArchivedFile>;
  /** Hashes of records by their numbers, as they were when files were archived. */
  readonly #remembered = new Map<number, string>();
  /** Hashes of the records that the journal holds, by their numbers. */
  readonly #round: ReadonlyMap<number, string>;
  readonly #place: ArchivedFile | undefined;
  readonly #full: VerifiedFile[] | undefined;
  /** The record before the first that is read, in a file that was archived. */
  #before: ArchivedFile | undefined;
  #chain = "";
  #last: RecordLink = { seq: 0, hash: GENESIS };
  #file = "";
  #line = 0;
  #files = 0;
  #agreed = 0;
  readonly #signed: number[] | undefined;
  readonly #restored: readonly Restored[];
  /** The last record that a checkpoint agreed with. */
  #sure: RecordLink = { seq: 0, hash: GENESIS };
  #torn = 0;
  #copy: AuditReport["earlier"];

  constructor(
    log: string,
    head: RecordLink | undefined,
    others: {
      readonly checkpoints: Checkpoints | undefined;
      readonly witnesses: ReadonlyMap<number, string>;
      readonly archived: readonly ArchivedFile[];
      readonly place: ArchivedFile | undefined;
      readonly round: readonly RecordLink[];
      readonly restored: readonly Restored[];
      readonly full: boolean;
      readonly signed: boolean;
    },
  ) {
    this.#log = log;
    this.#head = head;
    this.#checkpoints = others.checkpoints;
    this.#witnesses = others.witnesses;
    this.#archived = new Map(others.archived.map((each) => [each.seq, each]));
    for (const { seq, hash, reached } of others.archived)
      this.#remembered.set(seq, hash).set(reached.seq, reached.hash);
    this.#restored = others.restored;
    // A later one may have been of a copy from before an earlier one.
    for (const { seq, hash, time } of others.restored)
      if (!wasLost(others.restored, seq, time)) this.#remembered.set(seq, hash);
    this.#place = others.place;
    this.#round = new Map(others.round.map(({ seq, hash }) => [seq, hash]));
    this.#full = others.full ? [] : undefined;
    this.#signed = others.signed ? [] : undefined;
  }

  /** Undefined when all files are in order. */
  async readAll(files: readonly string[]): Promise<AuditReport | undefined> {
    for (const file of files) {
      const report = await this.read(file, file === files.at(-1));
      if (report !== undefined) return report;
    }
    return undefined;
  }

  /** Undefined when the file is in order. */
  async read(file: string, isLast: boolean): Promise<AuditReport | undefined> {
    this.#file = file;
    this.#line = 0;
    this.#files += 1;
    let rest: Buffer = Buffer.alloc(0);
    const fd = fdOf(file);
    if (typeof fd !== "number") return this.#unread(fd);
    const digest = this.#full === undefined || file === this.#log ? undefined : createHash("sha256");
    let bytes = 0;
    for await (const piece of createReadStream(file, { fd }) as AsyncIterable<Buffer>) {
      digest?.update(piece);
      bytes += piece.length;
      const chunk = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        const fault = this.#step(chunk.subarray(start, end));
        if (fault !== undefined) return this.#bad(fault);
        start = end + 1;
      }
      rest = chunk.subarray(start);
      if (rest.length > MAX_LINE_BYTES) return this.#bad("the line is longer than any record");
    }
    if (rest.length > 0 && !isLast) return this.#bad("the line was cut short, in a file that was full");
    if (rest.length > 0 && this.#isAdded(rest))
      return this.#bad("what stands behind the last record is no part of one");
    this.#torn = rest.length;
    if (digest !== undefined) this.#full?.push({ path: file, bytes, sha256: digest.digest("hex"), ...this.#last });
    return undefined;
  }

  /** A crash leaves the beginning of the next record, in which a power failure may leave zeros: nothing else. */
  #isAdded(rest: Buffer): boolean {
    // Which record is the next one nobody knows yet.
    if (this.#last.seq === 0 && this.#archived.size > 0) return false;
    const begun = Buffer.from(lineBegin(this.#last.seq + 1, this.#last.hash));
    return rest.subarray(0, begun.length).some((byte, at) => byte !== 0 && byte !== begun[at]);
  }

  conclude(journal: Buffer): AuditReport {
    // A log that was begun anew just now has no record yet.
    if (this.#last.seq === 0 && existsSync(this.#log)) this.#goOnAfter([...this.#archived.values()].at(-1));
    const last = this.#last;
    const known = this.#place?.seq ?? this.#known();
    const { records: inJournal, link } = journalledAfter(journal, last);
    // What the journal still has is not lost.
    const signed = this.#checkpoints?.last ?? 0;
    if (this.#files === 0 && signed > 0 && signed === known) {
      const { firstBadLine: _, ...missing } = this.#bad(missingLog(this.#log, known), { ...last, known });
      return missing;
    }
    if (known > link.seq) {
      const [is, was] = [recordsWith(link.seq + 1, known, "is"), recordsWith(link.seq + 1, known, "was")];
      const what = existsSync(this.#log)
        ? `${was} cut off at the end`
        : `${is} gone with the log, which was moved or removed; put it back`;
      return this.#bad(what, { ...last, known });
    }
    return {
      ok: true,
      records: last.seq - (this.#before?.seq ?? 0),
      ...this.#count,
      ...(this.#before === undefined ? {} : { continues: this.#before, ...this.#elsewhere(this.#before) }),
      ...(this.#place === undefined ? {} : { archive: this.#place.seq }),
      ...(this.#full === undefined ? {} : { full: { files: this.#full, chain: this.#before?.chain ?? this.#chain } }),
      ...this.#agreement,
      ...(this.#torn > 0 ? { tornTail: this.#torn } : {}),
      ...(inJournal > 0 ? { inJournal } : {}),
      ...(this.#restored.length > 0 ? { restored: this.#restored } : {}),
    };
  }

  /** How far this log has come for certain, by whatever remembers it. */
  #known(): number {
    let known = Math.max(this.#head?.seq ?? 0, this.#checkpoints?.last ?? 0);
    for (const seq of this.#witnesses.keys()) if (!this.#isLost(seq)) known = Math.max(known, seq);
    for (const seq of this.#round.keys()) known = Math.max(known, seq);
    for (const seq of this.#remembered.keys()) known = Math.max(known, seq);
    return known;
  }

  #goOnAfter(archived: ArchivedFile | undefined): void {
    if (archived === undefined) return;
    this.#before = archived;
    this.#last = { seq: archived.seq, hash: archived.hash };
  }

  /** Files of one log may have gone to several folders, one after the other. */
  #elsewhere({ seq, to }: ArchivedFile): Pick<AuditReport, "earlierArchives"> {
    const last = new Map<string, ArchivedFile>();
    for (const each of this.#archived.values()) if (each.seq < seq && each.to !== to) last.set(each.to, each);
    return last.size === 0 ? {} : { earlierArchives: [...last.values()].sort((one, other) => other.seq - one.seq) };
  }

  /** The first line of all may go on after a file that was archived. */
  #begin(line: Buffer): string | undefined {
    const first = readLine(line);
    if (typeof first === "string" || first.seq <= 1) return undefined;
    const before = this.#archived.get(first.seq - 1);
    this.#goOnAfter(before);
    // Where this very folder is said to have it, the file was taken out of it.
    if (before?.to === fs.realpathSync(dirname(this.#log)))
      return `record ${first.seq} does not begin the archive: ${before.file} is missing, which was archived here with records up to ${before.seq}; put it back`;
    if (before !== undefined) return undefined;
    return `record 1 belongs here, not record ${first.seq}: lines are missing, added or moved; full files that were moved away belong back here, and mcp-secure-local audit archive moves them`;
  }

  #step(line: Buffer): string | undefined {
    const wrong = this.#last.seq === 0 ? this.#begin(line) : undefined;
    if (wrong !== undefined) return wrong;
    const next = follow(line, this.#last, this.#head);
    if (typeof next === "string") return next;
    if (line.includes(TRUNCATED)) {
      const expected = truncation(line, this.#restored);
      if (expected !== undefined) return this.#earlier(CUT_BEFORE, this.#last, expected);
    }
    if (next.seq === 1) this.#chain = next.hash;
    const then = this.#remembered.get(next.seq);
    if (then !== undefined && then !== next.hash)
      return "the log was rewritten: it had another record when files of it were archived";
    const signed = this.#checkpoints?.hashes.get(next.seq);
    if (signed !== undefined && signed !== next.hash)
      return this.#earlier("the log was rewritten: a signed checkpoint remembers another record", this.#sure);
    const seen = this.#witnesses.get(next.seq);
    if (seen !== undefined && seen !== next.hash && !this.#isLost(next.seq))
      return "the log was rewritten: another process remembers another record";
    const journalled = this.#round.get(next.seq);
    if (journalled !== undefined && journalled !== next.hash)
      return "the log or its journal was rewritten: the journal has another record";
    if (signed !== undefined) this.#agree(next);
    this.#last = next;
    this.#line += 1;
    return undefined;
  }

  /** A fault that the copy of an earlier time leaves, too: it went up to `last`. */
  #earlier(reason: string, { seq, hash }: RecordLink, expected = 0): string {
    this.#copy = { seq, hash, known: Math.max(expected, this.#head?.seq ?? 0, this.#checkpoints?.last ?? 0) };
    return reason;
  }

  #isLost(seq: number): boolean {
    return this.#restored.some((each) => seq > each.seq && seq <= each.known);
  }

  #agree({ seq, hash }: RecordLink): void {
    this.#sure = { seq, hash };
    this.#agreed += 1;
    this.#signed?.push(seq - (this.#before?.seq ?? 0));
    if (this.#signed !== undefined && this.#signed.length > MAX_SIGNED) this.#signed.shift();
  }

  get #agreement(): Pick<AuditReport, "checkpoints" | "signed"> {
    if (this.#checkpoints === undefined) return {};
    return { checkpoints: this.#agreed, ...(this.#signed === undefined ? {} : { signed: this.#signed }) };
  }

  get #count(): { readonly files?: number } {
    return this.#files > 1 ? { files: this.#files } : {};
  }

  #unread(reason: string): AuditReport {
    const { firstBadLine: _, ...report } = this.#bad(reason, undefined);
    return { ...report, unread: true };
  }

  #bad(reason: string, earlier: AuditReport["earlier"] = this.#copy): AuditReport {
    const file = this.#file === this.#log || this.#file === "" ? {} : { badFile: this.#file };
    const records = this.#last.seq - (this.#before?.seq ?? 0);
    return {
      ok: false,
      records,
      ...this.#agreement,
      ...this.#count,
      ...file,
      firstBadLine: this.#line + 1,
      reason,
      ...(earlier === undefined ? {} : { earlier }),
    };
  }
}

/** The open file, or why it is none: of a pipe nobody knows when its text comes, or whether. Throws the system's error. */
function fdOf(file: string): number | string {
  try {
    return openAtOnce(file);
  } catch (error) {
    if (error instanceof WrongKindError) return `it is ${error.what}; put the log there, or name another`;
    throw error;
  }
}

/** The place of a line that rightly follows `last`, or what is wrong. */
function follow(line: Buffer, last: RecordLink, head: RecordLink | undefined): RecordLink | string {
  const next = readLine(line);
  if (typeof next === "string") return next;
  if (next.seq !== last.seq + 1)
    return `record ${last.seq + 1} belongs here, not record ${next.seq}: lines are missing, added or moved`;
  if (next.prev !== last.hash) return "the line does not follow the one before it: lines were replaced";
  if (head?.seq === next.seq && head.hash !== next.hash)
    return "the log was rewritten: the head file remembers another record";
  return next;
}

const CUT_BEFORE =
  "records before this line had been cut off, or the journal exchanged, when the server started; if you removed them yourself, remove the log, its .head and its .journal file; if you put back a copy of an earlier time, see audit restored";

/** How far the log had come before its end was cut off, as the record says that this line is; undefined where it says none, or was accepted. */
function truncation(line: Buffer, restored: readonly Restored[]): number | undefined {
  const { kind, seq, time, detail } = JSON.parse(line.toString("utf8")) as Record<string, unknown>;
  if (kind !== "log.truncated" || wasLost(restored, Number(seq), String(time))) return undefined;
  return Number((detail as { readonly expected?: unknown } | undefined)?.expected) || 0;
}

/** Whether something was said of a record before that was accepted as lost. */
function wasLost(restored: readonly Restored[], seq: number, time: string): boolean {
  return restored.some((each) => seq > each.seq && time < each.time);
}

// Reads the checkpoints of one log, as far as they are signed with the right key.

interface Checkpoints {
  /** Number of the last record that was signed for; 0 when none was. */
  readonly last: number;
  /** Hashes of records by their numbers. */
  readonly hashes: ReadonlyMap<number, string>;
}

/** Signatures that are checked, the newest ones: a second's work. An older record cannot change without a newer one. */
const MAX_CHECKED = 10_000;

/** As many checkpoints and more. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What is wrong with the file, in words, when it cannot be read or holds a line that nobody with the key wrote. */
function readCheckpoints(
  log: string,
  given: { file: string; publicKey: string },
  restored: readonly Restored[],
): Checkpoints | { readonly reason: string; readonly unread?: true } {
  const { file } = given;
  let text: string;
  try {
    text = endOf(file);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { reason: `the checkpoints in ${file} cannot be read (${why})`, unread: true };
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
    if (checkpoint === undefined)
      return { reason: `line ${index + 1} of ${file} is not signed with the key of this log` };
    if (checkpoint.log !== basename(log) || wasLost(restored, checkpoint.seq, checkpoint.time)) continue;
    // A server that went on with a log that was cut off signs for other records of the same numbers: the first word holds.
    if (!hashes.has(checkpoint.seq)) hashes.set(checkpoint.seq, checkpoint.hash);
    last = Math.max(last, checkpoint.seq);
  }
  return { last, hashes };
}

/** What checkpoints remember of a log that is gone. */
export function missingLog(log: string, known: number): string {
  return `${basename(log)} is missing: checkpoints remember it up to record ${known}`;
}

/** A log that is gone may have ended long before the newest checkpoints, which are of others. */
async function withOlder(
  log: string,
  newest: Checkpoints,
  { checkpoints: given, restored }: Pick<VerifyOptions, "checkpoints"> & { readonly restored: readonly Restored[] },
): Promise<Checkpoints> {
  if (given === undefined || newest.last > 0 || existsSync(log)) return newest;
  const last = (await checkpointedLogs(given)).get(basename(log));
  if (last === undefined || wasLost(restored, last.seq, last.time)) return newest;
  return { last: last.seq, hashes: new Map([[last.seq, last.hash]]) };
}

/** The last checkpoint of each log that a file has one of, by the log's name. One that cannot be read is told by the check of a log. */
export async function checkpointedLogs(
  given: NonNullable<VerifyOptions["checkpoints"]>,
): Promise<ReadonlyMap<string, Checkpoint>> {
  const found = new Map<string, Checkpoint>();
  const key = publicKeyOf(given.publicKey);
  for (const [name, lines] of await lastLines(given.file)) {
    // A line that somebody without the key wrote behind the last one hides none of those before it.
    const signed = lines.map((line) => readCheckpoint(line, key)).filter((each) => each !== undefined);
    const last = signed.reduce<Checkpoint | undefined>(
      (one, each) => (one && one.seq > each.seq ? one : each),
      undefined,
    );
    if (last !== undefined) found.set(name, last);
  }
  return found;
}

/** Lines of one log that are looked at: what was written behind a signed one by somebody else is a fault of its own. */
const LAST_LINES = 16;
/** More than a folder has logs, and those of other policies that write into the same file. */
const MAX_NAMES = 1_024;
const LOG_NAME = /\{"log":"([^"\\]{1,255})",[^{}]*\}$/;

/** The last lines of each log, by its name, read in bounded memory. */
async function lastLines(file: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  try {
    for await (const line of linesOf(file)) {
      const [text, name] = LOG_NAME.exec(line) ?? [];
      if (text === undefined || name === undefined) continue;
      const lines = found.get(name) ?? [];
      if (lines.length === 0 && found.size >= MAX_NAMES) continue;
      lines.push(text);
      if (lines.length > LAST_LINES) lines.shift();
      found.set(name, lines);
    }
  } catch {
    // That it cannot be read is told by the check of a log.
  }
  return found;
}

/** The end of a file, from the beginning of a line on. */
function endOf(file: string): string {
  const fd = openAtOnce(file);
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

const OF_MANY = { is: "are", was: "were" } as const;

/** One record, or those from one to another, with the verb that belongs to them. */
export function recordsWith(from: number, to: number, verb: keyof typeof OF_MANY): string {
  return from === to ? `record ${from} ${verb}` : `records ${from} to ${to} ${OF_MANY[verb]}`;
}
