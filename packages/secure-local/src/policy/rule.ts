// Names the rule behind a decision, and where it stands in the policy file.

/** One rule: its section, key and value as a person wrote them; line and column are absent in the built-in policy. */
export interface Rule {
  readonly text: string;
  readonly line?: number;
  readonly column?: number;
}

/** A pattern of the policy and the rule it belongs to. */
export interface PatternRule {
  readonly pattern: string;
  readonly rule: Rule;
}

/** A place in the policy file, counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The rule for one pattern of a list such as `tools.allowed`. */
export function patternRule(list: string, pattern: string, place?: Place): PatternRule {
  return { pattern, rule: { text: `${list}: ${pattern}`, ...place } };
}
