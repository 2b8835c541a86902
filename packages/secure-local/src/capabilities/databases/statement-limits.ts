// Limits of one statement and of what it answers.

/** Characters of one cell; a model needs no more to know what it is. */
export const MAX_CELL = 2_000;
/** Characters of all cells: about 50,000 tokens. */
export const MAX_ANSWER = 200_000;

export interface StatementLimits {
  /** Rows. */
  readonly limit: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}
