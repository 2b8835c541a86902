// Tells whether `tools` and `call` are about another server than our own; loads nothing of what that takes.
import type { CommandLine } from "../command-line.js";

const URL_LIKE = /^(?:[a-z][a-z0-9+.-]*:\/\/|unix:)/i;
// Both a server in a file and a tool may be called so.
const NAME = /^[A-Za-z][\w./@-]*$/;

/** Whether a command line of `tools` or `call` is about another server than our own. */
export function namesTarget(line: CommandLine, words: number): boolean {
  const [first = "", second = ""] = line.words;
  if (line.after !== undefined || line.url !== undefined || line.config !== undefined) return true;
  if (URL_LIKE.test(first)) return true;
  return line.words.length > words && NAME.test(first) && (words === 0 || NAME.test(second));
}
