// Finds out where a path leads at this moment and which other names it has there, for rules that are compared before anything is opened.
//
// No rule of the file system is asked: what a plugin's tool is given need not be a file that the policy allows to ours.
import { type BigIntStats, lstatSync, readlinkSync, statSync } from "node:fs";
import type { LeadsTo } from "../../policy/decide-command.js";
import { join, namesOf } from "./plain-path.js";
import { parentOf, pathOf } from "./root-folders.js";

/** Links followed for one path, as on Linux. */
const MOST_LINKS = 40;
/** Names of one path, those of its links included. */
const MOST_NAMES = 4_096;
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

/** Where a path leads, and the links on the way there; the path alone where that cannot be told. */
export function wayTo(path: string): Pick<Way, "real" | "links"> {
  try {
    return walk(path) ?? { real: path, links: [] };
  } catch {
    return { real: path, links: [] };
  }
}

interface Way {
  readonly real: string;
  readonly links: readonly string[];
  /** Of every part of it that exists. */
  readonly stats: ReadonlyMap<string, BigIntStats>;
}

/** Goes name by name as the kernel does: `..` behind a link leads out of where the link led. */
function walk(path: string): Way | undefined {
  const left = namesOf(path).reverse();
  const stats = new Map<string, BigIntStats>();
  const links: string[] = [];
  let [real, missing] = [pathOf([]), false];
  for (let seen = 0; left.length > 0; seen += 1) {
    if (seen > MOST_NAMES) return undefined;
    const name = left.pop() as string;
    if (name === ".") continue;
    if (name === "..") {
      real = parentOf(real);
      continue;
    }
    const next = /^[A-Za-z]:$/.test(name) && real === "/" ? `${name}/` : join(real.replace(/\/$/, "") || "/", name);
    const found = missing ? undefined : lstatSync(next, BIG);
    missing ||= found === undefined;
    if (found?.isSymbolicLink() !== true) {
      if (found !== undefined) stats.set(next, found);
      real = next;
      continue;
    }
    links.push(next);
    if (links.length > MOST_LINKS) return undefined;
    const target = readlinkSync(next).replaceAll("\\", process.platform === "win32" ? "/" : "\\");
    if (/^(?:\/|[A-Za-z]:\/)/.test(target)) real = pathOf([]);
    left.push(...namesOf(target).reverse());
  }
  return { real, links, stats };
}

/** The same folder may be mounted twice, written in other letters, or be behind a link of the rule's own: its number tells. */
function namesUnder(folder: string, { real, stats }: Way): string[] {
  const meant = statSync(folder, BIG);
  if (meant === undefined) return [];
  for (const [part, { dev, ino }] of stats)
    if (dev === meant.dev && ino === meant.ino) return [(folder === "/" ? "" : folder) + real.slice(part.length)];
  return [];
}
