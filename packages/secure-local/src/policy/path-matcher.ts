// Finds the path rule that fits a path among many, by looking only at rules that share a telling part with it, in one
// form for all spellings.
import type { PatternRule, Rule } from "./faults.js";

// Brings names and paths into one form that is the same for all spellings which some file system takes for one another.

/** Nothing but ASCII, as most paths are: only the case of letters can vary. */
const PLAIN = /^[\u0020-\u007e]*$/;

/**
 * Case, Unicode form and characters that nobody sees make no difference in it, as on file systems that fold names (APFS, NTFS, FAT,
 * folders of ext4 that are told to): for them `\u00df` is `ss` as well. Slashes stay where they are.
 */
export function foldCase(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return withoutIgnorable(foldLetters(text.normalize("NFC"))).normalize("NFC");
}

/** Letters that have no small or no capital form of one character need all three steps. */
export function foldLetters(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase();
}

/** Characters some file systems leave out when they compare names (HFS+), and others that cannot be seen. */
export function withoutIgnorable(text: string): string {
  // Not at the top of the file: there this pattern would have every start look up Unicode's tables.
  return text.replace(/\p{Default_Ignorable_Code_Point}/gu, "");
}

/**
 * A text as people and forgiving tools read it: without controls and what else nobody sees, marks on letters, other forms of the same
 * letters, blanks around it, and more than one blank in a row.
 */
export function foldText(text: string): string {
  const isPlain = PLAIN.test(text);
  const blank = (isPlain ? text : text.normalize("NFKD").replace(/\p{M}/gu, "")).replace(/\s+/g, " ");
  return (isPlain ? blank.toLowerCase() : foldCase(blank.replace(/\p{C}/gu, ""))).trim();
}

interface Glob {
  readonly pattern: readonly string[];
  readonly rule: Rule;
}

export class PathMatcher {
  readonly rules: readonly PatternRule[];
  readonly #fold: boolean;
  /** Under one of their literal segments: the one that fewest rules have. */
  readonly #byLiteral: Map<string, Glob[]> = new Map();
  /** Without a literal segment: under what follows the last wildcard of the file's name, by its length. */
  readonly #byTail: Map<number, Map<string, Glob[]>> = new Map();
  readonly #others: Glob[] = [];

  /**
   * @param fold Compare without regard to case and Unicode form. Denials do, because some file systems do: a rule
   *   against `.ssh` must also hold for `.SSH`. Permissions never do.
   */
  constructor(rules: readonly PatternRule[], fold: boolean) {
    this.rules = rules;
    this.#fold = fold;
    const globs = rules.map(({ pattern, rule }): Glob => ({ pattern: segments(this.#form(pattern)), rule }));
    const counts = countLiterals(globs);
    for (const glob of globs) {
      const literal = rarest(glob.pattern.filter(isLiteral), counts);
      const tail = literal === undefined ? tailOf(glob.pattern) : "";
      if (literal !== undefined) push(this.#byLiteral, literal, glob);
      else if (tail === "") this.#others.push(glob);
      else {
        const same = this.#byTail.get(tail.length) ?? new Map<string, Glob[]>();
        this.#byTail.set(tail.length, same);
        push(same, tail, glob);
      }
    }
  }

  /** The rule that names this absolute path, if any. */
  find(path: string): Rule | undefined {
    return this.#find(segments(this.#form(path)));
  }

  /** The rule that names this absolute path or a folder it lies in, if any. */
  findAround(path: string): Rule | undefined {
    if (this.rules.length === 0) return undefined;
    const parts = segments(this.#form(path));
    for (let length = parts.length; length > 0; length--) {
      const rule = this.#find(length === parts.length ? parts : parts.slice(0, length));
      if (rule) return rule;
    }
    return undefined;
  }

  #find(parts: readonly string[]): Rule | undefined {
    const fits = ({ pattern }: Glob): boolean => matchSegments(pattern, parts);
    for (const part of parts) {
      const glob = this.#byLiteral.get(part)?.find(fits);
      if (glob) return glob.rule;
    }
    const last = parts[parts.length - 1] ?? "";
    for (const [length, tails] of this.#byTail) {
      const glob = last.length >= length ? tails.get(last.slice(-length))?.find(fits) : undefined;
      if (glob) return glob.rule;
    }
    return this.#others.find(fits)?.rule;
  }

  #form(text: string): string {
    return this.#fold ? foldCase(text) : text;
  }
}

function isLiteral(segment: string): boolean {
  return !/[*?]/.test(segment);
}

function countLiterals(globs: readonly Glob[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { pattern } of globs) {
    for (const segment of pattern.filter(isLiteral)) counts.set(segment, (counts.get(segment) ?? 0) + 1);
  }
  return counts;
}

/** The later of two that are equally rare: many rules begin with the same folder. */
function rarest(literals: readonly string[], counts: ReadonlyMap<string, number>): string | undefined {
  let best: string | undefined;
  for (const literal of literals) {
    if (best === undefined || counts.get(literal)! <= counts.get(best)!) best = literal;
  }
  return best;
}

function tailOf(pattern: readonly string[]): string {
  const last = pattern[pattern.length - 1] ?? "";
  return last.slice(Math.max(last.lastIndexOf("*"), last.lastIndexOf("?")) + 1);
}

function push(map: Map<string, Glob[]>, key: string, glob: Glob): void {
  const same = map.get(key);
  if (same) same.push(glob);
  else map.set(key, [glob]);
}

// Matches absolute paths against glob patterns in time that grows with pattern times path, whatever they are.
//
// `*` and `?` stay inside one segment; `**` alone as a segment stands for any number of segments, none included.

const UNSUPPORTED = /[[\]{}!\\]/;

/** Undefined when the pattern can be used; otherwise a sentence about what is wrong with it. */
export function pathPatternFault(pattern: string): string | undefined {
  if (pattern.includes("\0")) return "a path cannot hold a NUL character";
  if (!isAbsolutePattern(pattern)) return `"${pattern}" is not absolute; begin it with /, ~/, \${HOME}/ or **/`;
  if (UNSUPPORTED.test(pattern)) return `"${pattern}" has a character that patterns do not know; use *, ** and ? only`;
  for (const segment of segments(pattern)) {
    if (segment === "." || segment === "..")
      return `"${pattern}" has the segment "${segment}"; write the path without it`;
    if (segment.length > 2 && segment.includes("**"))
      return `"${pattern}" has ** inside a name; ** must stand alone between slashes`;
  }
  return undefined;
}

export function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

/** Whether the segments of a path fit the segments of a pattern. */
export function matchSegments(pattern: readonly string[], path: readonly string[]): boolean {
  const last = pattern.length - 1;
  // Most patterns fail at the name of the file, so that is looked at before anything else.
  if (last >= 0 && pattern[last] !== "**" && !matchName(pattern[last]!, path[path.length - 1] ?? "")) return false;
  let [p, s, star, mark] = [0, 0, -1, 0];
  while (s < path.length) {
    if (pattern[p] === "**") [star, mark] = [p++, s];
    else if (p < pattern.length && matchName(pattern[p]!, path[s]!)) [p, s] = [p + 1, s + 1];
    else if (star >= 0) [p, s] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[p] === "**") p++;
  return p === pattern.length;
}

/** Whether a name fits a pattern of one segment. */
function matchName(pattern: string, name: string): boolean {
  let [p, s, star, mark] = [0, 0, -1, 0];
  while (s < name.length) {
    const wanted = pattern[p];
    if (wanted === "*") [star, mark] = [p++, s];
    else if (wanted === "?" || wanted === name[s]) [p, s] = [p + 1, s + 1];
    else if (star >= 0) [p, s] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

function isAbsolutePattern(pattern: string): boolean {
  return pattern.startsWith("/") || pattern.startsWith("**/") || /^[A-Za-z]:\//.test(pattern);
}
