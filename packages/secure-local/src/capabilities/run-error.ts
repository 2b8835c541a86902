// The error of a command that was not run, or not to its end: what happened, and which rule refused it.

/** Why there is no result. */
export type RunFailure =
  /** A rule refuses it. */
  | "denied"
  /** The executable is missing, or not the one the policy knows. */
  | "executable"
  /** There is no wall to run it behind. */
  | "no-wall"
  /** Too many run already. */
  | "busy"
  | "cancelled";

/** `message` is a sentence fit for the model and the user. */
export class RunError extends Error {
  override readonly name = "RunError";
  readonly code: RunFailure;
  /** The rule behind a refusal, for the audit record. */
  readonly rule: string | undefined;

  constructor(code: RunFailure, message: string, rule?: string) {
    super(message);
    this.code = code;
    this.rule = rule;
  }
}
