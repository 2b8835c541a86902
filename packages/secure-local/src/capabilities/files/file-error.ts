// The error of a file operation that was refused or failed: what happened, never what lies outside the allowed folders.

/** Why an operation did not happen. */
export type FileFailure =
  /** The path is no plain absolute path. */
  | "bad-path"
  /** A rule refuses it. */
  | "denied"
  | "not-found"
  | "exists"
  | "not-a-file"
  | "not-a-folder"
  /** Too many bytes or entries. */
  | "too-large"
  | "hard-link"
  | "link"
  /** It was changed by somebody else meanwhile. */
  | "changed"
  /** No space, no permission of the system, too many open files. */
  | "system";

/** `message` is a sentence fit for the model and the user; the only paths in it are the caller's own and the policy's. */
export class FileError extends Error {
  readonly code: FileFailure;
  /** The rule behind a refusal, for the audit record. */
  readonly rule: string | undefined;

  constructor(code: FileFailure, message: string, rule?: string) {
    super(message);
    this.name = "FileError";
    this.code = code;
    this.rule = rule;
  }
}
