// Looks whether files that have several names (hard links) have one of them among those that no tool reads.
//
// No system tells the names of a file. So those that are kept from being read are looked through, where programs look for them: for all
// files that have several names at once, and again only when one of them was given another.
import { type BigIntStats, readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { asked, type BytePath, bytesOfPath, looksLike } from "./byte-path.js";
import { join } from "./plain-path.js";
import { homePlace } from "./protected-links.js";
import { leadsOn, mayCount, protectionOf } from "./protection-of.js";
import { parentOf } from "./root-folders.js";

/** As deep as protected names begin. */
const DEEPEST = 5;
/** Names looked at: those of the profiles of browsers and of a large repository. */
const MOST_NAMES = 200_000;
/** Files remembered: a plugin whose packages are links into a store has some thousands. */
const MOST_KNOWN = 100_000;
/** Within this time another name may have been given without its moment being told from the one before. */
const SETTLED_MS = 2_000;
const NS_IN_MS = 1_000_000n;

/** Files with several names that lie in one folder, and how many of their names lie there. */
export class SeveralNames {
  readonly #files = new Map<string, { readonly path: string; readonly stats: BigIntStats; names: number }>();

  add(path: string, stats: BigIntStats): void {
    if (stats.nlink < 2n) return;
    const file = this.#files.get(numberOf(stats));
    if (file === undefined) this.#files.set(numberOf(stats), { path, stats, names: 1 });
    else file.names += 1;
  }

  /** Those that have names elsewhere, by number. */
  get elsewhere(): ReadonlyMap<string, { readonly path: string; readonly stats: BigIntStats }> {
    return new Map([...this.#files].filter(([, { names, stats }]) => BigInt(names) < stats.nlink));
  }
}

/** Where names are looked for. */
export interface LookedThrough {
  /** Above it, and at home. */
  readonly folder: string;
  /** Files and folders of the program's own, with all that lies in them. */
  readonly own: readonly string[];
  /** Folders among those in which nothing is looked for: what lies there was taken from others. */
  readonly except: readonly string[];
}

/** Why a file may not be read: what else it is, or that this could not be found out (`undefined`). */
export interface OtherName {
  readonly path: string;
  readonly of: string | undefined;
}

/** Those that were found to have no such name, by number and the moment of their last change, which another name would be. */
const KNOWN = new Set<string>();

/** Undefined where none is kept from being read. Stops after each folder, so that others are served in between. */
export function* keptName(several: SeveralNames, places: LookedThrough): Generator<undefined, OtherName | undefined> {
  const files = new Map([...several.elsewhere].filter(([, { stats }]) => !KNOWN.has(stateOf(stats))));
  if (files.size === 0) return undefined;
  const found = yield* new Search(files, places).run();
  if (found !== undefined) return found;
  for (const { stats } of files.values()) {
    if (Date.now() - Number(stats.ctimeNs / NS_IN_MS) < SETTLED_MS) continue;
    if (KNOWN.size === MOST_KNOWN) KNOWN.clear();
    KNOWN.add(stateOf(stats));
  }
  return undefined;
}

interface Folder {
  readonly path: BytePath;
  readonly depth: number;
  /** Whether everything in it is kept from being read. */
  readonly isKept: boolean;
}

class Search {
  readonly #wanted: ReadonlyMap<string, { readonly path: string }>;
  readonly #places: LookedThrough;
  readonly #folders: Folder[] = [];
  readonly #seen = new Set<string>();
  #left = MOST_NAMES;

  constructor(wanted: ReadonlyMap<string, { readonly path: string }>, places: LookedThrough) {
    this.#wanted = wanted;
    this.#places = places;
  }

  *run(): Generator<undefined, OtherName | undefined> {
    const { own, folder } = this.#places;
    for (const each of own) {
      const found = this.#look(bytesOfPath(each), 0, true) ?? this.#besides(each);
      if (found !== undefined) return found;
    }
    for (let above = parentOf(folder); ; above = parentOf(above)) {
      this.#folders.push({ path: bytesOfPath(above), depth: 0, isKept: false });
      if (above === parentOf(above)) break;
    }
    this.#folders.push({ path: bytesOfPath(homePlace()), depth: 0, isKept: false });
    for (const each of this.#folders) {
      const found = this.#in(each);
      if (found !== undefined) return found;
      // Whoever has so many names may have one more: it could be any of them.
      if (this.#left < 0) return { path: [...this.#wanted.values()][0]?.path ?? folder, of: undefined };
      yield;
    }
    return undefined;
  }

  /** The other files of a log begin with its name. */
  #besides(own: string): OtherName | undefined {
    for (const name of this.#namesIn(bytesOfPath(dirname(own)))) {
      const at = join(bytesOfPath(dirname(own)), name);
      const found = at.startsWith(`${bytesOfPath(own)}.`) ? this.#look(at, 0, true) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #in({ path, depth, isKept }: Folder): OtherName | undefined {
    for (const name of this.#namesIn(path)) {
      if (!isKept && !mayCount(looksLike(name))) continue;
      const at = join(path, name);
      const protection = isKept ? undefined : protectionOf(looksLike(at));
      if (protection?.class === "kernel") continue;
      const counts = isKept || protection?.from === "read and write";
      if (!counts && (depth >= DEEPEST || (protection === undefined && !leadsOn(looksLike(name))))) continue;
      const found = this.#look(at, depth + 1, counts);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Takes it for one of those that are wanted, or for a folder to be looked through. Links are followed. */
  #look(at: BytePath, depth: number, counts: boolean): OtherName | undefined {
    const stats = statsOf(at);
    if (stats === undefined || this.#places.except.includes(looksLike(at))) return undefined;
    const number = numberOf(stats);
    if (!stats.isDirectory()) {
      const file = counts ? this.#wanted.get(number) : undefined;
      return file && { path: file.path, of: looksLike(at) };
    }
    // Links lead to some folders more than once, or round in circles.
    const key = `${number}:${counts}`;
    if (!this.#seen.has(key)) this.#folders.push({ path: at, depth, isKept: counts });
    this.#seen.add(key);
    return undefined;
  }

  /** None of what is no folder, or nobody may list. */
  #namesIn(folder: BytePath): BytePath[] {
    try {
      const names = readdirSync(asked(folder), { encoding: "latin1" });
      this.#left -= names.length;
      return names;
    } catch {
      return [];
    }
  }
}

function statsOf(path: BytePath): BigIntStats | undefined {
  try {
    return statSync(asked(path), { bigint: true });
  } catch {
    return undefined;
  }
}

function numberOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

function stateOf({ dev, ino, ctimeNs, nlink }: BigIntStats): string {
  return [dev, ino, ctimeNs, nlink].join();
}
