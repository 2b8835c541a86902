// Looks whether files that have several names (hard links) have one of them among those that no tool reads.
//
// No system tells the names of a file. So those that are kept from being read are looked through, where programs look for them and in
// all of the home: for all files that have several names at once, and again only when one of them was given another.
import { type BigIntStats, type Dirent, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { asked, type BytePath, bytesOfPath, join, liesIn, looksLike, parentOf } from "./plain-path.js";
import { homePlace } from "./protected-links.js";
import { leadsOn, mayCount, protectionOf } from "./protection-of.js";

/** As deep as protected names begin. */
const DEEPEST = 5;
/** Names looked at: those of a home with many large repositories, packages not among them. */
const MOST_NAMES = 1_000_000;
/** What package managers link into projects, and where they keep it: no person's secrets lie there, though files are called like some. */
const PACKAGES =
  /\/(?:node_modules|(?:site|dist)-packages|\.pnpm-store|pnpm\/store|\.bun\/install\/cache|\.yarn\/berry|(?:\.cache|Caches)\/uv)$/;
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
  /** Above it, and at home, but not in it. */
  readonly folder: string;
  /** How many names are looked at, for tests. */
  readonly most?: number | undefined;
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
  /** A file has names on its own disk alone. */
  readonly #devices: ReadonlySet<bigint>;
  #left: number;

  constructor(
    wanted: ReadonlyMap<string, { readonly path: string; readonly stats: BigIntStats }>,
    places: LookedThrough,
  ) {
    this.#wanted = wanted;
    this.#devices = new Set([...wanted.values()].map(({ stats }) => stats.dev));
    this.#left = places.most ?? MOST_NAMES;
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
    // First where they mostly are.
    return (yield* this.#inFolders()) ?? (yield* this.#inHome(bytesOfPath(homePlace()))) ?? (yield* this.#inFolders());
  }

  /** Those that are to be looked through by now, and what is found in them. */
  *#inFolders(): Generator<undefined, OtherName | undefined> {
    for (let each = this.#folders.shift(); each !== undefined; each = this.#folders.shift()) {
      const found = this.#in(each) ?? this.#tooMany();
      if (found !== undefined) return found;
      yield;
    }
    return undefined;
  }

  /** Whoever has so many names may have one more: it could be any of them. */
  #tooMany(): OtherName | undefined {
    return this.#left < 0 ? { path: [...this.#wanted.values()][0]?.path ?? "", of: undefined } : undefined;
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

  #in(folder: Folder): OtherName | undefined {
    for (const name of this.#namesIn(folder.path)) {
      const found = this.#lookAt(name, folder);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #lookAt(name: BytePath, { path, depth, isKept }: Folder): OtherName | undefined {
    if (!isKept && !mayCount(looksLike(name))) return undefined;
    const at = join(path, name);
    const protection = isKept ? undefined : protectionOf(looksLike(at));
    if (protection?.class === "kernel") return undefined;
    const counts = isKept || protection?.from === "read and write";
    if (!counts && (depth >= DEEPEST || (protection === undefined && !leadsOn(looksLike(name))))) return undefined;
    return this.#look(at, depth + 1, counts);
  }

  /** Each folder of it at any depth, and what links directly in it lead to elsewhere (`~/projects`, on another disk). */
  *#inHome(home: BytePath): Generator<undefined, OtherName | undefined> {
    const waiting = [home];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const folder = { path, depth: DEEPEST, isKept: false };
      for (const entry of entriesIn(path)) {
        this.#left -= 1;
        const found = this.#lookAt(entry.name, folder) ?? this.#tooMany();
        if (found !== undefined) return found;
        const at = join(path, entry.name);
        if (entry.isDirectory() && this.#mayHold(at)) waiting.push(at);
        const elsewhere = path === home && entry.isSymbolicLink() ? this.#elsewhere(at, home) : undefined;
        if (elsewhere !== undefined) waiting.push(elsewhere);
      }
      yield;
    }
    return undefined;
  }

  /** The folder that a link leads to; undefined where that is no other one than the home is, lies in, or holds. */
  #elsewhere(link: BytePath, home: BytePath): BytePath | undefined {
    try {
      const [real, around] = [link, home].map((each) => realpathSync.native(asked(each), { encoding: "latin1" }));
      if (real === undefined || around === undefined || liesIn(real, around) || liesIn(around, real)) return undefined;
      return statsOf(real)?.isDirectory() === true && this.#mayHold(real) ? real : undefined;
    } catch {
      return undefined;
    }
  }

  #mayHold(folder: BytePath): boolean {
    const name = looksLike(folder);
    if (PACKAGES.test(name) || name === this.#places.folder || this.#places.except.includes(name)) return false;
    const stats = statsOf(folder);
    return stats !== undefined && this.#devices.has(stats.dev);
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

/** None of what is no folder, or nobody may list. */
function entriesIn(folder: BytePath): Dirent[] {
  try {
    return readdirSync(asked(folder), { encoding: "latin1", withFileTypes: true });
  } catch {
    return [];
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
