// Notices that the parent process is gone, which the end of input tells only while nobody else holds the pipe.

// An orphan may live for 100 ms, and on a busy machine needs half of them to end. Waking up more often would show in what
// an idle server takes of its core, which is a third of a percent like this.
const INTERVAL_MS = 40;

/** Calls `onGone` once the process that started this one has ended. Returns the function that stops watching. */
export function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
