// Finds text nested so deep that a recursive parser could exhaust the stack, which ends the whole process at once.
import type { Place } from "./rule.js";

/** Open brackets at one place, or list markers in one line; a policy needs four. */
const MAX_OPEN = 64;
/** Spaces before a line: as many levels as that can open. */
const MAX_INDENT = 256;
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'/g;
const COMMENT = /(?:^|[ \t])#.*$/;
const MARKERS = new RegExp(`(?:[-?:][ \\t]+){${MAX_OPEN}}`);

/**
 * The place where text is nested too deep, if anywhere. It reads lines, not YAML, so a text can be written that it misses;
 * it is there for accidents and for files that nobody wrote by hand.
 */
export function tooDeep(text: string): Place | undefined {
  let open = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const plain = line.replace(QUOTED, "").replace(COMMENT, "");
    const indent = line.length - line.trimStart().length;
    if (plain.trim() !== "" && indent > MAX_INDENT) return { line: index + 1, column: indent + 1 };
    if (MARKERS.test(plain)) return { line: index + 1, column: indent + 1 };
    for (const character of plain) {
      if (character === "[" || character === "{") open++;
      else if (character === "]" || character === "}") open = Math.max(0, open - 1);
      if (open > MAX_OPEN) return { line: index + 1, column: 1 };
    }
  }
  return undefined;
}
