// Finds the names under which a file system keeps what is asked for by another one: FAT and its heirs give each file a short name as
// well (`ENV~1` of `.env`), which no folder lists and no rule knows.
import { lstatSync, readdirSync } from "node:fs";
import { join, namesOf } from "./plain-path.js";
import { pathOf } from "./root-folders.js";

/** Which names may be short for others: those that look like it, or all that are short. */
export type ShortNames = "marked" | "any";

/** What is asked of the file system. */
export interface Listing {
  namesIn(folder: string): readonly string[];
  /** Undefined for what is not there. */
  numberOf(path: string): string | undefined;
}

/** As FAT knows them: eight characters, and three behind a dot. */
const SHORT = /^[^.]{1,8}(?:\.[^.]{0,3})?$/u;
const MARKED = /~\d/;

export const LISTING: Listing = {
  namesIn: (folder) => readdirSync(folder),
  numberOf: (path) => {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  },
};

/** The path by the names that its folders list. Undefined where one of them is there and cannot be found in its folder. */
export function storedPath(path: string, short: ShortNames, listing: Listing = LISTING): string | undefined {
  let folder = pathOf([]);
  for (const name of namesOf(path)) {
    const mayBeShort = SHORT.test(name) && (short === "any" || MARKED.test(name));
    const stored = mayBeShort ? storedName(folder, name, listing) : name;
    if (stored === undefined) return undefined;
    folder = join(folder, stored);
  }
  return folder;
}

function storedName(folder: string, name: string, { namesIn, numberOf }: Listing): string | undefined {
  try {
    const number = numberOf(join(folder, name));
    if (number === undefined) return name;
    const names = namesIn(folder);
    return names.includes(name) ? name : names.find((each) => numberOf(join(folder, each)) === number);
  } catch {
    return undefined;
  }
}
