// Describes the section `approvals`: which calls need a person's consent, and whose.
import type { NameMatcher } from "./name-matcher.js";
import type { Rule } from "./rule.js";

/** Who may answer: the client's user through elicitation, or the person at a terminal of this machine. */
export type Approver = "client" | "terminal";

/**
 * How long one consent lasts: `none` for the one call it was asked for, `session` until the client has gone, `minutes` for
 * so many. A remembered consent holds for the same tool with the same arguments only.
 */
export type Remember =
  | { readonly kind: "none" }
  | { readonly kind: "session" }
  | { readonly kind: "minutes"; readonly minutes: number };

/** One condition of `when`. */
export interface ArgumentCondition {
  /** The argument's name; dots lead into objects, as in `options.path`. */
  readonly argument: string;
  /** As written: a path pattern when it begins with `/` or `~` or two stars, any other text with `*` and `?`, a number or a yes or no. */
  readonly pattern: string | number | boolean;
  readonly isPath: boolean;
}

/** One item of `approvals`. A call needs consent when any item fits it. */
export interface ApprovalRule {
  readonly rule: Rule;
  /**
   * `approve`: `destructive` (tools that say they destroy or do not say they do not), `tainted` (tools that can send something out, once
   * the session has read private data and texts of strangers), `all`, or names and prefixes of tools.
   */
  readonly approve: "destructive" | "tainted" | "all" | NameMatcher;
  /** `when`: every condition has to fit; without it every call of those tools is meant. */
  readonly when: readonly ArgumentCondition[];
  /** `timeout` in seconds, default 120, at most 300. Here in milliseconds. No answer in time is a refusal. */
  readonly timeoutMs: number;
  /** `remember`: `none` (default), `session`, or minutes from 1 to 60. */
  readonly remember: Remember;
  /** `answer_by`: default both. */
  readonly answerBy: ReadonlySet<Approver>;
}
