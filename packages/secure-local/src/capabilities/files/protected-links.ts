// Finds the protected names that are links, since what they lead to is run, or read, as if it had their names.
//
// A link with a protected name is made by nobody inside, so it is looked for at the places where programs find it: in the home folder, at the
// top of what is allowed, and in each folder above what is to be used, as soon as something there is to be used.
import { lstatSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { foldCase } from "../../policy/path-matcher.js";
import { asked, type BytePath, bytesOfPath, join, liesIn, looksLike, parentOf } from "./plain-path.js";
import { type Passage, passageTo } from "./leads-to.js";
import { slashed } from "./own-files.js";

/** What is known of names. */
export interface KnownNames {
  /** Whether it may be protected, or protected names begin with it, in some folder. */
  mayCount(name: string): boolean;
  /** The class of names that protects a path; undefined when none does. */
  classOf(path: string): string | undefined;
  /** Whether protected names begin with a path, so that a link there brings them about. */
  begins(path: string): boolean;
  /** Whether something protected may lie in a folder of this name. */
  leadsOn(name: string): boolean;
  /** Classes whose folders hold whole stores and installations: only what lies at their top is looked at. */
  readonly large: ReadonlySet<string>;
  /** The class whose links lead to what people work on. */
  readonly passedOver: string;
}

/** As deep as protected names begin: `Library/Application Support/Code/User/settings.json`. */
const DEEPEST = 5;
/** Levels looked at below a protected folder: `.ipython/profile_default/startup/x.py`. */
const WITHIN = 2;
/** Folders looked at from one place; its own names are never too many. A home with many extensions has some thousands. */
const MOST_FOLDERS = 20_000;
/** How long what was found in a place counts; a folder that takes long to look through is looked through more rarely. */
const KEPT_MS = 5_000;
const PATIENCE = 50;
/** Times of folders are no finer than this anywhere. */
const SETTLED_MS = 2_000;
/** Places remembered: more folders than one session works in. */
const MOST_PLACES = 20_000;

/** The names of one folder that matter, as long as it is not changed. */
interface Folder {
  readonly stamp: string;
  readonly due: number;
  readonly names: readonly Named[];
}

interface Named {
  /** Of bytes, as it is. */
  readonly name: BytePath;
  readonly isLink: boolean;
  readonly isFolder: boolean;
}

interface Link extends Passage {
  /** What rules compare; a name that is no text as what it looks like. */
  readonly written: string;
  readonly at: BytePath;
}

/** A link, by a place on the way it leads. */
interface Led {
  readonly link: Link;
  readonly place: string;
}

interface Place {
  readonly due: number;
  readonly links: readonly Link[];
  readonly folders: ReadonlyMap<BytePath, Folder>;
  /** Why not all links were found. */
  readonly fault: string | undefined;
}

/** For the whole process: the same places are looked at under every policy. */
export class ProtectedLinks {
  readonly #names: KnownNames;
  readonly #places = new Map<string, Place>();
  /** By where they lead, folded: some file systems take other spellings of it for the same. */
  #led = new Map<string, Set<Led>>();
  /** By what is passed on the way, folded. */
  #passed = new Map<string, Set<Led>>();

  constructor(names: KnownNames) {
    this.#names = names;
  }

  /** Looks for links from a folder. Says why not all of them could be found. */
  look(folder: string): string | undefined {
    const before = this.#places.get(folder);
    const now = performance.now();
    if (before !== undefined && now < before.due) return before.fault;
    const found = this.#found(folder, before);
    const took = performance.now() - now;
    if (before === undefined && this.#places.size >= MOST_PLACES) this.#forgetOldest();
    this.#places.set(folder, { ...found, due: now + Math.max(KEPT_MS, took * PATIENCE) });
    if (!isSame(before?.links ?? [], found.links)) this.#index();
    return found.fault;
  }

  /** The names that a path has by links, each with the place its link leads to. */
  namesOf(path: string): { readonly name: string; readonly written: string; readonly real: string }[] {
    if (this.#led.size === 0) return [];
    const names = [];
    for (let real = path; ; real = parentOf(real)) {
      for (const { link, place } of this.#led.get(foldCase(real)) ?? [])
        if (isThere(link.at) && isOne(place, real))
          names.push({ name: link.written + path.slice(real === "/" ? 0 : real.length), written: link.written, real });
      if (real === parentOf(real)) return names;
    }
  }

  /** The protected name on whose way a path lies. */
  passing(path: string): string | undefined {
    if (this.#passed.size === 0) return undefined;
    for (const { link, place } of this.#passed.get(foldCase(path)) ?? [])
      if (isThere(link.at) && isOne(place, path)) return link.written;
    return undefined;
  }

  #forgetOldest(): void {
    for (const [oldest, { links }] of this.#places) {
      if (links.length > 0) continue;
      this.#places.delete(oldest);
      return;
    }
  }

  #index(): void {
    this.#led = new Map();
    this.#passed = new Map();
    for (const { links } of this.#places.values()) {
      for (const link of links) {
        if (link.real !== undefined) add(this.#led, { link, place: link.real });
        for (const place of link.passed) add(this.#passed, { link, place });
      }
    }
  }

  #found(start: string, before: Place | undefined): Omit<Place, "due"> {
    const links: Link[] = [];
    const folders = new Map<BytePath, Folder>();
    const waiting = [{ path: bytesOfPath(start), depth: 0, isBehind: false }];
    for (const { path, depth, isBehind } of waiting) {
      const folder = this.#folder(path, before?.folders.get(path));
      // What a link leads to and nobody may list has nothing for its owner's programs.
      if (folder === undefined && isBehind) continue;
      if (folder === undefined)
        return { links, folders, fault: notLookedThrough(`"${looksLike(path)}" cannot be listed`) };
      folders.set(path, folder);
      for (const { name, isLink, isFolder } of folder.names) {
        const at = join(path, name);
        const written = looksLike(at);
        const kept = this.#names.classOf(written);
        const isPassedOver = kept === this.#names.passedOver;
        // The folder may be a link; what lies in it is not looked at.
        if (isPassedOver && (!isLink || this.#names.classOf(looksLike(path)) === kept)) continue;
        const led = isLink ? passageTo(at) : undefined;
        if (led !== undefined && (kept !== undefined || this.#names.begins(written)))
          links.push({ written, at, ...led });
        if (isPassedOver || depth >= DEEPEST || (!isLink && !isFolder)) continue;
        // One that leads back to where it is looked from would give everything there a protected name.
        if (led?.real !== undefined && liesIn(start, led.real)) continue;
        if (kept === undefined && !this.#names.leadsOn(looksLike(name))) continue;
        // What lies in a protected folder may be a link too, and so may what lies behind one.
        const least = kept === undefined ? 0 : this.#names.large.has(kept) ? DEEPEST : DEEPEST - WITHIN;
        waiting.push({ path: at, depth: Math.max(depth + 1, least), isBehind: isBehind || isLink });
      }
      if (waiting.length > MOST_FOLDERS)
        return { links, folders, fault: notLookedThrough(`"${start}" has too many folders with protected names`) };
    }
    return { links, folders, fault: undefined };
  }

  /** Undefined for what is there and cannot be looked through. */
  #folder(path: BytePath, before: Folder | undefined): Folder | undefined {
    try {
      const now = performance.now();
      const { dev, ino, mtimeNs, ctimeNs } = statSync(asked(path), { bigint: true });
      // Of what was changed just now the next change may not be told by the time.
      const settled = Date.now() - Number(ctimeNs / 1_000_000n) > SETTLED_MS;
      const stamp = settled ? [dev, ino, mtimeNs, ctimeNs].join() : "";
      // What is changed all the time is not looked through all the time.
      if (before !== undefined && ((settled && before.stamp === stamp) || now < before.due)) return before;
      const inProtected = this.#names.classOf(looksLike(path)) !== undefined;
      const names = namesIn(path).filter(({ name }) => inProtected || this.#names.mayCount(looksLike(name)));
      const took = performance.now() - now;
      return { stamp, due: now + took * PATIENCE, names };
    } catch (error) {
      return ABSENT.has((error as NodeJS.ErrnoException).code) ? NOTHING : undefined;
    }
  }
}

function notLookedThrough(why: string): string {
  return `${why}, so links of protected names in it could not be looked for; let it be listed, or allow other folders.`;
}

const ABSENT: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG"]);
const NOTHING: Folder = { stamp: "", due: 0, names: [] };

/** A link that was removed leads nowhere while it is gone; it stays known, for it may come back. */
function isThere(link: BytePath): boolean {
  try {
    return lstatSync(asked(link)).isSymbolicLink();
  } catch (error) {
    return !ABSENT.has((error as NodeJS.ErrnoException).code);
  }
}

/** A name that is decoded may be that of another, or of nothing. */
function namesIn(folder: BytePath): Named[] {
  return readdirSync(asked(folder), { withFileTypes: true, encoding: "buffer" }).map((entry) => ({
    name: entry.name.toString("latin1"),
    isLink: entry.isSymbolicLink(),
    isFolder: entry.isDirectory(),
  }));
}

function add(map: Map<string, Set<Led>>, led: Led): void {
  const key = foldCase(led.place);
  map.set(key, (map.get(key) ?? new Set()).add(led));
}

/** Whether a path is a place that differs in nothing but its spelling: it is if they are one file, and may be where neither is there. */
function isOne(place: string, path: string): boolean {
  if (place === path) return true;
  try {
    const [one, other] = [place, path].map((each) => lstatSync(each, { bigint: true, throwIfNoEntry: false }));
    return one === undefined || other === undefined ? one === other : one.dev === other.dev && one.ino === other.ino;
  } catch {
    return true;
  }
}

function isSame(some: readonly Link[], others: readonly Link[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}

/** The home folder, whose names every program of the user's looks for. */
export function homePlace(): string {
  return slashed(homedir());
}
