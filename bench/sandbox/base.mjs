// The wall of an earlier commit, to be started by turns with the one of this work tree.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PARTS = "bench/sandbox/product-parts.ts";

/** The entry file of the commit's sources, which are put into `folder`; what they import of other packages is today's. @throws Error */
export async function sourcesOf(commit, folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "bench/sandbox"), { recursive: true });
  const git = spawn("git", ["archive", commit, "packages/secure-local/src"], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const tar = spawn("tar", ["-x", "-C", folder], { stdio: [git.stdout, "ignore", "inherit"] });
  const [[fetched], [unpacked]] = await Promise.all([once(git, "exit"), once(tar, "exit")]);
  if (fetched !== 0 || unpacked !== 0) throw new Error(`The sources of ${commit} could not be unpacked.`);
  copyFileSync(join(ROOT, PARTS), join(folder, PARTS));
  return join(folder, PARTS);
}
