// The rules about pages: lines that can be read beside each other, and no words of a dialect, there and in the code.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Yields the long lines of every page of `table.pages`, and the words of `table.words` there and in its folders;
 * `words.allowed` names the files that may hold them, with the reason.
 */
export function* pageFaults(root, table) {
  const words = (table.words?.instead ?? []).map(([word, say]) => ({ word, say, test: wordTest(word) }));
  const pages = (table.pages ?? []).flatMap((place) => listPages(root, place));
  for (const path of pages) yield* lineFaults(path, readLines(root, path), table.limits.pageColumns);
  const sources = (table.words?.folders ?? []).flatMap((place) => listPages(root, place));
  for (const path of new Set([...pages, ...sources])) {
    if (!Object.hasOwn(table.words.allowed, path)) yield* wordFaults(path, readLines(root, path), words);
  }
}

/** Tables, code, links by themselves and comments of the renderer cannot be broken. */
function* lineFaults(path, lines, columns) {
  let code = false;
  for (const [n, line] of lines.entries()) {
    if (/^\s*(```|~~~)/.test(line)) code = !code;
    else if (!code && line.length > columns && !/^\s*(\||<|\[[^\]]*\]:|!?\[[^\]]*\]\([^)]*\)$)/.test(line))
      yield { path, line: n + 1, text: `${line.length} characters, break the line at ${columns}` };
  }
}

function* wordFaults(path, lines, words) {
  for (const [n, line] of lines.entries()) {
    for (const { word, say, test } of words) {
      if (test.test(line)) yield { path, line: n + 1, text: `the word "${word}", say ${say}` };
    }
  }
}

/** Finds a word by itself and as a part of a name, in either case: `desk`, `taskDesk`, `DeskOptions`, `desks`. */
function wordTest(word) {
  const upper = word[0].toUpperCase() + word.slice(1);
  return new RegExp(`(?<![A-Za-z])${word}(?:s|es)?(?![a-z])|${upper}(?:s|es)?(?![a-z])`);
}

function readLines(root, path) {
  return readFileSync(join(root, path), "utf8").split("\n");
}

/** A file, or the Markdown and source files under a folder. */
function listPages(root, place) {
  const full = join(root, place);
  if (!existsSync(full)) return [];
  if (statSync(full).isFile()) return [place];
  return readdirSync(full, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? listPages(root, `${place}/${entry.name}`) : [`${place}/${entry.name}`]))
    .filter((path) => /\.(?:md|ts)$/.test(path))
    .sort();
}
