// Waits for somebody's decision: not for ever, and never taking silence or a fault for consent.

export interface DecisionOptions {
  readonly timeoutMs: number;
  /** Aborting it ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** What was decided, or why nothing was. */
export type Decision<T> = { readonly value: T } | { readonly missing: string };

/** A person who went to lunch has not agreed. */
export const DECISION_TIMEOUT_MS = 300_000;
// Longer delays overflow the timer of every runtime and would fire at once.
const LONGEST_MS = 2 ** 31 - 1;

/** Asks, and resolves with the answer. The question's signal is aborted when nobody waits for the answer any more. Never rejects. */
export function decided<T>(
  ask: (signal: AbortSignal) => T | Promise<T>,
  { timeoutMs, signal }: DecisionOptions,
): Promise<Decision<T>> {
  const asking = new AbortController();
  return new Promise((resolve) => {
    const settle = (decision: Decision<T>): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancelled);
      resolve(decision);
      if ("missing" in decision) asking.abort(decision.missing);
    };
    const cancelled = (): void => settle({ missing: "it was cancelled before anybody decided" });
    const timer = setTimeout(
      () => settle({ missing: `nobody decided within ${timeoutMs} ms` }),
      Math.min(timeoutMs, LONGEST_MS),
    );
    signal?.addEventListener("abort", cancelled);
    if (signal?.aborted === true) return cancelled();
    const failed = (error: unknown): void => settle({ missing: `deciding failed: ${messageOf(error)}` });
    try {
      Promise.resolve(ask(asking.signal)).then((value) => settle({ value }), failed);
    } catch (error) {
      failed(error);
    }
  });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
