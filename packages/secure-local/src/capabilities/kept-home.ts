// Gives a command or plugin a home folder of its own that outlives it: for caches of packages, mostly.
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { KEPT_HOME, type Reach, WallError } from "../sandbox/wall.js";
import { makeFolder } from "../sandbox/make-folder.js";

/** Most of its name that is readable; the rest of the folder's name keeps apart what looks the same. */
const READABLE = 40;
const DIGEST = 12;

/**
 * The home of `owner`, made when it is not there; written inside, where it is `HOME`, and seen by nobody else's sandbox.
 * @param owner Names that are equal share a home. @throws WallError where it cannot be made
 */
export async function keptHome(homes: string, owner: readonly string[]): Promise<Reach> {
  const folder = join(homes, folderName(owner));
  try {
    makeFolder(folder);
    return { path: await realpath(folder), at: KEPT_HOME, access: "write" };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    throw new WallError(`"${folder}" cannot be made (${code}); change sandbox.homes in the policy.`);
  }
}

function folderName(owner: readonly string[]): string {
  const readable = owner
    .join(" ")
    .replace(/[^A-Za-z0-9.@-]+/g, "_")
    .slice(0, READABLE);
  const digest = createHash("sha256").update(JSON.stringify(owner)).digest("hex").slice(0, DIGEST);
  return `${readable.replace(/^\.+/, "")}-${digest}`;
}
