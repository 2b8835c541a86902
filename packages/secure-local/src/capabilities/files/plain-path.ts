// Turns the path or file: URI somebody gave into a plain absolute path, or says why that cannot be done; knows the
// roots of paths, and their bytes.
import { Buffer } from "node:buffer";
import * as fs from "node:fs";
import { posix } from "node:path";
import { exactText } from "../../sandbox/exact-text.js";
import { FileError } from "./files.js";

/** As most kernels have it. */
const LONGEST_PATH = 4_096;
const LONGEST_NAME = 255;
const LONE_SURROGATE = /[\ud800-\udfff]/u;
/** What Linux appends to the path of an open file that has no name any more: such a name could not be told from it. */
const DELETED = / \(deleted\)\/?$/;
/** Names Windows gives to devices in every folder. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$/i;

/**
 * Without `.`, `..`, doubled and trailing slashes. Nothing is expanded or decoded: `~`, `%2e` and `$HOME` are names like
 * any other.
 * @throws FileError `bad-path`
 */
export function plainPath(given: string, platform: NodeJS.Platform = process.platform): string {
  const wrong = (why: string): FileError => new FileError("bad-path", `${JSON.stringify(given.slice(0, 200))} ${why}.`);
  if (given.includes("\0")) throw wrong("has a NUL character, which no path can hold");
  if (given.length > LONGEST_PATH) throw wrong(`is longer than ${LONGEST_PATH} characters`);
  if (given.split(/[/\\]/).some((name) => name.length > LONGEST_NAME)) throw wrong("has a name that is too long");
  if (LONE_SURROGATE.test(given)) throw wrong("is no valid Unicode");
  const slashed = platform === "win32" ? given.replaceAll("\\", "/") : given;
  const absolute = platform === "win32" ? /^[A-Za-z]:\//.test(slashed) : slashed.startsWith("/");
  if (!absolute) throw wrong("is not an absolute path; begin it with one of the allowed folders");
  // Two slashes at the beginning may mean another machine.
  const path = posix.normalize(slashed.replace(/^\/{2,}/, "/"));
  if (platform === "linux" && DELETED.test(path)) throw wrong("ends as the system marks deleted files");
  if (platform === "win32" && path.split("/").slice(1).some(isTrickOnWindows))
    throw wrong("has a name Windows reads as another");
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function isTrickOnWindows(name: string): boolean {
  return /[. ]$|[:<>"|?*]|~\d/.test(name) || DEVICE.test(name);
}

/** The names of a plain path, one below the other. */
export function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

/** Whether `path` is `folder` or lies in it. Both are plain. */
export function liesIn(path: string, folder: string): boolean {
  if (folder === "/" || path === folder) return true;
  return path.startsWith(folder) && path[folder.length] === "/";
}

export function join(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

const LOCAL = /^file:\/\/(?:localhost)?(?=\/)/i;

/** Whether a URI is a `file:` URI at all. */
export function isFileUri(uri: string): boolean {
  return /^file:/i.test(uri);
}

/** The path, decoded once. @throws FileError `bad-path` for other machines, queries, encoded slashes and dot segments */
export function pathOfUri(uri: string): string {
  const rest = LOCAL.test(uri) ? uri.replace(LOCAL, "") : undefined;
  if (rest === undefined) throw bad(uri, "is no URI of a local file; such a one begins with file:///");
  if (/[?#]/.test(rest)) throw bad(uri, "has a query or fragment; write ? as %3F and # as %23");
  const names = rest.split("/").map((name) => decoded(uri, name));
  if (names.some((name) => name === "." || name === "..")) throw bad(uri, "has dot segments");
  const path = names.join("/");
  return process.platform === "win32" ? path.replace(/^\/(?=[A-Za-z]:)/, "") : path;
}

/** The URI of a plain path. */
export function uriOfPath(path: string): string {
  const names = namesOf(path).map((name) => encodeURIComponent(name).replace(/%3A$/, ":"));
  return `file:///${names.join("/")}`;
}

function decoded(uri: string, name: string): string {
  let text: string;
  try {
    text = decodeURIComponent(name);
  } catch {
    throw bad(uri, "is not well encoded");
  }
  if (/[/\0]/.test(text) || (process.platform === "win32" && text.includes("\\"))) {
    throw bad(uri, "has an encoded slash or NUL in a name");
  }
  return text;
}

function bad(uri: string, why: string): FileError {
  return new FileError("bad-path", `${JSON.stringify(uri.slice(0, 200))} ${why}.`);
}

// The folders a policy's path patterns begin in, and the other names the system has for them.

/** A folder with links in its path: as a rule of the policy writes it, and where it really is. */
export interface Alias {
  readonly written: string;
  readonly real: string;
}

/** The names of a pattern up to its first wildcard, as a path; the pattern itself when it has none. */
export function literalPrefix(pattern: string): string {
  const names = namesOf(pattern);
  const wild = names.findIndex((name) => /[*?]/.test(name));
  return pathOf(wild < 0 ? names : names.slice(0, wild));
}

/** Where lookups begin: the folder above a path without wildcards, else the literal prefix; none inside another. */
export function rootFolders(patterns: readonly string[]): string[] {
  const folders = new Set(
    patterns.map((pattern) => (/[*?]/.test(pattern) ? literalPrefix(pattern) : parentOf(pattern))),
  );
  return outermost(folders);
}

/** Those that lie in no other. */
export function outermost(folders: Iterable<string>): string[] {
  const sorted = [...new Set(folders)].sort((a, b) => a.length - b.length);
  return sorted.filter((folder, index) => !sorted.slice(0, index).some((outer) => liesIn(folder, outer)));
}

export async function aliasOf(written: string): Promise<Alias> {
  return { written, real: await realPrefix(written) };
}

export function realPrefixNow(path: string): string {
  const missing: string[] = [];
  for (let folder = path; ; folder = parentOf(folder)) {
    try {
      const real = fs.realpathSync.native(folder);
      return missing.reduceRight(join, process.platform === "win32" ? real.replaceAll("\\", "/") : real);
    } catch {
      if (folder === parentOf(folder)) return path;
      missing.push(namesOf(folder).at(-1) as string);
    }
  }
}

/** The path with the links in its existing part resolved. */
export async function realPrefix(path: string): Promise<string> {
  const missing: string[] = [];
  for (let folder = path; ; folder = parentOf(folder)) {
    try {
      const real = await fs.promises.realpath(folder);
      return missing.reduceRight(join, process.platform === "win32" ? real.replaceAll("\\", "/") : real);
    } catch {
      if (folder === parentOf(folder)) return path;
      missing.push(namesOf(folder).at(-1) as string);
    }
  }
}

export function parentOf(path: string): string {
  return pathOf(namesOf(path).slice(0, -1));
}

export function pathOf(names: readonly string[]): string {
  const [first = ""] = names;
  return /^[A-Za-z]:$/.test(first) ? (names.length === 1 ? `${first}/` : names.join("/")) : `/${names.join("/")}`;
}

// Paths as the bytes that the system has for them, one character for each byte: what is no UTF-8 leads where it leads, and not where
// it would by the text it is decoded to.

/** Has the slashes of a path where a path has them, so what splits and joins paths works with it. */
export type BytePath = string;

/** Nothing but ASCII, as most paths are: byte and character are the same. */
const PLAIN = /^[\u0020-\u007e]*$/;

export function bytesOfPath(text: string): BytePath {
  return PLAIN.test(text) ? text : Buffer.from(text).toString("latin1");
}

/** What the file system is asked with. */
export function asked(path: BytePath): string | Buffer {
  return PLAIN.test(path) ? path : Buffer.from(path, "latin1");
}

/** Undefined for what is no UTF-8: no rule names it and no tool gets to it. */
export function textOfPath(path: BytePath): string | undefined {
  return PLAIN.test(path) ? path : exactText(Buffer.from(path, "latin1"));
}

/** What it looks like: for comparing with protected names, of which the wrong bytes can only be what a star stands for. */
export function looksLike(path: BytePath): string {
  return PLAIN.test(path) ? path : Buffer.from(path, "latin1").toString();
}
