// A control group (version 1) with little memory, for what is started in it.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";

const MB = 2 ** 20;
let made = 0;

/** A group of so many megabytes; undefined where none may be made. */
export function memoryGroup(megabytes) {
  const path = `/sys/fs/cgroup/memory/mcp-secure-local-faults-${process.pid}-${(made += 1)}`;
  try {
    mkdirSync(path);
    writeFileSync(`${path}/memory.limit_in_bytes`, String(megabytes * MB));
    return new MemoryGroup(path);
  } catch {
    return undefined;
  }
}

class MemoryGroup {
  #path;

  constructor(path) {
    this.#path = path;
    /** What to put before a command so that it runs in the group. */
    this.wrap = ["sh", "-c", `echo $$ > ${path}/cgroup.procs && exec "$@"`, "sh"];
  }

  /** The most that was held, pages of files included, and how often more was wanted than there is. */
  get use() {
    const number = (name) => Number(readFileSync(`${this.#path}/memory.${name}`, "utf8"));
    return `peak ${(number("max_usage_in_bytes") / MB).toFixed(0)} MB, limit hit ${number("failcnt")} times`;
  }

  remove() {
    try {
      rmdirSync(this.#path);
    } catch {
      // Somebody is still ending in it; an empty group costs nothing.
    }
  }
}
