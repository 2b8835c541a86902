// The one error of the audit layer: a record could not be kept, or a log cannot be used.

/**
 * Why: the file failed, was written by somebody else, no longer has its name, is not one of ours, is in use; too much waits,
 * or the log is closed.
 */
export type AuditErrorCode = "io" | "foreign_writer" | "taken_away" | "not_ours" | "in_use" | "queue_full" | "closed";

export class AuditError extends Error {
  readonly code: AuditErrorCode;
  readonly file: string;

  constructor(code: AuditErrorCode, file: string, message: string, options?: ErrorOptions) {
    super(`${file}: ${message}`, options);
    this.name = "AuditError";
    this.code = code;
    this.file = file;
  }
}

const CANNOT_OPEN = {
  what: "the audit log cannot be opened",
  advice: "Fix it or name another file in audit.log_file.",
};

/** Runs an action whose errors mean that the log cannot be opened. */
export function orAuditError<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw toAuditError(error, file, CANNOT_OPEN);
  }
}

/** The error itself when it is ours; otherwise one that says what failed, why, and what to do. */
export function toAuditError(error: unknown, file: string, text: { what: string; advice: string }): AuditError {
  if (error instanceof AuditError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new AuditError("io", file, `${text.what} (${why}). ${text.advice}`, { cause: error });
}
