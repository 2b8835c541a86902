// Every example runs, checks itself, and says so.
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { soaking } from "../../packages/mcp/test/support/soak.js";

const run = promisify(execFile);
const EXAMPLES = fileURLToPath(new URL("../", import.meta.url));
/** A check takes two seconds on an idle machine and far longer on a busy one; one that hangs shall not hold up the suite. */
const TIMEOUT_MS = 50_000;

const names = readdirSync(EXAMPLES).filter((name) => existsSync(`${EXAMPLES}${name}/package.json`));
// The library and what it needs of Node are loaded once then. The last one puts its own classes into the place of Node's.
const together = names.toSorted((a, b) => Number(a === "http-hono") - Number(b === "http-hono"));

async function printed(...args: readonly string[]): Promise<string> {
  return (await run(process.execPath, args, { timeout: TIMEOUT_MS })).stdout;
}

describe("examples", () => {
  let all = "";
  beforeAll(async () => {
    if (!soaking) all = await printed(`${EXAMPLES}test/run-checks.mjs`, ...together);
  });

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
      "scale",
    ];
    expect(names).toEqual(expect.arrayContaining(shown));
    // Each says one thing.
    if (!soaking) expect(all.match(/\n/g)).toHaveLength(names.length);
  });

  it.concurrent.each(names)("%s checks itself", async (name) => {
    if (!soaking) return expect(all.split("\n")).toContainEqual(expect.stringMatching(`^${name}: .+$`));
    return expect(await printed(`${EXAMPLES}${name}/check.mjs`)).toMatch(new RegExp(`^${name}: .+\n$`));
  });
});
