// Describes the section `commands`: what may be run, with which arguments, and what never is.
import type { NetworkPolicy } from "./reach-policy.js";
import type { PatternRule, Rule } from "./rule.js";

/** What one argument may be. */
export type ArgumentGrammar =
  /** `fixed`: this very text. */
  | { readonly kind: "fixed"; readonly text: string }
  /** `enum`: one of these texts. */
  | { readonly kind: "enum"; readonly values: readonly string[] }
  /** `pattern`: a regular expression (RE2: linear time, no look-around) that the whole text fits. */
  | { readonly kind: "pattern"; readonly source: string; readonly fits: (text: string) => boolean }
  /** `path`: a path that the filesystem section allows to be read, or written. */
  | { readonly kind: "path"; readonly access: "read" | "write" }
  /** `integer`: a whole number between two bounds, both included. */
  | { readonly kind: "integer"; readonly min: number; readonly max: number };

/** One item of `arguments`: what stands at a position. */
export interface PositionRule {
  readonly rule: Rule;
  readonly grammar: ArgumentGrammar;
  /** `optional`: it may be missing; so may then everything behind it. Default false. */
  readonly optional: boolean;
  /** `repeat`: the most times it may stand there, default 1; more than 1 only at the last position. */
  readonly repeat: number;
}

/** One item of `flags`: an option that may stand anywhere behind the `fixed` arguments that begin the list, at most once. */
export interface FlagRule {
  readonly rule: Rule;
  /** `flag`: with its dashes, as in `--max-count`. */
  readonly flag: string;
  /** The grammar of its value, which follows as the next argument or after `=`; undefined for a switch. */
  readonly value: ArgumentGrammar | undefined;
}

/** One item of `commands.allowed`. */
export interface AllowedCommand {
  /** `name`: what `run_command` and plugins call it. */
  readonly name: string;
  readonly rule: Rule;
  /** `executable`: absolute path; `~` and `${NAME}` expanded. */
  readonly executable: string;
  /** `sha256` of the executable's bytes in lower-case hexadecimal; without it any content runs. */
  readonly sha256: string | undefined;
  /** `arguments`: what may stand at each position, in order; an absent list allows no operand. */
  readonly positions: readonly PositionRule[];
  /** `flags`. */
  readonly flags: readonly FlagRule[];
  /** `env`: the whole environment of the process; nothing is inherited. */
  readonly env: ReadonlyMap<string, string>;
  /** `working_directory`: absolute; undefined means an empty folder of its own. */
  readonly workingDirectory: string | undefined;
  /** `timeout` in seconds, default 30. Here in milliseconds. */
  readonly timeoutMs: number;
  /** `network`: the same keys as the section of that name; absent: no network at all. */
  readonly network: NetworkPolicy;
}

/** Section `commands`. */
export interface CommandsPolicy {
  /** `blocked`: commands that are never run, by the last part of their path; stronger than `allowed`. */
  readonly blocked: readonly PatternRule[];
  /** `allowed` (ours): nothing else is run. By name. */
  readonly allowed: ReadonlyMap<string, AllowedCommand>;
}
