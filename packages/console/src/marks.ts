// Where in a text the words stand that the inspection found.

/** A part of a text. */
export interface Mark {
  readonly start: number;
  readonly end: number;
}

/** What may part two words: blanks, and the signs that the inspection leaves out of what it says. */
const BETWEEN = "[^\\p{L}\\p{N}]{1,16}";

/** Words that had to be written in another way to be shown at all are not found: they stand below the text alone. */
export function marksIn(text: string, excerpts: readonly string[]): Mark[] {
  return excerpts
    .map((excerpt) => excerpt.replace(/…$/, "").trim())
    .filter((words) => words !== "")
    .map((words) => new RegExp(words.split(/\s+/).map(plain).join(BETWEEN), "iu").exec(text))
    .flatMap((found) => (found === null ? [] : [{ start: found.index, end: found.index + found[0].length }]))
    .sort((a, b) => a.start - b.start);
}

function plain(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
