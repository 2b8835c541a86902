// The error of reading from a git repository: what was wrong with it, in a sentence fit for the model and the user.

/** Why nothing was read. */
export type GitFailure =
  /** The folder is no repository, or one whose parts lie elsewhere. */
  | "no-repository"
  | "bad-ref"
  /** There is no such ref, commit, file or folder. */
  | "not-found"
  /** What the repository holds does not fit together. */
  | "damaged"
  | "too-large"
  /** A form of repository that is not read here. */
  | "unsupported";

/** `message` names nothing but what the caller named. */
export class GitError extends Error {
  readonly code: GitFailure;

  constructor(code: GitFailure, message: string) {
    super(message);
    this.name = "GitError";
    this.code = code;
  }
}

export function damaged(what: string): GitError {
  return new GitError("damaged", `The repository is damaged, or no repository: ${what}.`);
}
