// Files that people name: written whole or not at all, new ones for their owner only, over no file that is there unless that is asked
// for, and what people have already in its place; and read at once, whatever lies there.
import * as fs from "node:fs";
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { makeFolder, readAtMost, whyUnread, WrongKindError } from "../audit/owned-files.js";
import type { PathKind } from "../policy/review-policy.js";
import { UsageError } from "./command-line.js";
import { remedyFor } from "./failure.js";

/**
 * Undefined when the file was written, else a line that says why it was not. Folders above it are made.
 *
 * @param replace whether it may take the place of a file that is there; given by commands whose --force says so
 */
export function writeNewFile(file: string, text: string, replace?: boolean): string | undefined {
  const draft = `${file}.${process.pid}.new`;
  try {
    const there = replace === true ? fs.statSync(file, { throwIfNoEntry: false }) : undefined;
    // Of a pipe or a device something else lives, as of /dev/stdout.
    if (there?.isFile() === false) return `${file} is ${new WrongKindError(file, there).what}; name another file`;
    makeFolder(dirname(file));
    const fd = fs.openSync(draft, "wx", 0o600);
    try {
      fs.writeFileSync(fd, text);
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    if (replace === true) fs.renameSync(draft, file);
    // A link, unlike a renaming, never takes the place of a file that is there.
    else fs.linkSync(draft, file);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return isThere(file, replace !== undefined);
    return `${file} cannot be written (${message})${remedyFor(code) || "; check the path and its folder"}`;
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** For a file that a person named: a misspelt folder, or a disk that is not mounted, is made for nothing. @throws UsageError */
export function requireFolderOf(file: string): void {
  const folder = dirname(resolve(file));
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(`there is no folder ${folder}: make it, or name another file`);
}

/** The line that says so. `mayReplace`: the command has --force. */
export function isThere(file: string, mayReplace = false): string {
  return `${file} already exists; name another file, or ${mayReplace ? "replace it with --force" : "remove it first"}`;
}

/**
 * Writes what a person's file is to hold, with the rights it had; where it is a link, what that leads to. Nothing comes between the
 * first byte and the last, Ctrl-C neither: the file is as it was, or whole. @throws UsageError where it cannot be written
 */
export function writeInPlace(file: string, content: string | Buffer): void {
  let draft: string | undefined;
  try {
    const path = fs.existsSync(file) ? fs.realpathSync(file) : file;
    makeFolder(dirname(path));
    const mode = fs.statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600;
    draft = `${path}.${process.pid}.new`;
    fs.rmSync(draft, { force: true });
    fs.writeFileSync(draft, content, { mode: mode & 0o777, flag: "wx", flush: true });
    fs.renameSync(draft, path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const what = remedyFor(code) || "; see to its folder and the room on its disk";
    throw new UsageError(`${file} cannot be written (${message}), so it is as it was${what}, then run this again`);
  } finally {
    if (draft !== undefined) fs.rmSync(draft, { force: true });
  }
}

// Says what lies at a path of this machine, for those who review policies.

export function kindOfPath(path: string): PathKind {
  try {
    return statSync(path).isDirectory() ? "folder" : "file";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "nothing" : "unknown";
  }
}

// Reads files that a person names on the command line: at once, whatever lies under the name, and no more than may be in them.

/** The text of a file. `advice`: what to do, after what is wrong. @throws UsageError that names the file */
export function namedText(file: string, mostBytes: number, advice: string): string {
  try {
    return readAtMost(file, mostBytes);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${whyUnread(error)}; ${advice}`, { cause: error });
  }
}
