// Finds the files this process was started with: whatever it starts would have them open, too.
import { openSync, readdirSync, readFileSync } from "node:fs";

export interface InheritedFiles {
  /** File descriptors from 3 on, in order. */
  readonly places: readonly number[];
  /** The empty device, open, to put in their places. */
  readonly empty: number;
}

/** Linux's flag for a file that a started program does not get; Node sets it for every file it opens itself. */
const CLOSE_ON_EXEC = 0o2000000;

let known: InheritedFiles | undefined;

/** Looked up once: later files are all opened by Node. Elsewhere than on Linux there is nothing to look at, and the list is empty. */
export function inheritedFiles(): InheritedFiles {
  known ??= { places: places(), empty: openSync("/dev/null", "r+") };
  return known;
}

function places(): number[] {
  if (process.platform !== "linux") return [];
  const found = readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((fd) => fd >= 3 && isPassedOn(fd));
  return found.sort((a, b) => a - b);
}

function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The list's own descriptor, closed meanwhile.
    return false;
  }
}
