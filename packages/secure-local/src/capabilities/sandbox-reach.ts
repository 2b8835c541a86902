// Turns the files a policy allows into what a sandbox sees: whole folders, with what is denied in them covered.
import { readdir, realpath, stat } from "node:fs/promises";
import type { Policy } from "../policy/policy.js";
import { type Reach, WallError } from "../sandbox/wall.js";
import { FileRules, type OwnFiles } from "./files/file-rules.js";

/** More than a project with its packages has; looking for denied names among more would hold up every start. */
const MAX_ENTRIES = 200_000;

export interface Wanted {
  readonly path: string;
  /** `most`: written where the policy allows that, else read. */
  readonly access: "read" | "write" | "most";
}

/**
 * Rules of `filesystem` that name a file, or a folder with all that lies in it (`/data/**`), become what is seen inside. Names
 * that are denied or protected and exist are covered. What does not exist is left out. @throws WallError for other patterns
 */
export async function sandboxReach(policy: Policy, own: OwnFiles): Promise<Reach[]> {
  const { allowed, readable, readOnly } = policy.filesystem;
  const wanted: Wanted[] = [
    ...readable.rules.map(({ pattern }) => ({ path: wholePath(pattern), access: "read" as const })),
    ...allowed.rules.map(({ pattern }) => ({
      path: wholePath(pattern),
      access: readOnly === undefined ? ("write" as const) : ("read" as const),
    })),
  ];
  const rules = await FileRules.of(policy, own);
  const budget = { left: MAX_ENTRIES };
  const reach = await Promise.all(wanted.map((each) => reachOf(each, rules, budget)));
  return reach.flat();
}

/** What `paths` are by themselves, for a command that may use these and nothing else. */
export async function pathReach(paths: readonly Wanted[], policy: Policy, own: OwnFiles): Promise<Reach[]> {
  const rules = await FileRules.of(policy, own);
  const budget = { left: MAX_ENTRIES };
  return (await Promise.all(paths.map((each) => reachOf(each, rules, budget)))).flat();
}

function wholePath(pattern: string): string {
  const path = pattern.replace(/(?:\/\*\*)(?:\/\*)?$/, "") || "/";
  if (!/[*?]/.test(path) && path !== "/") return path;
  throw new WallError(
    `A sandbox sees files and whole folders, such as /data/notes.txt or /data/**; "${pattern}" is neither. Change it in the policy.`,
  );
}

async function reachOf({ path, access: most }: Wanted, rules: FileRules, budget: { left: number }): Promise<Reach[]> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return [];
  const access = most === "most" ? (rules.judge(real, "write") === undefined ? "write" : "read") : most;
  const refusal = rules.judge(real, access);
  const folder = (await stat(real)).isDirectory();
  if (refusal !== undefined && !(folder && rules.judge(real, "list") === undefined)) {
    throw new WallError(`"${path}" cannot be seen in a sandbox. ${refusal.reason} (${refusal.rule})`);
  }
  const covers: Reach[] = [];
  if (folder) await cover({ real, at: path }, { rules, budget, access }, covers);
  return [{ path: real, at: path, access }, ...covers];
}

interface Covering {
  readonly rules: FileRules;
  readonly budget: { left: number };
  readonly access: "read" | "write";
}

/** Finds what in a folder may not be read, or not written where the folder may be. */
async function cover(folder: { real: string; at: string }, covering: Covering, found: Reach[]): Promise<void> {
  const { rules, budget, access } = covering;
  for (const entry of await readdir(folder.real, { withFileTypes: true }).catch(() => [])) {
    budget.left -= 1;
    if (budget.left < 0) {
      throw new WallError(
        `There are more than ${MAX_ENTRIES} files to look through for a sandbox; grant smaller folders.`,
      );
    }
    // A link leads nowhere inside but to what is seen there anyway.
    if (entry.isSymbolicLink()) continue;
    const real = `${folder.real}/${entry.name}`;
    const at = `${folder.at}/${entry.name}`;
    if (rules.judge(real, "read") !== undefined) {
      found.push({ path: real, at: entry.isDirectory() ? `${at}/` : at, access: "hidden" });
      continue;
    }
    if (access === "write" && rules.judge(real, "write") !== undefined) {
      found.push({ path: real, at, access: "read" });
      if (entry.isDirectory()) await cover({ real, at }, { ...covering, access: "read" }, found);
    } else if (entry.isDirectory()) {
      await cover({ real, at }, covering, found);
    }
  }
}
