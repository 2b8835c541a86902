// What each test file cost in processor time, as its worker wrote it down, and the table of the dearest.
import { appendFileSync, readFileSync } from "node:fs";

const OWN_ACCOUNT = "/proc/thread-self/schedstat";
const PROCESS_ACCOUNT = "/proc/self/stat";
/** Clock ticks a second in /proc, on every Linux there is. */
const TICKS_A_SECOND = 100;
const SHOWN = 100;

/** Seconds that this thread has taken, and those of all children that were waited for: in programs, and in the system for them. */
function spent() {
  const own = Number.parseInt(readFileSync(OWN_ACCOUNT, "utf8"), 10) / 1e9;
  const fields = readFileSync(PROCESS_ACCOUNT, "utf8").split(") ")[1].split(" ");
  return { own, children: Number(fields[13]) / TICKS_A_SECOND, system: Number(fields[14]) / TICKS_A_SECOND };
}

/** Begins to count for one file; what it returns appends a line to `log`. */
export function countCosts(log) {
  const before = spent();
  return (file) => {
    const after = spent();
    const cost = { file };
    for (const [key, seconds] of Object.entries(after)) cost[key] = seconds - before[key];
    appendFileSync(log, `${JSON.stringify(cost)}\n`);
  };
}

/** The files of `log`, the dearest first, as text. */
export function costTable(log) {
  const costs = readFileSync(log, "utf8").trim().split("\n").map(JSON.parse);
  const total = ({ own, children, system }) => own + children + system;
  const sum = (key) => costs.reduce((seconds, cost) => seconds + cost[key], 0);
  const row = ({ own, children, system }) =>
    `${own.toFixed(2).padStart(7)} ${children.toFixed(2).padStart(9)} ${system.toFixed(2).padStart(7)}`;
  const lines = costs
    .toSorted((a, b) => total(b) - total(a))
    .slice(0, SHOWN)
    .map((cost) => `${row(cost)}  ${cost.file}`);
  const all = { own: sum("own"), children: sum("children"), system: sum("system") };
  return ["    own  children  system  (processor seconds)", ...lines, `${row(all)}  all`].join("\n");
}
