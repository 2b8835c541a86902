// Waits for what has to happen soon, and says what did not: a test that waits for its own time limit names nothing.

/** Long enough for a machine that does much else. */
const MOST_MS = 10_000;

/** As the promise; rejects with `what` when that takes too long. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${MOST_MS} ms: ${what}`)), MOST_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
