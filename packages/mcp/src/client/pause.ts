// Waits for a while, or until a signal says otherwise.

// Longer delays overflow the timer of every runtime and would fire at once.
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after the delay, or when the signal is aborted. Leaves no timer and no listener. */
export function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(delayMs, LONGEST_MS));
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
