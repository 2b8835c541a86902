// Finds out whether a path is one of those no tool reaches, in whatever spelling, and what it is protected from.
import { homedir } from "node:os";
import { foldName } from "./fold-name.js";
import { type From, GIT_STORE, KERNEL_FOLDERS, NAME_CLASSES, namesIn } from "./protected-names.js";

/** What the names of a path say about it. */
export interface Protection {
  /** The class of names (`protected-names.ts`), `kernel`, or `own` for the program's own files. */
  readonly class: string;
  /** `write`: it may be read, and is neither written nor removed. */
  readonly from: From;
  readonly rule: string;
}

interface Sequence {
  /** Folded names of the folders above, nearest last; the first may be "" for the beginning of the path. */
  readonly above: readonly string[];
  readonly unless: RegExp | undefined;
  readonly protection: Protection;
}

/** A name with a star: at its beginning, its end, or between. */
interface Wild {
  readonly start: string;
  readonly end: string;
  readonly sequence: Sequence;
}

/** The protected names, by how a name is compared with them; those with a star by two characters that are certain. */
interface Tables {
  readonly exact: Map<string, Sequence[]>;
  readonly byStart: Map<string, Wild[]>;
  readonly byEnd: Map<string, Wild[]>;
}

const CERTAIN = 2;

/** Made for the first path that is looked at: most sessions open no file. */
let made: Tables | undefined;

function tables(): Tables {
  if (made !== undefined) return made;
  made = { exact: new Map(), byStart: new Map(), byEnd: new Map() };
  const home = homedir().split(/[/\\]/).filter(Boolean).map(foldName);
  for (const names of NAME_CLASSES) {
    for (const { name, from, unless } of namesIn(names)) {
      const protection = { class: names.id, from, rule: `built-in protection of ${name}: ${names.reason}` };
      const [first, ...rest] = name.split("/") as [string, ...string[]];
      add(made, first === "~" ? ["", ...home, ...rest] : [first, ...rest], { unless, protection });
    }
  }
  return made;
}

function add({ exact, byStart, byEnd }: Tables, parts: string[], rest: Omit<Sequence, "above">): void {
  const last = parts.pop() as string;
  const sequence = { above: parts, ...rest };
  const [start, end] = last.split("*") as [string, string | undefined];
  if (end === undefined) push(exact, last, sequence);
  else if (start !== "") push(byStart, start.slice(0, CERTAIN), { start, end, sequence });
  else push(byEnd, end.slice(-CERTAIN), { start, end, sequence });
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const same = map.get(key);
  if (same === undefined) map.set(key, [value]);
  else same.push(value);
}

/**
 * What protects an absolute path, or a folder it lies in; undefined when nothing does. `reader`: git's own files are no
 * obstacle to it. What is protected from being read comes first.
 */
export function protectionOf(path: string, reader?: "git"): Protection | undefined {
  const names = path.split("/").filter((name) => name !== "");
  const [first = ""] = names;
  if (KERNEL_FOLDERS.includes(first))
    return {
      class: "kernel",
      from: "read and write",
      rule: `built-in protection of /${first}: it is a door into the kernel`,
    };
  const folded = names.map(foldName);
  let weaker: Protection | undefined;
  for (let index = 0; index < folded.length; index += 1) {
    for (const found of protectionsAt(folded, index)) {
      if (reader === "git" && found.class === GIT_STORE) continue;
      if (found.from === "read and write") return found;
      weaker ??= found;
    }
  }
  return weaker;
}

function* protectionsAt(folded: readonly string[], index: number): Generator<Protection> {
  const name = folded[index] as string;
  const { exact, byStart, byEnd } = tables();
  const fits = ({ above, unless }: Sequence): boolean => isBelow(folded, index, above) && unless?.test(name) !== true;
  for (const sequence of exact.get(name) ?? []) if (fits(sequence)) yield sequence.protection;
  for (const wilds of [byStart.get(name.slice(0, CERTAIN)), byEnd.get(name.slice(-CERTAIN))]) {
    for (const { start, end, sequence } of wilds ?? []) {
      if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end)) continue;
      if (fits(sequence)) yield sequence.protection;
    }
  }
  if (isGitObject(folded, index)) yield GIT_OBJECT;
}

/** Whether the names before `index` end with these; "" stands for the beginning of the path. */
function isBelow(folded: readonly string[], index: number, above: readonly string[]): boolean {
  const from = index - above.length;
  return above.every((part, at) => {
    if (part === "") return from + at === -1;
    const name = folded[from + at];
    if (name === undefined) return false;
    const [start, end] = part.split("*") as [string, string | undefined];
    return end === undefined ? name === part : name.startsWith(start) && name.endsWith(end);
  });
}

/** A store of git's wherever it lies, and under whatever name: copies, alternates, `--separate-git-dir`. */
const GIT_OBJECT: Protection = Object.freeze({
  class: GIT_STORE,
  from: "read and write",
  rule: "built-in protection of git's objects: git keeps every version of protected files in them",
});
const PAIR = /^[0-9a-f]{2}$/;
/** The rest of a name by SHA-1 or by SHA-256. */
const LOOSE = /^(?:[0-9a-f]{38}|[0-9a-f]{62})$/;
const PACK = /^pack-(?:[0-9a-f]{40}|[0-9a-f]{64})(?:\..*)?$/;
const LARGE_FILE = /^[0-9a-f]{64}$/;

/** A loose object, a pack with what belongs to it, a large file. */
function isGitObject(folded: readonly string[], index: number): boolean {
  const name = folded[index] as string;
  const above = folded[index - 1] ?? "";
  if (name.length === 38 || name.length === 62) return PAIR.test(above) && LOOSE.test(name);
  if (name.startsWith("pack-")) return PACK.test(name);
  return (
    name.length === 64 && above === name.slice(2, 4) && folded[index - 2] === name.slice(0, 2) && LARGE_FILE.test(name)
  );
}
