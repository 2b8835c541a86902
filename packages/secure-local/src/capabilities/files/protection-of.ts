// Knows what the names of a path protect it from, in whatever spelling, without a look at the disk.
import { homedir } from "node:os";
import { foldLetters, withoutIgnorable } from "../../policy/path-matcher.js";
import { GIT_STORE, KERNEL_FOLDERS, NAME_CLASSES, namesIn, type Protection } from "./protected-names.js";

// Brings a name into the one form in which protected names are compared, so that no spelling of them slips through.

/** Plain names, which most are: nothing but the case of their letters can vary. */
const PLAIN = /^[!-9;-}]*[!-,/-9;-}]$/;
/** Windows cuts these off, and takes what follows a colon for the name of a stream. */
const TAIL = /(?:(?<=.):.*|(?<![. ])[. ]+)$/su;

/** Case, Unicode form, invisible characters, trailing dots and spaces and stream names make no difference in it. */
export function foldName(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return foldLetters(withoutIgnorable(name.normalize("NFKC")))
    .normalize("NFKC")
    .replace(TAIL, "");
}

// Finds out whether a path is one of those no tool reaches, in whatever spelling, and what it is protected from.

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
  /** The home folder that `~` of a name stands for. */
  readonly home: string;
  readonly exact: Map<string, Sequence[]>;
  readonly byStart: Map<string, Wild[]>;
  readonly byEnd: Map<string, Wild[]>;
  /** Names of folders that others stand below. */
  readonly above: Set<string>;
  /** All that protected names of several parts begin with; of them those at which a link leads on to what is more than a secret. */
  readonly beginnings: (readonly string[])[];
  readonly links: (readonly string[])[];
}

const CERTAIN = 2;
/** Classes of what is kept from being read, more than from being written. */
const SECRETS: ReadonlySet<string> = new Set(["keys", "credentials", "histories", "browsers"]);

/** Made for the first path that is looked at: most sessions open no file. */
let made: Tables | undefined;

function tables(): Tables {
  const own = homedir();
  if (made?.home === own) return made;
  made = {
    home: own,
    exact: new Map(),
    byStart: new Map(),
    byEnd: new Map(),
    above: new Set(),
    beginnings: [],
    links: [],
  };
  const home = own.split(/[/\\]/).filter(Boolean).map(foldName);
  for (const names of NAME_CLASSES) {
    for (const { name, from, unless } of namesIn(names)) {
      const protection = { class: names.id, from, rule: `built-in protection of ${name}: ${names.reason}` };
      const [first, ...rest] = name.split("/") as [string, ...string[]];
      add(made, first === "~" ? ["", ...home, ...rest] : [first, ...rest], { unless, protection });
    }
  }
  return made;
}

function add(
  { exact, byStart, byEnd, above, beginnings, links }: Tables,
  parts: string[],
  rest: Omit<Sequence, "above">,
): void {
  const last = parts.pop() as string;
  const sequence = { above: parts, ...rest };
  for (const [index, part] of parts.entries()) {
    above.add(part);
    if (part === "") continue;
    const beginning = parts.slice(0, index + 1);
    beginnings.push(beginning);
    // Nothing comes of a secret that whoever makes the link put there: `config/secrets.yml`.
    if (!SECRETS.has(rest.protection.class) || /^\.|^$/.test(parts[0] as string)) links.push(beginning);
  }
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

/**
 * Whether protected names of several parts begin with the last names of a path (`.config`, `.local/share`): a link there
 * (`bring`), or a folder that was filled under another name (`fill`), would bring them about unjudged.
 */
export function beginsProtected(path: string, by: "bring" | "fill"): boolean {
  const folded = path
    .split("/")
    .filter((name) => name !== "")
    .map(foldName);
  const { beginnings, links } = tables();
  return (by === "fill" ? beginnings : links).some((parts) => isBelow(folded, folded.length, parts));
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

/** Whether a name may be protected in some folder, or begin protected names. */
export function mayCount(name: string): boolean {
  const { exact, byStart, byEnd, above } = tables();
  const folded = foldName(name);
  return (
    exact.has(folded) ||
    above.has(folded) ||
    byStart.has(folded.slice(0, CERTAIN)) ||
    byEnd.has(folded.slice(-CERTAIN)) ||
    [38, 62, 64].includes(folded.length) ||
    folded.startsWith("pack-")
  );
}

/** Whether something protected may lie in a folder of this name. */
export function leadsOn(name: string): boolean {
  return tables().above.has(foldName(name));
}
