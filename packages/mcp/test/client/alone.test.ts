// A request with an end keeps its process alive until it has come, and nothing does afterwards.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const program = fileURLToPath(new URL("fixtures/alone.mjs", import.meta.url));
/** Far below the 60 seconds that a request has by default, and far above what a start takes on a busy machine. */
const SOON_MS = 30_000;

it.each([
  ["call", "TIMEOUT\n"],
  ["question", "TIMEOUT\n"],
  ["closed", "CLOSED\n"],
  ["answered", "answered\n"],
  ["subscribed", "subscribed\n"],
])(
  "a program with a %s ends when it is over",
  async (what, printed) => {
    const { stdout } = await run(process.execPath, [program, what], { timeout: SOON_MS });
    expect(stdout).toBe(printed);
  },
  2 * SOON_MS,
);
