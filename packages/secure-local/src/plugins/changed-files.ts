// Which files of a plugin are not as they were approved, by the copies that are kept of both, how those differ that are text, and
// what of all that is not shown.
import * as fs from "node:fs";
import { join } from "node:path";
import type { StructuredPatchHunk } from "diff";

/** The files of a plugin that differ. */
export interface ChangedFiles {
  readonly told: readonly ChangedFile[];
  /** What of the difference does not stand in `told`, in words; empty where all of it does. Nobody approves it unawares. */
  readonly hidden: readonly string[];
}

/** A file that was added, changed or removed. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: "added" | "changed" | "removed";
  /** Whether it may be run now, where it was the other way round. */
  readonly runs?: boolean;
  /** Lines that went and came, with a few around them. */
  readonly lines?: readonly FileLine[];
  /** How many lines of the difference come after these. */
  readonly more?: number;
  /** Why there are no lines. */
  readonly unshown?: string;
}

/** `about`: our own words on what stands there. */
interface FileLine {
  readonly kind: "same" | "gone" | "new" | "about";
  readonly text: string;
  /** How many characters of the line come after these. */
  readonly more?: number;
}

/** Files told, and bytes of a text. */
const MAX_TOLD = 100;
const MAX_TEXT = 256 * 1024;
/** Lines told of one file and of all, and characters of one: a person reads some fifty screens at most. */
const MAX_LINES = 400;
const MAX_ALL = 2_000;
const MAX_LINE = 1_000;
/** Lines that go and come until a text counts as another one, and what looking for them may take: strangers write these files. */
const MAX_EDITS = 1_000;
const DIFF_MS = 200;
const AROUND = 2;

const NO_COPY: ChangedFiles = {
  told: [],
  hidden: ["which of its files changed, since no copy of what was approved is kept any more"],
};

/** By the hashes of both. Never rejects: what cannot be compared is hidden, and said to be. */
export async function changedFiles(copies: string, before: string, now: string): Promise<ChangedFiles> {
  try {
    const [old, fresh] = [before, now].map((hash) => rootOf(join(copies, hash)));
    return old === undefined || fresh === undefined ? NO_COPY : await compared(old, fresh);
  } catch {
    // Another process has taken the copy away meanwhile.
    return NO_COPY;
  }
}

async function compared(old: string, fresh: string): Promise<ChangedFiles> {
  const [gone, there] = [filesIn(old), filesIn(fresh)];
  const told: ChangedFile[] = [];
  let [more, left] = [0, MAX_ALL];
  for (const path of [...new Set([...gone, ...there])].sort()) {
    const was = gone.has(path) ? read(join(old, path)) : undefined;
    const is = there.has(path) ? read(join(fresh, path)) : undefined;
    if (was !== undefined && is !== undefined && isSame(was, is)) continue;
    if (told.length === MAX_TOLD) {
      more += 1;
      continue;
    }
    const file = { path, ...kindOf(was, is), ...(await linesOf(was, is, left)) };
    left -= file.lines?.length ?? 0;
    told.push(file);
  }
  return { told, hidden: hiddenIn(told, more) };
}

/** A copy has one thing in it: the plugin. */
function rootOf(folder: string): string | undefined {
  if (!/[/\\][0-9a-f]{64}$/.test(folder) || !fs.existsSync(folder)) return undefined;
  const [name] = fs.readdirSync(folder);
  return name === undefined ? undefined : join(folder, name);
}

/** All of them: a copy has no more than were taken into it. */
function filesIn(root: string): ReadonlySet<string> {
  if (!fs.statSync(root).isDirectory()) return new Set([""]);
  const found = fs.readdirSync(root, { withFileTypes: true, recursive: true }).filter((entry) => !entry.isDirectory());
  return new Set(found.map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)));
}

interface Content {
  readonly bytes: Buffer;
  readonly isLink: boolean;
  readonly runs: boolean;
}

function read(path: string): Content {
  const status = fs.lstatSync(path);
  const isLink = status.isSymbolicLink();
  const bytes = isLink ? Buffer.from(`a link to ${fs.readlinkSync(path)}`) : fs.readFileSync(path);
  return { bytes, isLink, runs: !isLink && (status.mode & 0o111) !== 0 };
}

function isSame(was: Content, is: Content): boolean {
  return was.isLink === is.isLink && was.runs === is.runs && was.bytes.equals(is.bytes);
}

function kindOf(was: Content | undefined, is: Content | undefined): Pick<ChangedFile, "kind" | "runs"> {
  if (is === undefined) return { kind: "removed" };
  const runs = is.runs === (was?.runs ?? false) ? {} : { runs: is.runs };
  return { kind: was === undefined ? "added" : "changed", ...runs };
}

type Shown = Pick<ChangedFile, "lines" | "more" | "unshown">;

async function linesOf(was: Content | undefined, is: Content | undefined, left: number): Promise<Shown> {
  if (Math.max(was?.bytes.length ?? 0, is?.bytes.length ?? 0) > MAX_TEXT)
    return { unshown: "too long to be shown by its lines" };
  const [before, now] = [textIn(was), textIn(is)];
  if (before === undefined || now === undefined) return { unshown: "no text" };
  if (left <= 0) return { unshown: `not shown by its lines, since ${MAX_ALL} of others stand here` };
  const all = await differing(before, now);
  const most = Math.min(left, MAX_LINES);
  const more = all.slice(most).filter(({ kind }) => kind !== "about").length;
  return { lines: all.slice(0, most).map(cut), ...(more === 0 ? {} : { more }) };
}

function textIn(content: Content | undefined): string | undefined {
  if (content === undefined) return "";
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content.bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

function cut(line: FileLine): FileLine {
  const more = line.text.length - MAX_LINE;
  return more > 0 ? { ...line, text: line.text.slice(0, MAX_LINE), more } : line;
}

/** The lines that differ and those around them; what is left out before them is said. */
async function differing(before: string, now: string): Promise<FileLine[]> {
  const { structuredPatch } = await import("diff");
  const limits = { context: AROUND, maxEditLength: MAX_EDITS, timeout: DIFF_MS };
  const hunks = structuredPatch("", "", before, now, "", "", limits)?.hunks;
  if (hunks === undefined) return another(splitLines(before), splitLines(now));
  let next = 1;
  return hunks.flatMap((hunk): FileLine[] => {
    const gap = gapOf(hunk.oldStart - next);
    next = hunk.oldStart + hunk.oldLines;
    return [...gap, ...hunk.lines.map(lineOf)];
  });
}

const KINDS: Readonly<Record<string, FileLine["kind"]>> = { "+": "new", "-": "gone", " ": "same" };

function lineOf(line: StructuredPatchHunk["lines"][number]): FileLine {
  const kind = KINDS[line[0] ?? ""];
  return kind === undefined ? { kind: "about", text: "no line break at the end" } : { kind, text: line.slice(1) };
}

function gapOf(count: number): FileLine[] {
  return count < 1 ? [] : [{ kind: "about", text: `${counted(count, "line")} as before` }];
}

/** What came first, for who reads no further: all that went may be long. */
function another(before: readonly string[], now: readonly string[]): FileLine[] {
  const least = Math.min(before.length, now.length);
  let start = 0;
  while (start < least && before[start] === now[start]) start += 1;
  let end = 0;
  while (end < least - start && before.at(-1 - end) === now.at(-1 - end)) end += 1;
  const part = (kind: "gone" | "new", lines: readonly string[]): FileLine[] =>
    lines.slice(start, lines.length - end).map((text) => ({ kind, text }));
  return [...gapOf(start), ...part("new", now), ...part("gone", before), ...gapOf(end)];
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function hiddenIn(told: readonly ChangedFile[], files: number): string[] {
  const lines = told.reduce((sum, { more = 0 }) => sum + more, 0);
  const unshown = told.filter((file) => file.unshown !== undefined).length;
  const long = told.flatMap((file) => file.lines ?? []).filter(({ more }) => more !== undefined).length;
  return [
    ...(files === 0 ? [] : [`${counted(files, "more file")} that changed`]),
    ...(unshown === 0 ? [] : [`what is in ${counted(unshown, "file")}`]),
    ...(lines === 0 ? [] : [`${counted(lines, "line")} of the differences`]),
    ...(long === 0 ? [] : [`the ${long === 1 ? "end of 1 long line" : `ends of ${long} long lines`}`]),
  ];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
