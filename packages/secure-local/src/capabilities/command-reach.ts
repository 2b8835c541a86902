// Finds out what of the disk one command sees: the paths among its arguments, and its working folder.
import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import type { CommandPath } from "../policy/decide-command.js";
import type { Policy } from "../policy/policy.js";
import type { Reach } from "../sandbox/wall.js";
import type { OwnFiles } from "./files/file-rules.js";
import { pathReach, type Wanted } from "./sandbox-reach.js";

export interface CommandFiles {
  readonly paths: readonly CommandPath[];
  readonly workingDirectory: string | undefined;
}

/**
 * The working folder may be written where the policy allows that. Each path is judged again where its links lead. A file to write that does not exist yet needs its folder, so that is seen
 * and writable then, without what in it is denied. @throws WallError for a path that may not be reached
 */
export async function commandReach(policy: Policy, own: OwnFiles, files: CommandFiles): Promise<Reach[]> {
  const { paths, workingDirectory } = files;
  const wanted: Wanted[] = await Promise.all(paths.map(orItsFolder));
  if (workingDirectory !== undefined) wanted.unshift({ path: workingDirectory, access: "most" });
  return pathReach(wanted, policy, own);
}

async function orItsFolder({ path, access }: CommandPath): Promise<CommandPath> {
  if (access === "read" || (await exists(path))) return { path, access };
  return { path: dirname(path), access };
}

async function exists(path: string): Promise<boolean> {
  return realpath(path).then(
    () => true,
    () => false,
  );
}
