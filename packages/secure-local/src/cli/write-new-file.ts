// Writes a file that must not exist yet: whole or not at all, for its owner only.
import * as fs from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../audit/make-folder.js";

/** Undefined when the file was written, else a line that says why it was not. Folders above it are made. */
export function writeNewFile(file: string, text: string): string | undefined {
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
    // A link, unlike a renaming, never takes the place of a file that is there.
    fs.linkSync(draft, file);
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
  return `${file} exists already and is kept; name another file, or remove it first`;
}
