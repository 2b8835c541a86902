// Reads files that a person names on the command line: at once, whatever lies under the name, and no more than may be in them.
import { readAtMost, WrongKindError } from "../audit/owned-files.js";
import { UsageError } from "./command-line.js";

/** The text of a file. `advice`: what to do, after what is wrong. @throws UsageError that names the file */
export function namedText(file: string, mostBytes: number, advice: string): string {
  try {
    return readAtMost(file, mostBytes);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${whyUnread(error)}; ${advice}`, { cause: error });
  }
}

/** Why a file cannot be read, without its name. */
export function whyUnread(error: unknown): string {
  if (error instanceof WrongKindError) {
    const advice = error.what.endsWith("a pipe") ? "; keep what comes out of it in a file first" : "";
    return `it is ${error.what}${advice}`;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "there is no such file";
  if (code === "EACCES" || code === "EPERM") return "you have no right to read it";
  if (code === "ELOOP") return "its links lead in a circle";
  return message;
}
