// The processor time of the calling thread alone: the other threads of a test run do not count into it.
import { readFileSync } from "node:fs";

const LINUX_ACCOUNT = "/proc/thread-self/schedstat";

/** Milliseconds; where the system does not tell, those of the whole process. */
export function threadMilliseconds(): number {
  if (process.platform === "linux") return Number.parseInt(readFileSync(LINUX_ACCOUNT, "utf8"), 10) / 1_000_000;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
