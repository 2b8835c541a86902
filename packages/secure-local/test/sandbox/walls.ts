// Runs programs behind this machine's wall, for tests; without bubblewrap they are skipped, in CI that is a failure.
import { existsSync } from "node:fs";
import { findWall } from "../../src/sandbox/find-wall.js";
import { startWalled } from "../../src/sandbox/start-walled.js";
import type { WalledCommand, WallLimits } from "../../src/sandbox/wall.js";

export const LIMITS: WallLimits = { processes: 64, memoryMb: 1_024, cpuSeconds: 60, fileMb: 4 };

/** Whether there is a wall here; says so once where there is none, throws in CI. */
export function hasWall(): boolean {
  const there =
    process.platform === "linux" && ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"].some(existsSync);
  if (there) return true;
  if (process.env["CI"] && process.platform === "linux") throw new Error("bubblewrap is required in CI");
  console.warn("skipped: bubblewrap is not installed");
  return false;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs it to its end. */
export async function runWalled(
  command: Partial<WalledCommand> & Pick<WalledCommand, "executable" | "args">,
): Promise<Ended> {
  const wall = await findWall({ mode: "required" });
  const child = startWalled(wall, { limits: LIMITS, ...command }, ["pipe", "pipe", "pipe"]);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  }
  child.stdin?.on("error", () => undefined).end();
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, ...output };
}
