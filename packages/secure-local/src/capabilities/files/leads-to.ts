// Finds out where a path leads at this moment and which other names it has there, for rules that are compared before anything is opened.
//
// No rule of the file system is asked: what a plugin's tool is given need not be a file that the policy allows to ours. Ways are gone by
// bytes: a link whose name or target is no text leads on like any other.
import { AsyncLocalStorage } from "node:async_hooks";
import { type BigIntStats, lstatSync, readlinkSync, statSync } from "node:fs";
import type { LeadsTo } from "../../policy/decide-command.js";
import { type Mounts, MOUNTS } from "./mounted-names.js";
import {
  asked,
  type BytePath,
  bytesOfPath,
  join,
  liesIn,
  looksLike,
  namesOf,
  parentOf,
  pathOf,
  plainPath,
  realPrefixNow,
  textOfPath,
} from "./plain-path.js";

/** Links followed for one path, as on Linux. */
const MOST_LINKS = 40;
/** Different names looked up for one path: the same one is looked up once, however often links come back to it. */
const MOST_LOOKUPS = 4_096;
/** Characters of one path and of all the links it is led through: each is as long as the system lets it be. */
const MOST_CHARACTERS = (MOST_LINKS + 1) * 4_096;
const BIG = { bigint: true, throwIfNoEntry: false } as const;

/** What does not exist leads to where it would be made. Undefined for what cannot be told or named, and for a file that has several names. */
export const leadsTo: LeadsTo = Object.assign(leadsToBy(MOUNTS), { bound: boundTo });

/** `mounts`: others, for tests. */
export function leadsToBy(mounts: Mounts): LeadsTo {
  return (path, folders) => {
    try {
      const way = walk(path);
      if (way === undefined) return undefined;
      const last = way.stats.get(way.real);
      const real = textOfPath(way.real);
      if (real === undefined || (last?.isFile() === true && last.nlink > 1n)) return undefined;
      return { real, names: namesByMounts({ real, way }, folders, mounts) };
    } catch {
      return undefined;
    }
  };
}

/** Undefined for what cannot be walked to its end, or leads to what no text names. */
function boundTo(path: string): string | undefined {
  const { real, isWhole } = wayTo(path);
  return isWhole ? real : undefined;
}

/** Under which names the same thing is found: its own, those that other mounts give it, and for each those below the folders of rules. */
function namesByMounts(
  { real, way }: { readonly real: string; readonly way: Way },
  folders: readonly string[],
  mounts: Mounts,
): string[] {
  const others = mounts.namesOf(real).names;
  const ways = [way, ...others.flatMap((name) => (folders.length === 0 ? [] : (walk(name) ?? [])))];
  return [real, ...others, ...folders.flatMap((folder) => ways.flatMap((each) => namesUnder(folder, each)))];
}

/** Every name by which a place of the program's own is found, and the links on the way there: whoever exchanges one leads it elsewhere. */
export function namesOfPlace(path: string, folders: readonly string[]): readonly string[] {
  const links = wayTo(path).links.flatMap((link) =>
    (leadsTo(parentOf(link), folders)?.names ?? [parentOf(link)]).map((above) =>
      join(above, namesOf(link).at(-1) ?? ""),
    ),
  );
  return [...new Set([path, ...(leadsTo(path, folders)?.names ?? [wayTo(path).real]), ...links])];
}

/** Where a path leads, and the links on the way there. */
export interface WayTo {
  readonly real: string;
  /** Without those whose names are no text: no tool exchanges one. */
  readonly links: readonly string[];
  /** Whether all of the way was seen: where it was not there may be more links, and whoever asks refuses. */
  readonly isWhole: boolean;
}

/** What cannot be walked to its end leads to where the system says, or to itself, by the links as far as they were seen. */
export function wayTo(path: string): WayTo {
  const met: BytePath[] = [];
  let real: string | undefined;
  try {
    const way = walk(path, met);
    real = way && textOfPath(way.real);
  } catch {
    // Judged by whoever asks, as what has too many links is.
  }
  const links = met.flatMap((link) => textOfPath(link) ?? []);
  return { real: real ?? realPrefixNow(path), links, isWhole: real !== undefined };
}

/** Every name that is gone through on the way to what a name stands for; without those that are no text, which no tool gets to. */
export interface Passage {
  /** Where it leads, or would once what is missing is made; where nobody may look further, where that is. */
  readonly real: string | undefined;
  /** Each name and link on the way, itself and `real` among them: whoever exchanges one of them leads it elsewhere. */
  readonly passed: readonly string[];
}

/**
 * As `walk`, but what is missing, or no folder, is taken for a folder that somebody may make. Links in circles, and more of them than
 * the system follows, end it: nobody gets further without exchanging one that was passed.
 */
export function passageTo(path: BytePath): Passage {
  const left = namesLed(path);
  const passed = new Set<BytePath>();
  let [real, links] = [pathOf([]), 0];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === "..") {
      real = parentOf(real);
      continue;
    }
    const next = /^[A-Za-z]:$/.test(name) && real === "/" ? `${name}/` : join(real.replace(/\/$/, "") || "/", name);
    passed.add(next);
    real = next;
    const target = linkAt(next);
    if (target === null) break;
    if (target === undefined) continue;
    links += 1;
    if (links > MOST_LINKS) break;
    real = /^(?:\/|[A-Za-z]:\/)/.test(target) ? pathOf([]) : parentOf(next);
    left.push(...namesLed(target));
  }
  return { real: textOfPath(real), passed: [...passed].flatMap((each) => textOfPath(each) ?? []) };
}

/** What a link says; undefined for what is none, or not there; null where nobody may look. */
function linkAt(path: BytePath): BytePath | null | undefined {
  try {
    return targetOf(path);
  } catch (error) {
    return NO_LINK.has((error as NodeJS.ErrnoException).code) ? undefined : null;
  }
}

const NO_LINK: ReadonlySet<unknown> = new Set(["EINVAL", "ENOENT", "ENOTDIR", "ENAMETOOLONG", "UNKNOWN"]);

function targetOf(link: BytePath): BytePath {
  const target = readlinkSync(asked(link), { encoding: "latin1" });
  return process.platform === "win32" ? target.replaceAll("\\", "/") : target;
}

interface Way {
  readonly real: BytePath;
  /** Of everything on the way there that exists. */
  readonly stats: ReadonlyMap<BytePath, BigIntStats>;
}

/**
 * Goes name by name as the kernel does: `..` behind a link leads out of where the link led, and out of what is no folder it leads
 * nowhere. Adds the links it meets.
 */
function walk(path: string, links: BytePath[] = []): Way | undefined {
  const left = namesLed(bytesOfPath(path));
  const stats = new Map<BytePath, BigIntStats>();
  let [real, missing, characters, lookups] = [pathOf([]), false, path.length, 0];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === "..") {
      if (missing || (stats.has(real) && stats.get(real)?.isDirectory() !== true)) return undefined;
      real = parentOf(real);
      continue;
    }
    const next = /^[A-Za-z]:$/.test(name) && real === "/" ? `${name}/` : join(real.replace(/\/$/, "") || "/", name);
    const known = missing ? undefined : stats.get(next);
    if (known === undefined && !missing && (lookups += 1) > MOST_LOOKUPS) return undefined;
    const found = known ?? (missing ? undefined : lstatSync(asked(next), BIG));
    missing ||= found === undefined;
    if (found?.isSymbolicLink() !== true) {
      if (found !== undefined) stats.set(next, found);
      real = next;
      continue;
    }
    links.push(next);
    const target = targetOf(next);
    characters += target.length;
    if (links.length > MOST_LINKS || characters > MOST_CHARACTERS) return undefined;
    if (/^(?:\/|[A-Za-z]:\/)/.test(target)) real = pathOf([]);
    left.push(...namesLed(target));
  }
  return { real, stats };
}

/** The names of a path that lead anywhere, the first one last. */
function namesLed(path: BytePath): BytePath[] {
  return namesOf(path)
    .filter((name) => name !== ".")
    .reverse();
}

/** The same folder may be mounted twice, written in other letters, or be behind a link of the rule's own: its number tells. */
function namesUnder(folder: string, { real, stats }: Way): string[] {
  const meant = statSync(folder, BIG);
  if (meant === undefined) return [];
  for (const [part, { dev, ino }] of stats)
    // What was left again by `..` or a link is no part of it.
    if (dev === meant.dev && ino === meant.ino && liesIn(real, part))
      return [(folder === "/" ? "" : folder) + looksLike(real.slice(part === "/" ? 0 : part.length))];
  return [];
}

// Remembers, for the length of a call, where its paths led when it was judged, so that a link exchanged since leads to nothing.
//
// Rules about arguments (consent, denied URIs) are compared before anything is opened. What is opened is compared with what they saw.

/** A file opened in a repository that was named: links of git's own do not lead out of it. */
const OF_GIT = /^\/\.git(?:\/|$)/;

/** By the path as it was given: where it led, and where it would be made. */
type Places = ReadonlyMap<string, { readonly real: string; readonly made: string | undefined }>;

const judged = new AsyncLocalStorage<Places>();

/** Finds out where the paths of a call lead now; undefined where there are none. To be called before they are judged. */
export function placesIn(paths: readonly { readonly path: string }[]): Places | undefined {
  const places = new Map<string, { real: string; made: string | undefined }>();
  for (const { path: given } of paths) {
    const path = plain(given);
    if (path === undefined) continue;
    // Where it cannot be told, whoever judges it does so for a path that cannot be told, and nothing that can be is opened by it.
    const real = leadsTo(path, [])?.real ?? boundTo(path) ?? "";
    const above = leadsTo(parentOf(path), [])?.real;
    places.set(path, { real, made: above && join(above, namesOf(path).at(-1) ?? "") });
  }
  return places.size === 0 ? undefined : places;
}

/** Runs `work`, in which `isWhereJudged` goes by `places`. */
export function atPlaces<T>(places: Places | undefined, work: () => T): T {
  return places === undefined ? work() : judged.run(places, work);
}

/** Whether what a path was found to lead to is where it led when the call was judged, or the call was not judged by it. */
export function isWhereJudged(given: string, found: string): boolean {
  const places = judged.getStore();
  if (places === undefined) return true;
  const path = plain(given);
  if (path === undefined) return true;
  const place = places.get(path);
  if (place !== undefined) return found === place.real || found === place.made;
  for (const [folder, { real }] of places)
    if (liesIn(path, folder) && OF_GIT.test(path.slice(folder.length)) && !liesIn(found, real)) return false;
  return true;
}

function plain(path: string): string | undefined {
  try {
    return plainPath(path);
  } catch {
    return undefined;
  }
}
