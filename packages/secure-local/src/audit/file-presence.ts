// Tells whether a file that is held open still is the one under its name.
import * as fs from "node:fs";

/** The file itself, nothing, or another file (a link too, wherever it leads). */
export type FilePresence = "here" | "gone" | "exchanged";

/** What tells an open file from all others: no second file has its device and number as long as somebody holds it. */
export interface HeldFile {
  readonly dev: bigint;
  readonly ino: bigint;
}

export function heldFile(fd: number): HeldFile {
  const { dev, ino } = fs.fstatSync(fd, { bigint: true });
  return { dev, ino };
}

/**
 * What `path` leads to now.
 *
 * @throws the system's error when nobody can say, for example because a folder may no longer be entered
 */
export function presenceOf(path: string, { dev, ino }: HeldFile): FilePresence {
  try {
    const named = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (named === undefined) return "gone";
    return named.ino === ino && named.dev === dev ? "here" : "exchanged";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return "gone";
    throw error;
  }
}
