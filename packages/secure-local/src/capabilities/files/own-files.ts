// The files this program lives by: its policy, its audit log, its secrets and what else its parts keep, which no tool touches;
// and its code, which no tool changes.
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { foldCase } from "../../policy/path-matcher.js";
import { secretFiles } from "../../policy/granted-policy.js";
import type { Policy } from "../../policy/policy.js";
import { PolicyError } from "../../policy/faults.js";
import { ownPlaceFaults } from "../../policy/own-places.js";
import { namesOfPlace, wayTo } from "./leads-to.js";

declare const LOOKED_UP: unique symbol;
/** The program's own files, what lies in them, and what is named like them beside them. Only `ownFiles` makes them: paths as written lack links, and the policy's. */
export type OwnFiles = readonly string[] & { readonly [LOOKED_UP]: true };

/** Folded paths, as named and as they really are, logs without the last extension: their other files (`audit.lock`) begin like them. */
export function ownFiles(policy: Policy, more: readonly string[]): OwnFiles {
  const paths = [...new Set(rememberOwnFiles(policy, more))];
  const own = paths.map(foldCase) as readonly string[] as OwnFiles;
  WRITTEN.set(own, paths);
  return own;
}

/** As they are written: what is looked up has its own letters. */
const WRITTEN = new WeakMap<OwnFiles, readonly string[]>();

export function writtenPlaces(own: OwnFiles): readonly string[] {
  return WRITTEN.get(own) ?? own;
}

/** Where each was found: what was the program's own stays so while it runs, wherever a link on the way leads by now. */
const FOUND = new Map<string, Set<string>>();
/** A link that moves on with each rotation of a secret leaves one behind. */
const MOST_FOUND = 64;

/**
 * Compares, by all names that links and mounts give them, what the program lives by with what sandboxes of the policy write, and kept
 * homes with what is granted. @throws PolicyError where one lies in the other
 */
export function checkPlaces(policy: Policy): void {
  const faults = ownPlaceFaults(policy, { namesOf: namesOfPlace });
  if (faults.length > 0) throw new PolicyError(faults);
}

/** To be called when a policy is loaded, before anything is started that could exchange a link. */
export function rememberOwnFiles({ file, audit, secrets, filesystem }: Policy, more: readonly string[]): string[] {
  const log = [audit.logFile, audit.checkpoints?.file].map((path) => path?.replace(/\.[^./\\]*$/, ""));
  const paths = [file, ...log, ...secretFiles(secrets), ...more].flatMap((path) =>
    path ? [slashed(resolve(path))] : [],
  );
  return paths.flatMap((path) => {
    const found = FOUND.get(path) ?? new Set<string>([path]);
    FOUND.set(path, found);
    const { real, links, isWhole } = wayTo(path);
    found.add(real);
    // Whoever may put another link there says what the file is; where not all links were seen, all around counts.
    for (const link of links) if (!isWhole || filesystem.allowed.find(link) !== undefined) found.add(link);
    if (!isWhole) found.add(slashed(dirname(path))).add(slashed(dirname(real)));
    for (const oldest of found) if (found.size > MOST_FOUND && oldest !== path) found.delete(oldest);
    return [...found];
  });
}

let program: readonly string[] | undefined;
let placed: readonly string[] | undefined;

/** The installed package, the file it was started by (a link in `node_modules/.bin`, say), and Node: folded, named and real. */
export function programFiles(): readonly string[] {
  program ??= programPlaces().map(foldCase);
  return program;
}

/** The same, as they are written. */
export function programPlaces(): readonly string[] {
  if (placed !== undefined) return placed;
  const paths = [packageFolder(), process.argv[1], process.execPath].flatMap((path) => (path ? [resolve(path)] : []));
  placed = [...new Set([...paths, ...paths.map(realOrSame)])].map(slashed);
  return placed;
}

/** As high as this file lies in its package, bundled or not. */
const LEVELS = 5;

/** The folder of the package this code belongs to; where there is none, the folder the code is in. */
function packageFolder(): string {
  let folder = import.meta.dirname;
  for (let level = 0; level < LEVELS; level += 1) {
    try {
      const { name } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly name?: unknown };
      if (name === "mcp-secure-local") return folder;
    } catch {
      // Not at this level.
    }
    folder = dirname(folder);
  }
  return import.meta.dirname;
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

export function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}
