// Writes a file whole or not at all, for its owner only, and over no file that is there unless that is asked for.
import * as fs from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../audit/make-folder.js";

/**
 * Undefined when the file was written, else a line that says why it was not. Folders above it are made.
 *
 * @param replace whether it may take the place of a file that is there
 */
export function writeNewFile(file: string, text: string, replace = false): string | undefined {
  const draft = `${file}.${process.pid}.new`;
  try {
    makeFolder(dirname(file));
    const fd = fs.openSync(draft, "wx", 0o600);
    try {
      fs.writeFileSync(fd, text);
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    if (replace) fs.renameSync(draft, file);
    // A link, unlike a renaming, never takes the place of a file that is there.
    else fs.linkSync(draft, file);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return isThere(file);
    return `${file} cannot be written (${message}); check the path and its folder`;
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** The line that says so. */
export function isThere(file: string): string {
  return `${file} already exists; name another file, or remove it first`;
}
