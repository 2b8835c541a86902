// The error of a request that was refused or failed: what happened and to whom, never an address.

/** Why a request has no answer. */
export type FetchFailure =
  | "bad-url"
  | "denied"
  | "unresolvable"
  | "not-public"
  | "connect"
  | "redirect"
  | "too-large"
  | "encoding"
  | "timeout"
  | "cancelled"
  | "broken";

/** `message` is a sentence fit for the model and the user; it names hosts that the caller named, and classes of addresses. */
export class FetchError extends Error {
  readonly code: FetchFailure;
  /** The rule that refused, and its line, for the audit record; undefined when nothing was refused. */
  readonly rule: string | undefined;

  constructor(code: FetchFailure, message: string, rule?: string) {
    super(message);
    this.name = "FetchError";
    this.code = code;
    this.rule = rule;
  }
}
