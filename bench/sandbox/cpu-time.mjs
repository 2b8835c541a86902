// The processor time of a start, everything that had a part in it counted, by the kernel's own account (a control group):
// what others do on the machine hardly shows in it.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";

const VERSION_1 = "/sys/fs/cgroup/cpuacct";
const VERSION_2 = "/sys/fs/cgroup";
const NS_IN_MS = 1_000_000;
const US_IN_MS = 1_000;
/** Starts of one kind one after the other: what a start leaves for later is counted with its own kind. */
const IN_A_ROW = 5;

/**
 * Milliseconds a start of each kind took, this process's own part in it included: for each kind a list, one number a round, in which the
 * kinds took turns. Undefined where no control group may be made.
 */
export async function cpuTimes(kinds, count) {
  const group = openGroup();
  if (group === undefined) return undefined;
  const times = kinds.map(() => []);
  try {
    for (let round = 0; round < Math.ceil(count / IN_A_ROW); round += 1)
      for (const [index, { work }] of kinds.entries()) {
        await work();
        const before = group.usedMs();
        for (let turn = 0; turn < IN_A_ROW; turn += 1) await work();
        times[index].push((group.usedMs() - before) / IN_A_ROW);
      }
  } finally {
    group.close();
  }
  return times;
}

/** This process and all it starts are in it until it is closed. */
function openGroup() {
  const first = existsSync(`${VERSION_1}/cgroup.procs`);
  const parent = first ? VERSION_1 : VERSION_2;
  const folder = `${parent}/bench-sandbox-${process.pid}`;
  const usedMs = first
    ? () => Number(readFileSync(`${folder}/cpuacct.usage`, "utf8")) / NS_IN_MS
    : () => Number(/^usage_usec (\d+)$/m.exec(readFileSync(`${folder}/cpu.stat`, "utf8"))?.[1]) / US_IN_MS;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/cgroup.procs`, String(process.pid));
    const close = () => {
      writeFileSync(`${parent}/cgroup.procs`, String(process.pid));
      // A process may be there that is just ending.
      for (let tries = 0; tries < 1_000 && existsSync(folder); tries += 1) tryRemoving(folder);
    };
    return { usedMs, close };
  } catch {
    return undefined;
  }
}

function tryRemoving(folder) {
  try {
    rmdirSync(folder);
  } catch {
    // Tried again.
  }
}
