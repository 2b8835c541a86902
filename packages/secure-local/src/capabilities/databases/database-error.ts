// The error of a statement that was refused or failed: what happened, never where a database lies or how to get in.

export type DatabaseFailure =
  /** No such database, or one of several has to be named. */
  | "unknown"
  /** A rule or a built-in check refuses it. */
  | "denied"
  /** The database says that the statement is wrong. */
  | "statement"
  | "timeout"
  | "busy"
  | "unreachable";

/** `message` is a sentence fit for the model and the user. */
export class DatabaseError extends Error {
  readonly code: DatabaseFailure;
  /** The rule behind a refusal, for the audit record. */
  readonly rule: string | undefined;

  constructor(code: DatabaseFailure, message: string, rule?: string) {
    super(message);
    this.name = "DatabaseError";
    this.code = code;
    this.rule = rule;
  }
}

export const READ_ONLY_RULE = "built-in rule: statements only read";
