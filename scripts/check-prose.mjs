#!/usr/bin/env node
// Checks the prose of the pages people read first: sentences of at most 25 words on average in each page and none over 60, the field's own
// terms, lines of at most 120 characters, the first success of the README on one screen, and no suggestion to run a package by a name that is not
// ours: whoever registers it would run code on every reader's machine.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MOST_WORDS = 25;
/** One sentence may say more than that, and none may say everything. */
const LONGEST_SENTENCE = 60;
const LONGEST_LINE = 120;
/** Words of our own for what the field has a word for, in the pages of the product. */
const TERMS = [
  [/\b(?:wall|walls|walled)\b/i, "sandbox"],
  [/\bconsent\b(?!\.md)/i, "approval"],
  [/\b(?:stateless|handshake) era\b/i, "the protocol versions meant"],
  [/\bmcp-secure-server\b/, "what the reader knows"],
];
/** Lines of a terminal or a window that people do not scroll to begin with. */
const SCREEN_LINES = 40;
/** `npx mcp-secure-local`, `npm install mcp-secure-local` and the like; a path or a tarball is no name. */
const BY_NAME =
  /\b(?:npx|npm (?:i|install|exec)|pnpm (?:add|dlx)|yarn (?:add|dlx)|bunx)\b(?:\s+-{1,2}[\w-]+)*\s+(?:-p\s+)?(?:mcp-secure-local|@secure-local\/mcp)\b(?![\w./-]*\.tgz)/;
const BY_NAME_IN_JSON = /"npx"[^\n]*"mcp-secure-local"/;

/** The pages, from the root. */
export function pages() {
  const docs = readdirSync(join(root, "docs"), { recursive: true }).filter((name) => name.endsWith(".md"));
  return ["README.md", "packages/secure-local/README.md", ...docs.map((name) => join("docs", name))];
}

/** What is prose of a page: no code, tables, headings or links' targets. */
export function proseOf(text) {
  return text
    .replace(/^(`{3,})[^\n]*\n[^]*?^\1/gm, "\n")
    .split("\n")
    .map((line) => (/^\s*(?:\||#|<|>\s*\[)/.test(line) ? "" : line.replace(/^\s*(?:[-*]|\d+\.)\s+/, "\n")))
    .join("\n")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/`[^`]*`/g, "code");
}

/** Words of each sentence. */
export function sentencesOf(text) {
  return proseOf(text)
    .split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.replace(/\s+/g, " ").split(/(?<=[.!?:])\s+(?=[A-Z"“*])/))
    .map(
      (sentence) =>
        sentence
          .trim()
          .split(" ")
          .filter((word) => /\w/.test(word)).length,
    )
    .filter((words) => words > 1);
}

/** Numbers of the lines that are too long; a table's row and what a program prints cannot be broken. */
export function longLines(text) {
  let fence = "";
  return text.split("\n").flatMap((line, index) => {
    const mark = /^\s*(`{3,})/.exec(line)?.[1] ?? "";
    if (mark !== "") fence = fence === "" ? mark : "";
    return fence === "" && !/^\s*\|/.test(line) && line.length > LONGEST_LINE ? [index + 1] : [];
  });
}

/** The line of the README at which a reader has succeeded once: the end of its first section. */
export function firstSuccess(text) {
  const lines = text.split("\n");
  const begin = lines.indexOf("## First success");
  const end = lines.findIndex((line, index) => index > begin && line.startsWith("```mermaid"));
  return begin < 0 || end < 0 ? Infinity : end;
}

const faults = [];
const readme = readFileSync(join(root, "README.md"), "utf8");
const success = firstSuccess(readme);
if (success > SCREEN_LINES) faults.push(`README.md: the first success ends at line ${success}, not on one screen`);
for (const command of ["npm install && npm run demo", "npm install && npm test"]) {
  if (!readme.slice(0, readme.indexOf("## ")).includes(command))
    faults.push(`README.md: "${command}" has to stand before the first section: it does everything on a new machine`);
}
for (const page of pages()) {
  const text = readFileSync(join(root, page), "utf8");
  for (const line of longLines(text)) faults.push(`${page}:${line}: longer than ${LONGEST_LINE} characters; break it`);
  const lengths = sentencesOf(text);
  const average = lengths.reduce((sum, each) => sum + each, 0) / Math.max(1, lengths.length);
  if (average > MOST_WORDS)
    faults.push(`${page}: ${average.toFixed(1)} words a sentence, at most ${MOST_WORDS}; divide the longest`);
  const longest = Math.max(0, ...lengths);
  if (longest > LONGEST_SENTENCE)
    faults.push(`${page}: a sentence of ${longest} words, at most ${LONGEST_SENTENCE}; divide it`);
  const product = !page.startsWith(join("docs", "library"));
  for (const [at, line] of text.split("\n").entries()) {
    for (const [term, plain] of product ? TERMS : [])
      if (term.test(line)) faults.push(`${page}:${at + 1}: says "${term.exec(line)[0]}"; write ${plain}`);
    if (BY_NAME.test(line) || BY_NAME_IN_JSON.test(line))
      faults.push(
        `${relative(root, join(root, page))}:${at + 1}: runs a package by name; give the path of a checkout or a tarball`,
      );
  }
}
for (const fault of faults) console.error(fault);
if (faults.length === 0) console.log(`${pages().length} pages, 0 faults`);
process.exitCode = faults.length > 0 ? 1 : 0;
