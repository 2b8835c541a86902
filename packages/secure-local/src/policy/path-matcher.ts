// Finds the path rule that fits a path among many, by looking only at rules that share a literal segment with it.
import { matchSegments, segments } from "./path-pattern.js";
import type { PatternRule, Rule } from "./rule.js";

interface Glob {
  readonly pattern: readonly string[];
  readonly rule: Rule;
}

export class PathMatcher {
  readonly rules: readonly PatternRule[];
  readonly #fold: boolean;
  readonly #byLiteral: Map<string, Glob[]> = new Map();
  readonly #others: Glob[] = [];

  /**
   * @param fold Compare without regard to case and Unicode form. Denials do, because some file systems do: a rule
   *   against `.ssh` must also hold for `.SSH`. Permissions never do.
   */
  constructor(rules: readonly PatternRule[], fold: boolean) {
    this.rules = rules;
    this.#fold = fold;
    for (const { pattern, rule } of rules) {
      const glob = { pattern: segments(this.#form(pattern)), rule };
      // The last literal segment is the most telling one: many rules begin with the same folder.
      const literal = glob.pattern.findLast((segment) => !/[*?]/.test(segment));
      if (literal === undefined) this.#others.push(glob);
      else this.#byLiteral.set(literal, [...(this.#byLiteral.get(literal) ?? []), glob]);
    }
  }

  /** The rule that names this absolute path, if any. */
  find(path: string): Rule | undefined {
    const parts = segments(this.#form(path));
    for (const part of parts) {
      const glob = this.#byLiteral.get(part)?.find(({ pattern }) => matchSegments(pattern, parts));
      if (glob) return glob.rule;
    }
    return this.#others.find(({ pattern }) => matchSegments(pattern, parts))?.rule;
  }

  #form(text: string): string {
    return this.#fold ? text.normalize("NFC").toLowerCase() : text;
  }
}
