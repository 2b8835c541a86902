// Finds processes that outlive whoever started them: by what their command lines say, and by whose children they were.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { processIdentity } from "../measure/process-stats.mjs";

const POLL_MS = 2;

/** Processes, but for this one and zombies, whose command line has one of the marks. */
export function carriers(...marks) {
  return pids().filter((pid) => {
    if (pid === process.pid || processIdentity(pid) === undefined) return false;
    const line = read(`/proc/${pid}/cmdline`);
    return marks.some((mark) => line.includes(mark));
  });
}

/** All that descends from a process, each `[pid, identity]`. */
export function descendants(root) {
  const parents = new Map(pids().map((pid) => [pid, parentOf(pid)]));
  const found = new Set([root]);
  // A parent may have a higher id than its child, so look until nothing is found any more.
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  found.delete(root);
  return [...found].map((pid) => [pid, processIdentity(pid)]).filter(([, identity]) => identity !== undefined);
}

/** Waits until `left()`, a list of process ids, is empty, but no longer than `limitMs`; ends those that are left. */
export async function settle(left, limitMs) {
  const from = performance.now();
  while (left().length > 0 && performance.now() - from < limitMs) await delay(POLL_MS);
  const ms = performance.now() - from;
  const rest = left();
  for (const pid of rest) process.kill(pid, "SIGKILL");
  return { left: rest.length, ms };
}

function pids() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Empty for a process that has ended meanwhile. */
function read(file) {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
