// The folders a policy's path patterns begin in, and the other names the system has for them.
import * as fs from "node:fs";
import { join, liesIn, namesOf } from "./plain-path.js";

/** A folder with links in its path: as a rule of the policy writes it, and where it really is. */
export interface Alias {
  readonly written: string;
  readonly real: string;
}

/** The names of a pattern up to its first wildcard, as a path; the pattern itself when it has none. */
export function literalPrefix(pattern: string): string {
  const names = namesOf(pattern);
  const wild = names.findIndex((name) => /[*?]/.test(name));
  return pathOf(wild < 0 ? names : names.slice(0, wild));
}

/** Where lookups begin: the folder above a path without wildcards, else the literal prefix; none inside another. */
export function rootFolders(patterns: readonly string[]): string[] {
  const folders = new Set(
    patterns.map((pattern) => (/[*?]/.test(pattern) ? literalPrefix(pattern) : parentOf(pattern))),
  );
  return outermost(folders);
}

/** Those that lie in no other. */
export function outermost(folders: Iterable<string>): string[] {
  const sorted = [...new Set(folders)].sort((a, b) => a.length - b.length);
  return sorted.filter((folder, index) => !sorted.slice(0, index).some((outer) => liesIn(folder, outer)));
}

export async function aliasOf(written: string): Promise<Alias> {
  return { written, real: await realPrefix(written) };
}

export function realPrefixNow(path: string): string {
  const missing: string[] = [];
  for (let folder = path; ; folder = parentOf(folder)) {
    try {
      const real = fs.realpathSync.native(folder);
      return missing.reduceRight(join, process.platform === "win32" ? real.replaceAll("\\", "/") : real);
    } catch {
      if (folder === parentOf(folder)) return path;
      missing.push(namesOf(folder).at(-1) as string);
    }
  }
}

/** The path with the links in its existing part resolved. */
export async function realPrefix(path: string): Promise<string> {
  const missing: string[] = [];
  for (let folder = path; ; folder = parentOf(folder)) {
    try {
      const real = await fs.promises.realpath(folder);
      return missing.reduceRight(join, process.platform === "win32" ? real.replaceAll("\\", "/") : real);
    } catch {
      if (folder === parentOf(folder)) return path;
      missing.push(namesOf(folder).at(-1) as string);
    }
  }
}

export function parentOf(path: string): string {
  return pathOf(namesOf(path).slice(0, -1));
}

export function pathOf(names: readonly string[]): string {
  const [first = ""] = names;
  return /^[A-Za-z]:$/.test(first) ? (names.length === 1 ? `${first}/` : names.join("/")) : `/${names.join("/")}`;
}
