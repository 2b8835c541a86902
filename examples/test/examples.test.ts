// Every example runs, checks itself, and says so.
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);
const EXAMPLES = fileURLToPath(new URL("../", import.meta.url));
/** A check takes two seconds on an idle machine and far longer on a busy one; one that hangs shall not hold up the suite. */
const TIMEOUT_MS = 50_000;

const names = readdirSync(EXAMPLES).filter((name) => existsSync(`${EXAMPLES}${name}/package.json`));

describe("examples", () => {
  it("are all here", () => {
    const shown = [
      "agent-loop",
      "baskets",
      "everything",
      "greeter",
      "host",
      "http-hono",
      "http-node",
      "http-workers",
      "over-tcp",
    ];
    expect(names).toEqual(expect.arrayContaining(shown));
  });

  it.concurrent.each(names)("%s checks itself", async (name) => {
    const { stdout } = await run(process.execPath, [`${EXAMPLES}${name}/check.mjs`], { timeout: TIMEOUT_MS });
    expect(stdout).toMatch(new RegExp(`^${name}: .+\n$`));
  });
});
