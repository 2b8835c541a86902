// Runs a command with a folder in memory that nobody else sees, where the system lets us have one: no write waits for a disk.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Calls `argv` of the folder in a mount namespace of its own; the exit code, or undefined where there is none to be had. */
export async function inMemory(argv) {
  const folder = mkdtempSync(join(tmpdir(), "memory-"));
  const own = ["--mount", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"])];
  const mount = 'mount -t tmpfs none "$1" && shift && exec "$@"';
  try {
    if (spawnSync("unshare", [...own, "sh", "-c", mount, "sh", folder, "true"]).status !== 0) return undefined;
    const args = [...own, "sh", "-c", mount, "sh", folder, process.execPath, ...argv(folder)];
    const [code] = await once(spawn("unshare", args, { stdio: "inherit" }), "exit");
    return code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
