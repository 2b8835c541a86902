// Keeps the token of `serve`: made once, in a file only its owner can read.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { ServeError } from "./serve-error.js";
import { makeFolder } from "../audit/make-folder.js";

/** Nobody guesses 256 bits. */
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** A token and its line end, and room to notice that a file holds something else. */
const MAX_FILE_BYTES = 256;
const OTHERS = 0o077;

/** The token of a file, which is made if there is none. @throws ServeError when the file is not fit to hold a secret */
export function storedToken(file: string): string {
  try {
    return readToken(file) ?? makeToken(file);
  } catch (error) {
    if (error instanceof ServeError) throw error;
    throw new ServeError(`the token file ${file} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** Undefined when there is no file. The checks are made on the open file, which nobody can swap any more. */
function readToken(file: string): string | undefined {
  const descriptor = openExisting(file);
  if (descriptor === undefined) return undefined;
  try {
    checkOwner(file, fs.fstatSync(descriptor));
    const bytes = Buffer.alloc(MAX_FILE_BYTES);
    const token = bytes.toString("latin1", 0, fs.readSync(descriptor, bytes)).trimEnd();
    if (!TOKEN.test(token))
      throw new ServeError(`${file} holds no token: remove it, and the next start makes a new one`);
    return token;
  } finally {
    fs.closeSync(descriptor);
  }
}

function openExisting(file: string): number | undefined {
  try {
    // A link or pipe planted under the name must neither be followed nor waited for. Windows has no such flags, and "or" takes them for 0.
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP") throw new ServeError(`${file} is a link: the token has to be in a file of its own`);
    throw error;
  }
}

function checkOwner(file: string, stats: fs.Stats): void {
  if (!stats.isFile()) throw new ServeError(`${file} is no file: the token cannot be kept there`);
  if (process.platform === "win32") return;
  if (stats.uid !== process.getuid?.())
    throw new ServeError(`${file} belongs to somebody else: remove it, and the next start makes a token of your own`);
  if ((stats.mode & OTHERS) === 0) return;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  throw new ServeError(
    `${file} may be read by others (mode ${mode}), so its token may be known: remove it, and the next start makes a new one`,
  );
}

/** Writes a file of another name and links it to the right one, so that it is whole and of two first starts only one wins. */
function makeToken(file: string): string {
  const folder = dirname(file);
  makeFolder(folder);
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  const descriptor = fs.openSync(draft, "wx", 0o600);
  try {
    fs.writeSync(descriptor, `${token}\n`);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
  return place(draft, file) ? token : (readToken(file) ?? token);
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
