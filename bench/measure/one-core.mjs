// Keeps this process and those it starts on one core, so that a round trip is the work of both sides and not the time an
// idle core takes to wake up, which is several times as much and changes from minute to minute.
import { execFileSync } from "node:child_process";

/** Runs `work` on one core; where that cannot be arranged (no taskset), as it is. Returns `{ value, pinned }`. */
export async function onOneCore(work) {
  const before = affinity();
  const pinned = before !== undefined && pin(before.split(/[-,]/).at(-1));
  try {
    return { value: await work(), pinned };
  } finally {
    if (pinned) pin(before);
  }
}

/** The cores this process may use, as taskset writes them: "0-3,6"; undefined where nobody tells. */
function affinity() {
  try {
    const said = execFileSync("taskset", ["-pc", String(process.pid)], { encoding: "utf8", stdio: "pipe" });
    return said.slice(said.lastIndexOf(":") + 1).trim();
  } catch {
    return undefined;
  }
}

function pin(cores) {
  try {
    execFileSync("taskset", ["-apc", cores, String(process.pid)], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}
