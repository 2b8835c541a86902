// Finds out where a path leads at this moment and which other names it has there, for rules that are compared before anything is opened.
//
// No rule of the file system is asked: what a plugin's tool is given need not be a file that the policy allows to ours.
import { type BigIntStats, lstatSync, readlinkSync, statSync } from "node:fs";
import type { LeadsTo } from "../../policy/decide-command.js";
import { join, namesOf } from "./plain-path.js";
import { parentOf, pathOf, realPrefixNow } from "./root-folders.js";

/** Links followed for one path, as on Linux. */
const MOST_LINKS = 40;
/** Different names looked up for one path: the same one is looked up once, however often links come back to it. */
const MOST_LOOKUPS = 4_096;
/** Characters of one path and of all the links it is led through: each is as long as the system lets it be. */
const MOST_CHARACTERS = (MOST_LINKS + 1) * 4_096;
const BIG = { bigint: true, throwIfNoEntry: false } as const;

/** What does not exist leads to where it would be made. Undefined for what cannot be told, and for a file that has several names. */
export const leadsTo: LeadsTo = (path, folders) => {
  try {
    const way = walk(path);
    if (way === undefined) return undefined;
    const last = way.stats.get(way.real);
    if (last?.isFile() === true && last.nlink > 1n) return undefined;
    return { real: way.real, names: [way.real, ...folders.flatMap((folder) => namesUnder(folder, way))] };
  } catch {
    return undefined;
  }
};

/** Where a path leads, and the links on the way there. */
export interface WayTo {
  readonly real: string;
  readonly links: readonly string[];
  /** Whether all of the way was seen: where it was not there may be more links, and whoever asks refuses. */
  readonly isWhole: boolean;
}

/** What cannot be walked to its end leads to where the system says, or to itself, by the links as far as they were seen. */
export function wayTo(path: string): WayTo {
  const links: string[] = [];
  try {
    const way = walk(path, links);
    if (way !== undefined) return { real: way.real, links, isWhole: true };
  } catch {
    // Judged by whoever asks, as what has too many links is.
  }
  return { real: realPrefixNow(path), links, isWhole: false };
}

/** Every name that is gone through on the way to what a name stands for. */
export interface Passage {
  /** Where it leads, or would once what is missing is made; where nobody may look further, where that is. */
  readonly real: string;
  /** Each name and link on the way, itself and `real` among them: whoever exchanges one of them leads it elsewhere. */
  readonly passed: readonly string[];
}

/**
 * As `walk`, but what is missing, or no folder, is taken for a folder that somebody may make. Links in circles, and more of them than
 * the system follows, end it: nobody gets further without exchanging one that was passed.
 */
export function passageTo(path: string): Passage {
  const left = namesLed(path);
  const passed = new Set<string>();
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
  return { real, passed: [...passed] };
}

/** What a link says; undefined for what is none, or not there; null where nobody may look. */
function linkAt(path: string): string | null | undefined {
  try {
    return readlinkSync(path).replaceAll("\\", process.platform === "win32" ? "/" : "\\");
  } catch (error) {
    return NO_LINK.has((error as NodeJS.ErrnoException).code) ? undefined : null;
  }
}

const NO_LINK: ReadonlySet<unknown> = new Set(["EINVAL", "ENOENT", "ENOTDIR", "ENAMETOOLONG", "UNKNOWN"]);

interface Way {
  readonly real: string;
  /** Of every part of it that exists. */
  readonly stats: ReadonlyMap<string, BigIntStats>;
}

/**
 * Goes name by name as the kernel does: `..` behind a link leads out of where the link led, and out of what is no folder it leads
 * nowhere. Adds the links it meets.
 */
function walk(path: string, links: string[] = []): Way | undefined {
  const left = namesLed(path);
  const stats = new Map<string, BigIntStats>();
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
    const found = known ?? (missing ? undefined : lstatSync(next, BIG));
    missing ||= found === undefined;
    if (found?.isSymbolicLink() !== true) {
      if (found !== undefined) stats.set(next, found);
      real = next;
      continue;
    }
    links.push(next);
    const target = readlinkSync(next).replaceAll("\\", process.platform === "win32" ? "/" : "\\");
    characters += target.length;
    if (links.length > MOST_LINKS || characters > MOST_CHARACTERS) return undefined;
    if (/^(?:\/|[A-Za-z]:\/)/.test(target)) real = pathOf([]);
    left.push(...namesLed(target));
  }
  return { real, stats };
}

/** The names of a path that lead anywhere, the first one last. */
function namesLed(path: string): string[] {
  return namesOf(path)
    .filter((name) => name !== ".")
    .reverse();
}

/** The same folder may be mounted twice, written in other letters, or be behind a link of the rule's own: its number tells. */
function namesUnder(folder: string, { real, stats }: Way): string[] {
  const meant = statSync(folder, BIG);
  if (meant === undefined) return [];
  for (const [part, { dev, ino }] of stats)
    if (dev === meant.dev && ino === meant.ino) return [(folder === "/" ? "" : folder) + real.slice(part.length)];
  return [];
}
