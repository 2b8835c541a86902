// The error of a policy that cannot be used: every fault in it, each with its place and what to do.

export interface PolicyFault {
  readonly file: string;
  /** Counted from 1; 1 when the fault is the file's as a whole. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Faults told at once: enough to mend a file in one go, few enough to read. */
export const MAX_FAULTS = 20;

/** Its message has one line a fault: `FILE:LINE:COLUMN: what and what to do`. */
export class PolicyError extends Error {
  readonly errors: readonly PolicyFault[];

  constructor(errors: readonly PolicyFault[]) {
    super(errors.map((fault) => `${fault.file}:${fault.line}:${fault.column}: ${fault.message}`).join("\n"));
    this.name = "PolicyError";
    this.errors = errors;
  }
}
