// Every example runs, checks itself, and says so.
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
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

describe("the example scale", () => {
  const hasRedis = spawnSync("redis-server", ["-v"]).status === 0;

  it.runIf(hasRedis)("says nginx's own words at once where nginx does not start", { timeout: TIMEOUT_MS }, () => {
    const folder = mkdtempSync(join(tmpdir(), "no-nginx-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const words = "nginx: [emerg] mkdir() failed (13: Permission denied)";
    const script = `#!/bin/sh\n[ "$1" = -v ] && exit 0\necho '${words}' >&2\nexit 1\n`;
    writeFileSync(join(folder, "nginx"), script, { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` };
    const check = [join(EXAMPLES, "scale/check.mjs")];
    const began = performance.now();
    const { status, stderr } = spawnSync(process.execPath, check, { env, encoding: "utf8", timeout: TIMEOUT_MS });
    // Not after the time in which it might have begun to listen.
    expect(performance.now() - began).toBeLessThan(15_000);
    expect([status, stderr]).toEqual([1, `scale: nginx has ended: ${words}\n`]);
  });

  it.each([
    ["a port that is none", ["99999999"], {}],
    ["an address that all reach, and no name", ["3001"], { MCP_ADDRESS: "tcp://127.0.0.1:0" }],
    ["no key", ["3001"], { MCP_KEY: "" }],
  ])("says in one sentence, with code 2, what is wrong with the start: %s", (_, args, given) => {
    const env = { ...process.env, REDIS_URL: "redis://127.0.0.1:1", MCP_KEY: "A".repeat(43) + "=", ...given };
    const server = [join(EXAMPLES, "scale/server.mjs"), ...args];
    const { status, stderr } = spawnSync(process.execPath, server, { env, encoding: "utf8", timeout: TIMEOUT_MS });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^[^\n]+\n$/)]);
  });
});
