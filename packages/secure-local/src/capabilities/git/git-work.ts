// What one request has read and unpacked so far: ends it at its limit, or when it is cancelled.
import { GitError } from "./git-error.js";
import { MAX_WORK_BYTES } from "./git-limits.js";

export class GitWork {
  readonly signal: AbortSignal | undefined;
  #left = MAX_WORK_BYTES;

  constructor(signal?: AbortSignal) {
    this.signal = signal;
  }

  /** Counts bytes before they are read or unpacked. @throws GitError `too-large`, the signal's reason */
  take(bytes: number): void {
    this.signal?.throwIfAborted();
    this.#left -= bytes;
    if (this.#left < 0) throw new GitError("too-large", "Reading this from the repository takes too much memory.");
  }
}
