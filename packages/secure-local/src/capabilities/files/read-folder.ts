// Lists a folder that was found: the entries that are allowed, in the order of their names.
import { lstatSync, type Stats } from "node:fs";
import { opendir } from "node:fs/promises";
import { UNFINISHED } from "./atomic-write.js";
import type { Found } from "./lookup.js";
import { join } from "./plain-path.js";

export interface RawEntry {
  readonly name: string;
  /** Where it is, free of links. */
  readonly path: string;
  readonly stats: Stats;
}

/** Names looked at before a folder is taken for endless, allowed or not. */
const MOST_NAMES = 200_000;
/** Names looked at before others get a turn. */
const TURN = 256;

export interface RawListing {
  readonly entries: RawEntry[];
  /** Names of links, which were not followed. */
  readonly links: readonly string[];
  readonly truncated: boolean;
}

/** Regular files and folders that `admits` lets through. What vanishes meanwhile is left out. */
export async function readFolder(
  folder: Found,
  limit: number,
  admits: (path: string, stats: Stats) => boolean,
): Promise<RawListing> {
  const { names, truncated } = await namesIn(folder.at);
  const entries: RawEntry[] = [];
  const links: string[] = [];
  for (const [index, name] of names.entries()) {
    if (index % TURN === TURN - 1) await new Promise((resolve) => setImmediate(resolve));
    const path = join(folder.path, name);
    const stats = statOf(`${folder.at}/${name}`);
    if (stats?.isSymbolicLink() === true && links.length < limit) links.push(name);
    if (stats === undefined || !(stats.isDirectory() || (stats.isFile() && stats.nlink === 1))) continue;
    if (!admits(path, stats)) continue;
    if (entries.length === limit) return { entries, links, truncated: true };
    entries.push({ name, path, stats });
  }
  return { entries, links, truncated };
}

/** Sorted, so that every listing of the same folder is the same. */
async function namesIn(at: string): Promise<{ names: string[]; truncated: boolean }> {
  const names: string[] = [];
  const folder = await opendir(at, { bufferSize: 256 });
  for await (const { name } of folder) {
    if (names.length === MOST_NAMES) return { names: names.sort(), truncated: true };
    if (!name.startsWith(UNFINISHED)) names.push(name);
  }
  return { names: names.sort(), truncated: false };
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
