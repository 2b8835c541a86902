// Keeps the secrets of `serve`, its token and the key that processes share: made once, in files only their owner can read.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "./command-line.js";
import { makeFolder } from "../audit/make-folder.js";

/** Nobody guesses 256 bits. */
const SECRET_BYTES = 32;
/** Room for some keys, and to notice that a file holds something else. */
const MAX_FILE_BYTES = 1024;
const OTHERS = 0o077;

interface SecretKind {
  readonly noun: string;
  readonly pattern: RegExp;
  readonly encoding: "base64" | "base64url";
  /** Lines of a file, each a secret. */
  readonly most: number;
}

const TOKEN: SecretKind = { noun: "token", pattern: /^[A-Za-z0-9_-]{43}$/, encoding: "base64url", most: 1 };
const SHARE_KEY: SecretKind = { noun: "key", pattern: /^[A-Za-z0-9+/]{43}=$/, encoding: "base64", most: 4 };

/** The token of a file, which is made if there is none. @throws UsageError when the file is not fit to hold a secret */
export function storedToken(file: string): string {
  return storedSecrets(file, TOKEN)[0] as string;
}

/**
 * The keys of a file, one a line, of which one is made if there is none. While keys are changed it holds several: the first is
 * used, all are accepted. @throws UsageError when the file is not fit to hold a secret
 */
export function storedShareKeys(file: string): readonly string[] {
  return storedSecrets(file, SHARE_KEY);
}

function storedSecrets(file: string, kind: SecretKind): readonly string[] {
  try {
    return readSecrets(file, kind) ?? [makeSecret(file, kind)];
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `the ${kind.noun} file ${file} cannot be used (${(error as Error).message}); see to its rights, or remove it`,
      { cause: error },
    );
  }
}

/** Undefined when there is no file. The checks are made on the open file, which nobody can swap any more. */
function readSecrets(file: string, kind: SecretKind): readonly string[] | undefined {
  const { noun, pattern, most } = kind;
  const descriptor = openExisting(file, noun);
  if (descriptor === undefined) return undefined;
  try {
    checkOwner(file, fs.fstatSync(descriptor), noun);
    const bytes = Buffer.alloc(MAX_FILE_BYTES);
    const lines = bytes.toString("latin1", 0, fs.readSync(descriptor, bytes)).trimEnd().split(/\r?\n/);
    if (lines.length > most || !lines.every((line) => pattern.test(line)))
      throw new UsageError(`${file} holds no ${noun}: remove it, and the next start makes a new one`);
    return lines;
  } finally {
    fs.closeSync(descriptor);
  }
}

function openExisting(file: string, noun: string): number | undefined {
  try {
    // A link or pipe planted under the name must neither be followed nor waited for. Windows has no such flags, and "or" takes them for 0.
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP")
      throw new UsageError(
        `${file} is a link, and the ${noun} has to be in a file of its own: remove it, and the next start makes one`,
      );
    throw error;
  }
}

function checkOwner(file: string, stats: fs.Stats, noun: string): void {
  if (!stats.isFile())
    throw new UsageError(
      `${file} is no file, so the ${noun} cannot be kept there: remove it, and the next start makes one`,
    );
  if (process.platform === "win32") return;
  if (stats.uid !== process.getuid?.())
    throw new UsageError(`${file} belongs to somebody else: remove it, and the next start makes a ${noun} of your own`);
  if ((stats.mode & OTHERS) === 0) return;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  throw new UsageError(
    `${file} may be read by others (mode ${mode}), so its ${noun} may be known: remove it, and the next start makes a new one`,
  );
}

/** Writes a file of another name and links it to the right one, so that it is whole and of two first starts only one wins. */
function makeSecret(file: string, kind: SecretKind): string {
  const folder = dirname(file);
  makeFolder(folder);
  const secret = randomBytes(SECRET_BYTES).toString(kind.encoding);
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  const descriptor = fs.openSync(draft, "wx", 0o600);
  try {
    fs.writeSync(descriptor, `${secret}\n`);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
  return place(draft, file) ? secret : (readSecrets(file, kind)?.[0] ?? secret);
}

/** False when another start was faster. */
function place(draft: string, file: string): boolean {
  try {
    fs.linkSync(draft, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    // Some file systems have no links.
    fs.renameSync(draft, file);
    return true;
  } finally {
    fs.rmSync(draft, { force: true });
  }
  return true;
}
