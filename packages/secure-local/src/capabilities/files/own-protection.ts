// What protects a path, and the protection of what is the program's own.
import type { From } from "./protected-names.js";

/** What the names of a path say about it. */
export interface Protection {
  /** The class of names (`protected-names.ts`), `kernel`, or `own` for the program's own files. */
  readonly class: string;
  /** `write`: it may be read, and is neither written nor removed. */
  readonly from: From;
  readonly rule: string;
}

export const OWN: Protection = Object.freeze({
  class: "own",
  from: "read and write",
  rule: "built-in protection of this program's own files",
});

export const PROGRAM: Protection = Object.freeze({
  class: "own",
  from: "write",
  rule: "built-in protection of this program's own code, and of Node",
});

export const STARTED: Protection = Object.freeze({
  class: "own",
  from: "write",
  rule: "built-in protection of what the policy starts, or shows to every program, without a hash (sha256)",
});
