// Reads CPU time and memory of another process from the operating system: /proc on Linux, `ps` elsewhere.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const hasProc = process.platform === "linux";
/** USER_HZ: the unit of /proc/PID/stat, 100 on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** CPU nanoseconds all threads of `pid` have used: to the nanosecond from schedstat, else to 10 ms. */
export function cpuNanoseconds(pid) {
  if (!hasProc) return cpuFromPs(pid);
  return cpuFromSchedstat(pid) ?? cpuFromStat(pid);
}

/** What `cpuNanoseconds` reads on this machine, for the report. */
export function cpuSource() {
  if (!hasProc) return "ps -o time";
  return cpuFromSchedstat(process.pid) === undefined ? "/proc/PID/stat (10 ms)" : "/proc/PID/task/*/schedstat (1 ns)";
}

/** Resident memory of `pid` in bytes. */
export function residentBytes(pid) {
  if (hasProc) return statusBytes(pid, "VmRSS");
  return Number(ps(pid, "rss")) * 1024;
}

/** The highest resident memory since the start or the last `resetPeak`; where it is not kept, the present one. */
export function peakBytes(pid) {
  return hasProc ? statusBytes(pid, "VmHWM") : residentBytes(pid);
}

/** Starts the peak anew; returns false where the system cannot. */
export function resetPeak(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
    return true;
  } catch {
    return false;
  }
}

/**
 * Names one run of one process, so that a reused id is not mistaken for it.
 * undefined when it is gone or a zombie, which holds nothing but its exit code.
 */
export function processIdentity(pid) {
  try {
    if (!hasProc) return ps(pid, "lstart") || undefined;
    const fields = statFields(pid);
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** /proc/PID/stat after the command name, which may hold spaces and brackets: [0] is the state, [11] utime. */
function statFields(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function cpuFromSchedstat(pid) {
  try {
    let total = 0;
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      total += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "latin1").split(" ", 1)[0]);
    }
    return total;
  } catch {
    return undefined;
  }
}

function cpuFromStat(pid) {
  const fields = statFields(pid);
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e9;
}

function cpuFromPs(pid) {
  const parts = ps(pid, "time").split(/[:-]/).map(Number);
  return parts.reduce((total, part) => total * 60 + part, 0) * 1e9;
}

function statusBytes(pid, field) {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const match = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status);
  if (match === null) throw new Error(`/proc/${pid}/status has no ${field}: has the process ended?`);
  return Number(match[1]) * 1024;
}

function ps(pid, field) {
  return execFileSync("ps", ["-o", `${field}=`, "-p", String(pid)], { encoding: "latin1" }).trim();
}
