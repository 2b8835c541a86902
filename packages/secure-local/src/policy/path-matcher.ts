// Finds the path rule that fits a path among many, by looking only at rules that share a telling part with it.
import { matchSegments, segments } from "./path-pattern.js";
import type { PatternRule, Rule } from "./rule.js";

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
    return this.#fold ? text.normalize("NFC").toLowerCase() : text;
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
