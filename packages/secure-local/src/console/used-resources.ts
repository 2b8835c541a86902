// What running servers and the programs they started use of the machine, read from /proc. Elsewhere than on Linux nothing is known.
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { UsedResources } from "@secure-local/console/api";

/** Processes looked at: more than a machine of a person has. */
const MAX_PROCESSES = 20_000;
/** Processes told of: those of all servers a person runs. */
const MAX_TOLD = 256;
/** Ticks of processor time a second, and bytes of a page, as Linux has them on every machine Node runs on. */
const TICKS = 100;
const PAGE_BYTES = 4_096;

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** Each of these processes and all that it started. */
export function usedResources(pids: readonly number[]): UsedResources[] {
  const children = new Map<number, Process[]>();
  const all = new Map<number, Process>();
  for (const each of processes()) {
    all.set(each.pid, each);
    const siblings = children.get(each.parent) ?? [];
    siblings.push(each);
    children.set(each.parent, siblings);
  }
  const told: UsedResources[] = [];
  for (const of of pids) {
    const root = all.get(of);
    const queue = root === undefined ? [] : [{ process: root, what: "" }];
    for (let next = queue.shift(); next !== undefined && told.length < MAX_TOLD; next = queue.shift()) {
      const { pid, name, memoryBytes, cpuSeconds } = next.process;
      const server = next.what === "" && pid !== of ? serverRunBy(pid) : next.what;
      told.push({ of, pid, what: server === "" ? name : `${server} (${name})`, memoryBytes, cpuSeconds });
      for (const child of children.get(pid) ?? []) queue.push({ process: child, what: server });
    }
  }
  return told;
}

function processes(): Process[] {
  let pids: string[];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    // There is no /proc here.
    return [];
  }
  return pids.slice(0, MAX_PROCESSES).flatMap((pid) => processOf(pid) ?? []);
}

function processOf(pid: string): Process | undefined {
  const stat = readOf(pid, "stat");
  // The name stands in parentheses and may hold anything.
  const [, name = "", rest = ""] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? [];
  const fields = rest.split(" ");
  const [parent, user, system, pages] = [1, 11, 12, 21].map((at) => Number(fields[at]));
  if (name === "" || parent === undefined || user === undefined || system === undefined) return undefined;
  return {
    pid: Number(pid),
    parent,
    name,
    cpuSeconds: (user + system) / TICKS,
    memoryBytes: (pages ?? 0) * PAGE_BYTES,
  };
}

/** The server of the policy whose errand a process runs: `… servers run NAME …`. */
function serverRunBy(pid: number): string {
  const words = readOf(String(pid), "cmdline").split("\0");
  const at = words.findIndex((word, index) => word === "servers" && words[index + 1] === "run");
  return at < 0 ? "" : basename(words[at + 2] ?? "");
}

function readOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // It ended meanwhile, or is not ours.
    return "";
  }
}
