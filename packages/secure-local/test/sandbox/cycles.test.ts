// Sandboxes that are started and ended at any moment, also with who started them: none of them stays.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { findWall } from "../../src/sandbox/find-wall.js";
import { endWalled, startWalled } from "../../src/sandbox/start-walled.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { CACHE } from "../cli/command.js";
import { hasWall, LIMITS } from "./walls.js";

const CYCLES = repeated(15, 50);
const BUNDLE = fileURLToPath(new URL("../../dist/mcp-secure-local.cjs", import.meta.url));

/** How many processes have this in their command line. */
function processesWith(mark: string): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(mark);
    } catch {
      return false;
    }
  }).length;
}

describe.skipIf(!hasWall())("no process stays", () => {
  test(`after ${CYCLES} sandboxes were ended at any moment of their start`, async () => {
    const wall = await findWall({ mode: "required" });
    const mark = `cycle-${process.pid}-${performance.now()}`;
    const script = `(setsid sh -c 'sleep 1000; : ${mark}' &); sleep 1000; : ${mark}`;
    const cycle = async (index: number): Promise<void> => {
      const child = startWalled(wall, { executable: "/bin/sh", args: ["-c", script], limits: LIMITS }, [
        "ignore",
        "ignore",
        "ignore",
      ]);
      const ended = once(child, "exit");
      // From at once to after it stands, by turns of the event loop alone.
      for (let turn = 0; turn < index * 40; turn += 1) await new Promise(setImmediate);
      endWalled(wall, child);
      await ended;
    };
    const all = Array.from({ length: CYCLES }, (_, index) => index);
    for (let at = 0; at < CYCLES; at += 5) await Promise.all(all.slice(at, at + 5).map(cycle));
    await vi.waitFor(() => expect(processesWith(mark)).toBe(0), { timeout: 5_000, interval: 20 });
  });

  test("after the program that started it was killed", async () => {
    const mark = `orphan-${process.pid}-${performance.now()}`;
    const args = [BUNDLE, "sandbox", "--", "/bin/sh", "-c", `(setsid sleep 1000 &); echo here; sleep 1000; : ${mark}`];
    const env = { ...process.env, XDG_CACHE_HOME: CACHE };
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    // Everything inside holds the pipe.
    await once(child, "close");
    await vi.waitFor(() => expect(processesWith(mark)).toBe(0), { timeout: 5_000, interval: 20 });
  });
});
