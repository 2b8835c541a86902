// Which files of a plugin are not as they were approved, by the copies that are kept of both, and how those differ that are text.
import * as fs from "node:fs";
import { join } from "node:path";

/** A file that was added, changed or removed. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: "added" | "changed" | "removed";
  /** Lines that went and came, with a few around them; absent where it is no text, or too long to be read. */
  readonly lines?: readonly FileLine[];
}

interface FileLine {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Files looked at, files told, bytes of a text, and lines told of one. */
const MAX_FILES = 20_000;
const MAX_TOLD = 100;
const MAX_TEXT = 256 * 1024;
const MAX_LINES = 400;
/** Lines that are compared one with another: of more the whole file is told as new. */
const MAX_COMPARED = 2_000;
const AROUND = 2;

/** Undefined where a copy of one of them is not kept any more. @throws the system's errors */
export function changedFiles(copies: string, before: string, now: string): readonly ChangedFile[] | undefined {
  const [old, fresh] = [before, now].map((hash) => rootOf(join(copies, hash)));
  if (old === undefined || fresh === undefined) return undefined;
  const [gone, there] = [filesIn(old), filesIn(fresh)];
  const paths = [...new Set([...gone, ...there])].sort();
  return paths
    .flatMap((path): ChangedFile[] => {
      const was = gone.has(path) ? read(join(old, path)) : undefined;
      const is = there.has(path) ? read(join(fresh, path)) : undefined;
      if (was !== undefined && is !== undefined && was.equals(is)) return [];
      const kind = was === undefined ? "added" : is === undefined ? "removed" : "changed";
      const [from, to] = [textIn(was), textIn(is)];
      return [{ path, kind, ...(from === undefined || to === undefined ? {} : { lines: differing(from, to) }) }];
    })
    .slice(0, MAX_TOLD);
}

/** A copy has one thing in it: the plugin. */
function rootOf(folder: string): string | undefined {
  if (!/[/\\][0-9a-f]{64}$/.test(folder) || !fs.existsSync(folder)) return undefined;
  const [name] = fs.readdirSync(folder);
  return name === undefined ? undefined : join(folder, name);
}

function filesIn(root: string): ReadonlySet<string> {
  if (!fs.statSync(root).isDirectory()) return new Set([""]);
  const found = new Set<string>();
  for (const entry of fs.readdirSync(root, { withFileTypes: true, recursive: true })) {
    if (found.size >= MAX_FILES) break;
    if (!entry.isDirectory()) found.add(join(entry.parentPath, entry.name).slice(root.length + 1));
  }
  return found;
}

function read(path: string): Buffer {
  const status = fs.lstatSync(path);
  if (status.isSymbolicLink()) return Buffer.from(`a link to ${fs.readlinkSync(path)}`);
  return fs.readFileSync(path);
}

function textIn(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return "";
  if (bytes.length > MAX_TEXT) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The lines that differ, with those around them; a gap is an empty line that is the same. */
export function differing(before: string, now: string): FileLine[] {
  const lines = compared(linesOf(before), linesOf(now));
  const near = new Set<number>();
  for (const [at, { kind }] of lines.entries())
    if (kind !== "same") for (let step = -AROUND; step <= AROUND; step += 1) near.add(at + step);
  return lines.filter((_, at) => near.has(at)).slice(0, MAX_LINES);
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function compared(before: readonly string[], now: readonly string[]): FileLine[] {
  let start = 0;
  while (start < before.length && start < now.length && before[start] === now[start]) start += 1;
  let end = 0;
  const rest = Math.min(before.length, now.length) - start;
  while (end < rest && before.at(-1 - end) === now.at(-1 - end)) end += 1;
  const same = (lines: readonly string[]): FileLine[] => lines.map((text) => ({ kind: "same", text }));
  const [gone, fresh] = [before.slice(start, before.length - end), now.slice(start, now.length - end)];
  return [...same(before.slice(0, start)), ...middle(gone, fresh), ...same(now.slice(now.length - end))];
}

/** By the longest lines that both have in the same order. */
function middle(gone: readonly string[], fresh: readonly string[]): FileLine[] {
  const all = (kind: "gone" | "new", lines: readonly string[]): FileLine[] => lines.map((text) => ({ kind, text }));
  if (gone.length === 0 || fresh.length === 0 || Math.max(gone.length, fresh.length) > MAX_COMPARED)
    return [...all("gone", gone), ...all("new", fresh)];
  const width = fresh.length + 1;
  const common = new Uint16Array((gone.length + 1) * width);
  for (let a = gone.length - 1; a >= 0; a -= 1)
    for (let b = fresh.length - 1; b >= 0; b -= 1)
      common[a * width + b] =
        gone[a] === fresh[b]
          ? (common[(a + 1) * width + b + 1] ?? 0) + 1
          : Math.max(common[(a + 1) * width + b] ?? 0, common[a * width + b + 1] ?? 0);
  const lines: FileLine[] = [];
  let [a, b] = [0, 0];
  while (a < gone.length && b < fresh.length) {
    const isGone = (common[(a + 1) * width + b] ?? 0) >= (common[a * width + b + 1] ?? 0);
    const isSame = gone[a] === fresh[b];
    if (isSame) lines.push({ kind: "same", text: gone[a] ?? "" });
    else if (isGone) lines.push({ kind: "gone", text: gone[a] ?? "" });
    else lines.push({ kind: "new", text: fresh[b] ?? "" });
    if (isSame || isGone) a += 1;
    if (isSame || !isGone) b += 1;
  }
  return [...lines, ...all("gone", gone.slice(a)), ...all("new", fresh.slice(b))];
}
