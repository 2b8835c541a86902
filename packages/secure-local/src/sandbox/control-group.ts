// Puts all processes of a sandbox into a control group of the kernel, where one may be made: it counts memory that processes share,
// and the processes of root, which limits of a process do not.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFile, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { WallLimits } from "./wall.js";

const ROOT = "/sys/fs/cgroup";
const PREFIX = "mcp-secure-local-";
/** The process that made it, and what nobody else gives: in another container there may be a process of the same number. */
const NAME = /^mcp-secure-local-(\d+)-[0-9a-f]+$/;
const MIB = 1024 * 1024;
/** Of all processes together, for each megabyte that one may use: what builds beside each other need, and files in memory. */
export const SHARED_SHARE = 4;
/** The first process of a sandbox, and the one at its way out. */
const OF_THE_WALL = 2;
/** What has just ended may stay in its group for a moment. */
const [REMOVE_TRIES, REMOVE_MS] = [20, 50];

/** A folder in which groups are made, and the file there that a limit is written to. */
interface Hierarchy {
  readonly folder: string;
  readonly limit: "memory.max" | "memory.limit_in_bytes" | "pids.max";
}

export interface ControlGroup {
  /**
   * Takes the process that builds a sandbox, while it does: the kernel waits for all others before it moves one, and does not wait again
   * for those that are moved soon after. Nothing depends on it.
   */
  prepare(pid: number | undefined): void;
  /** Takes a process with all it has started, and will start. @throws the system's error */
  hold(pid: number): void;
  /** Call it when the sandbox has ended. */
  remove(): void;
}

let known: readonly Hierarchy[] | undefined;
let hasMade = false;

const newName = (): string => `${PREFIX}${process.pid}-${randomBytes(6).toString("hex")}`;

/** Whether sandboxes are limited as a whole here: both their memory and their processes, or nothing. */
export function hasControlGroups(): boolean {
  return hierarchies().length > 0;
}

/** Undefined where none may be made. */
export function controlGroup(limits: WallLimits): ControlGroup | undefined {
  const key = `${limits.processes} ${limits.memoryMb}`;
  const at = idle.findIndex((each) => each.key === key);
  const kept = at >= 0 ? idle.splice(at, 1)[0]!.folders : undefined;
  // Another process may have taken ours for gone, and it with it: from a container it sees other processes.
  const isThere = kept?.every(isEmpty) === true;
  if (kept !== undefined && !isThere) removeAll(kept, 1);
  const folders = isThere ? kept : made(limits);
  if (folders === undefined) return undefined;
  const hold = (pid: number): void => {
    for (const folder of folders) putInto(folder, pid);
    // What it started before is told now, and what it starts from here on is in the group.
    for (const child of childrenOf(pid)) hold(child);
  };
  return {
    prepare: (pid) => {
      if (pid !== undefined) writeFile(join(folders[0] ?? "", "cgroup.procs"), String(pid), () => undefined);
    },
    hold,
    remove: () => {
      if (!folders.every(isEmpty)) return removeAll(folders, REMOVE_TRIES);
      idle.push({ key, folders });
      // Limits that nobody has used for longest go first.
      if (idle.length > MOST_IDLE) removeAll(idle.shift()!.folders, REMOVE_TRIES);
    },
  };
}

/** Making and removing one costs more than all else about it, so some are kept for who comes next. */
const MOST_IDLE = 8;
const idle: { readonly key: string; readonly folders: readonly string[] }[] = [];

function isEmpty(folder: string): boolean {
  try {
    return readFileSync(join(folder, "cgroup.procs"), "latin1") === "";
  } catch {
    return false;
  }
}

function made({ processes, memoryMb }: WallLimits): readonly string[] | undefined {
  const all = hierarchies();
  if (all.length === 0) return undefined;
  if (!hasMade) process.once("exit", () => idle.forEach(({ folders }) => removeAll(folders, 1)));
  hasMade = true;
  const name = newName();
  const folders = [...new Set(all.map(({ folder }) => join(folder, name)))];
  // The process that builds a sandbox is in the first of them, which counts processes where it is the only one.
  const most = processes + OF_THE_WALL + (folders.length === 1 ? 1 : 0);
  const memory = String(memoryMb * SHARED_SHARE * MIB);
  try {
    for (const folder of folders) mkdirSync(folder);
    for (const { folder, limit } of all) {
      writeFileSync(join(folder, name, limit), limit === "pids.max" ? String(most) : memory);
      forbidSwap(join(folder, name), limit, memory);
    }
    return folders;
  } catch {
    removeAll(folders, REMOVE_TRIES);
    return undefined;
  }
}

/** Memory that is put on a disk would not count, where the kernel does that. */
function forbidSwap(group: string, limit: Hierarchy["limit"], memory: string): void {
  const [file, text] = limit === "memory.max" ? ["memory.swap.max", "0"] : ["memory.memsw.limit_in_bytes", memory];
  const path = join(group, file ?? "");
  if (limit !== "pids.max" && existsSync(path)) writeFileSync(path, text ?? memory);
}

function putInto(folder: string, pid: number): void {
  try {
    writeFileSync(join(folder, "cgroup.procs"), String(pid));
  } catch (error) {
    // What ended already needs no limit.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Found once, by making a group. */
function hierarchies(): readonly Hierarchy[] {
  known ??= process.platform === "linux" ? find() : [];
  return known;
}

function find(): readonly Hierarchy[] {
  try {
    const lines = readFileSync("/proc/self/cgroup", "utf8").trim().split("\n");
    const paths = new Map(lines.map((line) => line.split(":")).map(([, name = "", path = "/"]) => [name, path]));
    const second = join(ROOT, dirname(paths.get("") ?? "/"));
    const first = (name: string): string => join(ROOT, name, paths.get(name) ?? "/");
    const version2: Hierarchy[] = [
      { folder: second, limit: "memory.max" },
      { folder: second, limit: "pids.max" },
    ];
    const version1: Hierarchy[] = [
      { folder: first("memory"), limit: "memory.limit_in_bytes" },
      { folder: first("pids"), limit: "pids.max" },
    ];
    return [version2, version1].find((each) => each.every(isUsable)) ?? [];
  } catch {
    return [];
  }
}

function isUsable({ folder, limit }: Hierarchy): boolean {
  sweep(folder);
  const probe = join(folder, newName());
  try {
    mkdirSync(probe);
    if (!existsSync(join(probe, limit))) return false;
    // Whoever may make a group may not always put a process of this one into it.
    execFileSync("/bin/sh", ["-c", 'echo $$ > "$1/cgroup.procs"', "sh", probe], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    removeAll([probe], REMOVE_TRIES);
  }
}

/** Groups of processes that are gone. */
function sweep(folder: string): void {
  try {
    for (const name of readdirSync(folder)) {
      const pid = NAME.exec(name)?.[1];
      if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeAll([join(folder, name)], 1);
    }
  } catch {
    // Nobody may look there, or make a group.
  }
}

function removeAll(folders: readonly string[], tries: number): void {
  const left = folders.filter((folder) => {
    try {
      rmdirSync(folder);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EBUSY";
    }
  });
  if (left.length > 0 && tries > 1) setTimeout(() => removeAll(left, tries - 1), REMOVE_MS).unref();
}

/** None where the kernel was built without this list. */
export function childrenOf(pid: number | undefined): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
