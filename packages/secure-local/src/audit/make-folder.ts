// Makes folders with those above them, and ends where a file system refuses without saying so.
import fs from "node:fs";
import { dirname } from "node:path";

/**
 * Makes the folder for its owner only, those above it too where they are missing. Node's own `recursive` tries for ever below
 * `/proc`, which says of every new name that the folder above is missing. Throws the file system's error.
 */
export function makeFolder(path: string): void {
  const fault = made(path);
  if (fault === undefined) return;
  const above = dirname(path);
  if (fault.code !== "ENOENT" || above === path) throw fault;
  makeFolder(above);
  const again = made(path);
  if (again !== undefined) throw again;
}

/** Undefined when the folder is there now. */
function made(path: string): NodeJS.ErrnoException | undefined {
  try {
    fs.mkdirSync(path, { mode: 0o700 });
    return undefined;
  } catch (error) {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    return found?.isDirectory() === true ? undefined : (error as NodeJS.ErrnoException);
  }
}
