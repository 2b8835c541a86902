// Makes sure that the program to run is the one the policy knows.
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { realpathSync } from "node:fs";
import type { AllowedCommand } from "../policy/commands-policy.js";
import { KeptBytes } from "../sandbox/kept-bytes.js";
import type { Handed, Reach } from "../sandbox/wall.js";
import { RunError } from "./run-error.js";

/** Larger programs are run without a hash, or not at all. */
const MAX_HASHED_BYTES = 256 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** Programs kept, each on disk as it was hashed: more than a policy names with a hash. */
const MAX_KEPT = 16;
/** Seen in every sandbox. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;

/** What the sandbox has to be given for the program to be there. */
export interface Executable {
  readonly reach: readonly Reach[];
  readonly handed: readonly Handed[];
}

/** A program as it was when it was read. */
interface Known {
  /** Which file it was, and when it was changed last. */
  readonly version: string;
  readonly sha256: string;
  readonly bytes: Handed["bytes"];
}

/** By path; who was used longest ago goes first. */
const KNOWN = new Map<string, Known>();

/**
 * With a hash the very bytes that were hashed are what is run: the file may be exchanged meanwhile. They are read once and kept
 * until the file is another one. Without a hash the file is only seen inside. @throws RunError `executable`
 */
export async function checkedExecutable({ executable, sha256 }: AllowedCommand): Promise<Executable> {
  if (sha256 === undefined) return { reach: SYSTEM.test(executable) ? [] : [seen(executable)], handed: [] };
  const known = await programAt(executable);
  if (known.sha256 === sha256)
    return { reach: [], handed: [{ path: executable, bytes: known.bytes, executable: true }] };
  const advice = "If it was updated on purpose, write the new hash into the policy";
  throw new RunError(
    "executable",
    `The program is not the one the policy knows. ${advice}: ${known.sha256}.`,
    "commands.allowed sha256",
  );
}

async function programAt(path: string): Promise<Known> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) throw missing();
  try {
    const version = await versionOf(file);
    const before = KNOWN.get(path);
    const known = before?.version === version ? before : await read(file, version).catch(unkept);
    KNOWN.delete(path);
    // Not remembered when it changed while it was read.
    if ((await versionOf(file)) === version) KNOWN.set(path, known);
    for (const oldest of KNOWN.keys()) if (KNOWN.size > MAX_KEPT) KNOWN.delete(oldest);
    return known;
  } finally {
    await file.close();
  }
}

/** Whoever writes to a file cannot set back the time of its last change. @throws RunError for what is no program */
async function versionOf(file: FileHandle): Promise<string> {
  const stats = await file.stat({ bigint: true });
  if (!stats.isFile() || stats.size > MAX_HASHED_BYTES) throw missing();
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

async function read(file: FileHandle, version: string): Promise<Known> {
  const hash = createHash("sha256");
  const pieces = hashed(file, hash);
  const bytes = process.platform === "linux" ? await KeptBytes.from(pieces) : await joined(pieces);
  return { version, sha256: hash.digest("hex"), bytes };
}

async function joined(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** Its bytes, each counted in; no more than there may be of them, however it grows. */
async function* hashed(file: FileHandle, hash: ReturnType<typeof createHash>): AsyncIterable<Buffer> {
  for (let at = 0; at <= MAX_HASHED_BYTES;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    yield piece;
    at += bytesRead;
  }
}

function seen(executable: string): Reach {
  try {
    return { path: realpathSync(executable), at: executable, access: "read" };
  } catch {
    throw missing();
  }
}

function unkept(error: unknown): never {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown";
  throw new RunError("executable", `The program of this command could not be read and kept (${code}).`);
}

function missing(): RunError {
  return new RunError(
    "executable",
    "The program of this command cannot be read; the policy names it in commands.allowed.",
  );
}
