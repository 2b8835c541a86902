// Matches names of tools and prompts and URIs of resources: exactly, or by a prefix ending in `*`.
import type { PatternRule, Rule } from "./rule.js";

export class NameMatcher {
  readonly rules: readonly PatternRule[];
  readonly #exact: Map<string, Rule> = new Map();
  /** Prefixes by their length, so that a name is looked up once for each length and not once for each rule. */
  readonly #prefixes: Map<number, Map<string, Rule>> = new Map();

  constructor(rules: readonly PatternRule[]) {
    this.rules = rules;
    for (const { pattern, rule } of rules) {
      if (pattern.endsWith("*")) addPrefix(this.#prefixes, pattern.slice(0, -1), rule);
      else if (!this.#exact.has(pattern)) this.#exact.set(pattern, rule);
    }
  }

  /** The rule that names this, if any. */
  find(name: string): Rule | undefined {
    return this.findExact(name) ?? this.findPrefix(name);
  }

  findExact(name: string): Rule | undefined {
    return this.#exact.get(name);
  }

  findPrefix(name: string): Rule | undefined {
    for (const [length, prefixes] of this.#prefixes) {
      const rule = name.length >= length ? prefixes.get(name.slice(0, length)) : undefined;
      if (rule) return rule;
    }
    return undefined;
  }
}

function addPrefix(prefixes: Map<number, Map<string, Rule>>, prefix: string, rule: Rule): void {
  const same = prefixes.get(prefix.length) ?? new Map<string, Rule>();
  if (!same.has(prefix)) same.set(prefix, rule);
  prefixes.set(prefix.length, same);
}
