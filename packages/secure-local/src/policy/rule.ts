// Names the rule behind a decision, and where it stands in the policy file.

/** A place in the policy file, counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
  /** The preset it came from; line and column are then those of `extends`. */
  readonly preset?: string;
}

/** One rule: its section, key and value as a person wrote them; line and column are absent in the built-in policy. */
export interface Rule extends Partial<Place> {
  readonly text: string;
}

/** A pattern of the policy and the rule it belongs to. */
export interface PatternRule {
  readonly pattern: string;
  readonly rule: Rule;
}

/** The rule that a key and its value make. */
export function ruleAt(key: string, value: string | number | boolean, place?: Place): Rule {
  const preset = place?.preset === undefined ? "" : `preset ${place.preset}, `;
  return { text: `${preset}${key}: ${value}`, ...place };
}

/** The rule for one pattern of a list such as `tools.allowed`. */
export function patternRule(list: string, pattern: string, place?: Place): PatternRule {
  return { pattern, rule: ruleAt(list, pattern, place) };
}
