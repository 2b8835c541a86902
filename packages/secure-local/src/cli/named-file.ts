// Reads files that a person names on the command line: at once, whatever lies under the name, and no more than may be in them.
import { readAtMost, whyUnread } from "../audit/owned-files.js";
import { UsageError } from "./command-line.js";

/** The text of a file. `advice`: what to do, after what is wrong. @throws UsageError that names the file */
export function namedText(file: string, mostBytes: number, advice: string): string {
  try {
    return readAtMost(file, mostBytes);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${whyUnread(error)}; ${advice}`, { cause: error });
  }
}
