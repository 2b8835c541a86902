// Lists one folder, or walks through all that lies below it, as far as the rules allow.
import type { Stats } from "node:fs";
import { FileError } from "./file-error.js";
import type { FolderEntry, FolderListing } from "./files.js";
import type { Finder, Terms } from "./finder.js";
import type { Found } from "./lookup.js";
import { infoOf } from "./open-file.js";
import { join } from "./plain-path.js";
import { readFolder } from "./read-folder.js";

export interface Listing {
  readonly finder: Finder;
  readonly terms: Terms;
  /** The path as the caller gave it. */
  readonly shown: string;
}

/** The allowed entries of a folder, links among them that lead to something allowed. */
export async function listFolder(
  { finder, terms, shown, found }: Listing & { readonly found: Found },
  limit: number,
): Promise<FolderListing> {
  if (!found.stats.isDirectory()) throw new FileError("not-a-folder", `"${shown}" is no folder.`);
  const { rules } = terms;
  const { entries, links, truncated } = await readFolder(found, limit, (path, stats) => admits(terms, path, stats));
  const listed = entries.map(({ name, path, stats }): FolderEntry => ({ name, ...infoOf(rules.show(path), stats) }));
  for (const name of links.slice(0, limit - listed.length)) {
    const target = await finder.find(terms, join(found.path, name), "read").catch(() => undefined);
    if (target === undefined) continue;
    target.close();
    const { stats } = target;
    if (stats.isFile() || stats.isDirectory())
      listed.push({ name, ...infoOf(rules.show(join(found.path, name)), stats) });
  }
  if (!found.isCurrent()) throw new FileError("changed", `"${shown}" was moved while it was listed; try again.`);
  listed.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { path: rules.show(found.path), entries: listed, truncated };
}

export interface WalkLimits {
  readonly depth: number;
  readonly entries: number;
  readonly enter: ((folder: FolderEntry) => boolean) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Folders before what is in them. Stops without a word when the entries are used up. */
export async function* walkFolder(
  { finder, terms, shown }: Listing,
  { depth, entries, enter = () => true, signal }: WalkLimits,
): AsyncGenerator<FolderEntry> {
  let left = entries;
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: shown, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    signal?.throwIfAborted();
    const listing = await listOne({ finder, terms, shown }, next.path, left);
    const inside: typeof waiting = [];
    for (const entry of listing) {
      left -= 1;
      if (entry.kind === "folder" && next.depth < depth && enter(entry))
        inside.push({ path: entry.path, depth: next.depth + 1 });
      yield entry;
    }
    if (left <= 0) return;
    waiting.push(...inside.reverse());
  }
}

/** What vanishes or is exchanged during a walk is passed over; the first folder must be there. */
async function listOne({ finder, terms, shown }: Listing, path: string, limit: number): Promise<FolderEntry[]> {
  let found: Found | undefined;
  try {
    found = await finder.find(terms, path, "list");
    if (!found.stats.isDirectory()) throw new FileError("not-a-folder", `"${shown}" is no folder.`);
    const { entries } = await readFolder(found, limit, (at, stats) => admits(terms, at, stats));
    if (!found.isCurrent()) return [];
    return entries.map(({ name, path: at, stats }) => ({ name, ...infoOf(terms.rules.show(at), stats) }));
  } catch (error) {
    if (path === shown) throw error;
    return [];
  } finally {
    found?.close();
  }
}

function admits({ rules, client, reader }: Terms, path: string, stats: Stats): boolean {
  if (rules.judge(path, stats.isDirectory() ? "list" : "read", reader) !== undefined) return false;
  return client === undefined || client.hold(path, rules);
}
