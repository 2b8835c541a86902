// How far the memory of this process rises while something is done: its peak on Linux, elsewhere what is left at the end.
import { readFileSync, writeFileSync } from "node:fs";

/** What `act` resolves with, and by how many bytes the resident memory was higher at its highest than before. */
export async function peakOf(act) {
  globalThis.gc?.();
  const canReset = resetPeak();
  const before = process.memoryUsage.rss();
  const got = await act();
  return { got, bytes: Math.max(0, (canReset ? peak() : process.memoryUsage.rss()) - before) };
}

/** Linux forgets the highest mark when told to. */
function resetPeak() {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
    return true;
  } catch {
    return false;
  }
}

function peak() {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? 0) * 1_024;
}
