// Turns SIGTERM and SIGINT into a clean end, and the second of them into an immediate one.

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
// What a shell reports for a process that a signal ended.
const EXIT_CODES: Record<string, number> = { SIGTERM: 143, SIGINT: 130 };

/** Calls `callback` at the first signal; a second one exits at once. Returns the function that stops listening. */
export function onShutdown(callback: (signal: NodeJS.Signals) => void): () => void {
  let asked = false;
  const listener = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(EXIT_CODES[signal]);
    asked = true;
    callback(signal);
  };
  for (const signal of SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener);
  };
}
