// Ends the processes of a stage, and no others: what it remembers by number is looked at before it is ended.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { remembered } from "./stage-folder.mjs";

/** Milliseconds that processes have to end by themselves. */
const PATIENCE_MS = 15_000;
const PAUSE_MS = 50;

/** Whether a process is over; a zombie is. */
export function endOf(pid) {
  try {
    return /^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // There is no such process; elsewhere than on Linux a signal tells.
  }
  try {
    process.kill(pid, 0);
    return process.platform === "linux";
  } catch {
    return true;
  }
}

/** Whether a process that runs names the folder of this stage in its command: the number alone may be another's by now. */
export function isOurs({ folder }, pid) {
  if (pid === undefined || endOf(pid)) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
  } catch {
    // No /proc: the number is all there is.
    return process.platform !== "linux";
  }
}

/** The keeper first, which ends what it has started; then what is left, as after a keeper that was killed; the browser last. */
export async function endProcesses(stage) {
  const [keeper, ...others] = remembered(stage, "children", []);
  await endAll(stage, [keeper]);
  await endAll(stage, [...others, remembered(stage, "browser", {}).pid]);
}

async function endAll(stage, pids) {
  const running = () => pids.filter((pid) => isOurs(stage, pid));
  for (const pid of running()) process.kill(pid, "SIGTERM");
  const late = Date.now() + PATIENCE_MS;
  while (running().length > 0 && Date.now() < late) await sleep(PAUSE_MS);
  for (const pid of running()) process.kill(pid, "SIGKILL");
}
