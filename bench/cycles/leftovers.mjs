// What a process holds on to: heap, descriptors, timers, and processes that carry the mark of a tree it started.
import { readdirSync, readFileSync } from "node:fs";
import { heapUsedAfterCollection } from "../memory/heap.mjs";

const MARK = "MCP_SECURE_LOCAL_TREE=";

/** Counts after the event loop had some turns, in which what has been let go of is collected. Linux only. */
export async function holdings() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const resources = process.getActiveResourcesInfo();
  return {
    heap: heapUsedAfterCollection(),
    descriptors: readdirSync("/proc/self/fd").length,
    timers: resources.filter((kind) => kind === "Timeout").length,
    resources: resources.length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    processes: readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== String(process.pid) && isOurs(name))
      .length,
  };
}

function isOurs(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(parent) === process.pid) return true;
    return (
      state !== "Z" && readFileSync(`/proc/${pid}/environ`, "latin1").includes(`${MARK}${process.env.CYCLES_MARK}`)
    );
  } catch {
    return false;
  }
}
