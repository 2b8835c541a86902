// Moves the full files of a log to another folder for good, and leaves signed words of it, so that the chain goes on from there.
//
// One line for each file that was moved, in `<log>.archived` and in a copy beside the files themselves: which file, up to which
// record, its digest, where to and when. Each is signed with the key of the checkpoints. Whoever can write the folder of the log,
// and not read the key, can take these words away, but not say them of a file that was removed.
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import * as fs from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { AuditError } from "./audit-event.js";
import type { RecordLink } from "./event-text.js";
import { archivedPath, readBeside, readHead } from "./log-file.js";
import { makeFolder } from "./owned-files.js";

/** What is said of one file; the number and hash are those of its last record. */
export interface ArchivedFile extends RecordLink {
  /** Name of the log's file. */
  readonly log: string;
  readonly file: string;
  /** The hash of the chain's first record, which names the chain. */
  readonly chain: string;
  readonly bytes: number;
  readonly sha256: string;
  /** The folder it was moved to. */
  readonly to: string;
  readonly time: string;
  /** How far the log had come for certain when the file was moved: it cannot be cut off before that. */
  readonly reached: RecordLink;
}

/** What a check of a full file found. */
export interface VerifiedFile extends RecordLink {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

const CHUNK = 1024 * 1024;

/** What is said of archived files, the oldest first, and not judged; nothing where none was. */
export function archivedFiles(log: string): readonly ArchivedFile[] {
  return linesOf(log).flatMap((line) => fileOf(line) ?? []);
}

/** What was signed with the key; in words what is wrong when a line was not. */
export function signedArchives(log: string, publicKey: string): readonly ArchivedFile[] | string {
  const key = createPublicKey(publicKey);
  const found: ArchivedFile[] = [];
  for (const [at, line] of linesOf(log).entries()) {
    const file = signedFile(line, key);
    if (file === undefined)
      return `line ${at + 1} of ${archivedPath(log)} is not signed with the key of this log; bring the archived files back, and remove it`;
    found.push(file);
  }
  return found;
}

function linesOf(log: string): readonly string[] {
  const path = archivedPath(log);
  if (!fs.existsSync(path)) return [];
  const lines = readBeside(path).split("\n");
  // It is replaced in one step, so it is whole.
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function fileOf(line: string): (ArchivedFile & { readonly signature?: unknown }) | undefined {
  try {
    const value = JSON.parse(line) as ArchivedFile;
    const texts = [value.log, value.file, value.chain, value.hash, value.sha256, value.to, value.time];
    const numbers = [value.seq, value.bytes, value.reached.seq];
    const whole = texts.every((text) => typeof text === "string") && typeof value.reached.hash === "string";
    return whole && numbers.every(Number.isSafeInteger) ? value : undefined;
  } catch {
    return undefined;
  }
}

function signedFile(line: string, key: KeyObject): ArchivedFile | undefined {
  const file = fileOf(line);
  if (file === undefined) return undefined;
  const signature = Buffer.from(String(file.signature), "base64");
  return verify(null, Buffer.from(signedText(file)), key, signature) ? file : undefined;
}

function signedText({ log, file, chain, seq, hash, bytes, sha256, to, time, reached }: ArchivedFile): string {
  const what = [log, file, chain, seq, hash, bytes, sha256, to, time, reached.seq, reached.hash];
  return JSON.stringify(["mcp-secure-local audit archive", ...what]);
}

/**
 * Moves the full files of a log, which were verified just now, into a folder. A file is removed once its copy, and the word of it,
 * are on the disk; so whatever ends this in between loses nothing, and doing it again goes on. Resolves to the folder's real name.
 *
 * @throws AuditError for a folder that cannot be taken, or a file that is no longer as it was verified
 */
export async function archiveFiles(
  log: string,
  files: readonly VerifiedFile[],
  { to, key, chain }: { readonly to: string; readonly key: KeyObject; readonly chain: string },
): Promise<string> {
  const folder = folderFor(log, to);
  const before = archivedFiles(log);
  const reached = reachedBy(log, files.at(-1));
  const time = new Date().toISOString();
  const lines: string[] = [];
  for (const { path, seq, hash, bytes, sha256 } of files) {
    await copyInto(path, folder, sha256);
    const file = basename(path);
    if (before.some((each) => each.file === file && each.sha256 === sha256 && each.to === folder)) continue;
    const said = { log: basename(log), file, chain, seq, hash, bytes, sha256, to: folder, time, reached };
    const signature = sign(null, Buffer.from(signedText(said)), key).toString("base64");
    lines.push(JSON.stringify({ ...said, signature }));
  }
  const text = [...linesOf(log), ...lines, ""].join("\n");
  // There first: what lies there is then whole by itself, whatever happens here.
  for (const place of [archivedPath(join(folder, basename(log))), archivedPath(log)]) replaceWhole(place, text);
  for (const { path } of files) fs.rmSync(path);
  syncFolder(dirname(log));
  return folder;
}

/** What is on the disk for certain: a record after the head may still be taken back by the server that wrote it. */
function reachedBy(log: string, last: RecordLink | undefined): RecordLink {
  const head = readHead(log);
  if (head !== undefined && head.seq > (last?.seq ?? 0)) return head;
  return { seq: last?.seq ?? 0, hash: last?.hash ?? "" };
}

/** The folder, by the name the system has for it. */
function folderFor(log: string, to: string): string {
  const folder = madeFolder(resolve(to));
  const wrong = (what: string): AuditError => new AuditError("io", folder, `${what}; name another folder.`);
  if (folder === fs.realpathSync(dirname(log))) throw wrong("the log itself lies there");
  if (fs.existsSync(join(folder, basename(log)))) throw wrong("there is a log of that name there");
  const [theirs, ours] = [linesOf(join(folder, basename(log))), linesOf(log)];
  if (theirs.some((line) => !ours.includes(line))) throw wrong("the archive of another log is there");
  return folder;
}

/** Makes the folder, but not those above it: a path that is misspelt, or a disk that is not mounted, would take the log away. */
function madeFolder(path: string): string {
  const [there, above] = [path, dirname(path)].map((each) => fs.statSync(each, { throwIfNoEntry: false }));
  if (there !== undefined && !there.isDirectory()) throw new AuditError("io", path, "this is a file; name a folder.");
  if (above?.isDirectory() !== true) {
    const advice = "check the spelling, and that its disk is mounted, or make it";
    throw new AuditError("io", path, `there is no folder ${dirname(path)}; ${advice}.`);
  }
  makeFolder(path);
  return fs.realpathSync(path);
}

/** Copies a file durably, under its name when it is whole and as it was verified. One that is there already has to be the same. */
async function copyInto(path: string, folder: string, sha256: string): Promise<void> {
  const place = join(folder, basename(path));
  if (fs.existsSync(place)) {
    if ((await digestOf(place)) === sha256) return;
    throw new AuditError("io", place, "another file of that name is there already; name another folder.");
  }
  const draft = join(folder, `.${basename(path)}.part`);
  const remove = (): void => fs.rmSync(draft, { force: true });
  remove();
  // Ctrl-C ends the process: nothing half-written stays.
  process.once("exit", remove);
  try {
    const copy = await open(draft, "wx", 0o600);
    try {
      if ((await digestOf(path, copy)) !== sha256)
        throw new AuditError("io", path, "it was changed since it was verified, so it stays; verify the log again.");
      await copy.sync();
    } finally {
      await copy.close();
    }
    fs.renameSync(draft, place);
    syncFolder(folder);
  } finally {
    remove();
    process.removeListener("exit", remove);
  }
}

/** In pieces, so that Ctrl-C is heard between them. */
async function digestOf(path: string, copy?: FileHandle): Promise<string> {
  const digest = createHash("sha256");
  const file = await open(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    for await (const piece of file.createReadStream({ autoClose: false, highWaterMark: CHUNK })) {
      digest.update(piece as Buffer);
      await copy?.appendFile(piece as Buffer);
    }
  } finally {
    await file.close();
  }
  return digest.digest("hex");
}

/** Writes a file so that it is there as a whole, before or after. */
export function replaceWhole(path: string, text: string): void {
  const draft = `${path}.new`;
  fs.rmSync(draft, { force: true });
  fs.writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true });
  fs.renameSync(draft, path);
  syncFolder(dirname(path));
}

/** Windows has no such thing. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const fd = fs.openSync(path, "r");
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

// Says which records of a log were archived, and so are not among those that are read with it.

/** Records that lie elsewhere, and the log that they are read with there. */
export interface ArchivedRecords {
  readonly records: number;
  readonly folder: string;
  readonly log: string;
}

/** Which records of the logs lie elsewhere, by folder; what lies beside a log is read with it. */
export function archivedElsewhere(logs: readonly string[]): readonly ArchivedRecords[] {
  return logs.flatMap((log) => {
    const counts = new Map<string, number>();
    let before = 0;
    for (const { file, seq, bytes, to } of toldOf(log)) {
      const records = seq - before;
      before = seq;
      if (!liesBeside(log, { file, bytes, to })) counts.set(to, (counts.get(to) ?? 0) + records);
    }
    return [...counts].map(([to, records]) => ({ records, folder: to, log: join(to, basename(log)) }));
  });
}

/** Whether a log is not here, and files of it were archived to where it would be. */
export function isArchiveOf(log: string): boolean {
  return !fs.existsSync(log) && toldOf(log).some((each) => liesBeside(log, each));
}

/** What cannot be read is told by `audit verify`, and keeps no log from being searched. */
function toldOf(log: string): readonly ArchivedFile[] {
  try {
    return archivedFiles(log);
  } catch {
    return [];
  }
}

/** Where the log is the archive itself, or a file was brought back. */
function liesBeside(log: string, { file, bytes, to }: Pick<ArchivedFile, "file" | "bytes" | "to">): boolean {
  const folder = dirname(log);
  if (fs.existsSync(folder) && fs.realpathSync(folder) === to) return true;
  return fs.statSync(join(folder, file), { throwIfNoEntry: false })?.size === bytes;
}
