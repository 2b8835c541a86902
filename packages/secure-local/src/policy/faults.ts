// Rules of a policy by their lines, and the faults of one policy file, collected so that all of them are told at
// once.

export interface PolicyFault {
  readonly file: string;
  /** Counted from 1; 1 when the fault is the file's as a whole. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** It is about the file and no place in it: `line` and `column` say nothing then. */
  readonly placeless?: true;
}

/** Faults told at once: enough to mend a file in one go, few enough to read. */
export const MAX_FAULTS = 20;

/** Its message has one line a fault: `FILE:LINE:COLUMN: what and what to do`, or `FILE: …` where it is about no place. */
export class PolicyError extends Error {
  readonly errors: readonly PolicyFault[];

  constructor(errors: readonly PolicyFault[]) {
    super(errors.map((fault) => inOneLine(`${placeOf(fault)}: ${fault.message}`)).join("\n"));
    this.name = "PolicyError";
    this.errors = errors;
  }
}

const LINE_BREAKS = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g;

/** A sentence with a name in it that a stranger may have chosen: no line of it is theirs. */
export function inOneLine(sentence: string): string {
  return sentence.replace(LINE_BREAKS, "\\n");
}

function placeOf({ file, line, column, placeless }: PolicyFault): string {
  return placeless === true ? file : `${file}:${line}:${column}`;
}

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

interface Noted {
  readonly line: number;
  readonly column: number;
  readonly message: string | (() => string);
}

export class Faults {
  readonly #file: string;
  readonly #list: Noted[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  get count(): number {
    return this.#list.length;
  }

  /** A message that takes long to find is given as what finds it: only the first faults are ever told. */
  add({ line, column }: Place, message: string | (() => string)): void {
    this.#list.push({ line, column, message });
  }

  /** @throws PolicyError when there is any fault; the first ones by place. */
  throwIfAny(): void {
    if (this.#list.length === 0) return;
    const sorted = this.#list.toSorted((a, b) => a.line - b.line || a.column - b.column);
    throw new PolicyError(
      sorted.slice(0, MAX_FAULTS).map(({ line, column, message }) => {
        return { file: this.#file, line, column, message: typeof message === "string" ? message : message() };
      }),
    );
  }
}
