// Tries to get out of the sandbox in more than eighty ways.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasWall, runWalled } from "./walls.js";

const PROBES = fileURLToPath(new URL("escape-probes.py", import.meta.url));
const PYTHON = "/usr/bin/python3";

function ready(): boolean {
  if (!hasWall()) return false;
  if (existsSync(PYTHON)) return true;
  if (process.env["CI"]) throw new Error(`${PYTHON} is required in CI`);
  console.warn(`skipped: ${PYTHON} is not installed`);
  return false;
}

describe.skipIf(!ready())("a program behind the wall", () => {
  // In a home folder: a private /tmp alone must not be what hides it.
  const folder = mkdtempSync(join(homedir(), ".wall-test-"));
  const canary = join(folder, "canary.txt");
  const servers: Server[] = [];
  let reached = 0;

  async function listen(options: { path: string } | { port: number; host: string }): Promise<Server> {
    const server = createServer((socket) => {
      reached += 1;
      socket.destroy();
    });
    servers.push(server);
    return await new Promise((resolve) => server.listen(options, () => resolve(server)));
  }

  beforeAll(() => writeFileSync(canary, "seen outside"));
  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true });
  });

  test("gets nowhere by any of the ways tried", async () => {
    const tcp = await listen({ port: 0, host: "127.0.0.1" });
    const unix = join(folder, "socket");
    await listen({ path: unix });
    const abstract = `wall-test-${process.pid}-${Date.now()}`;
    await listen({ path: `\0${abstract}` });
    const address = tcp.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const probes = "/run/mcp-secure-local/probes.py";
    const ended = await runWalled({
      executable: PYTHON,
      args: [probes, canary, String(port), String(process.pid), unix, abstract],
      handed: [{ path: probes, bytes: readFileSync(PROBES) }],
    });
    expect(ended.stderr).toBe("");
    const held = JSON.parse(ended.stdout) as Record<string, string | null>;
    expect(Object.keys(held).filter((name) => held[name] === null)).toEqual([]);
    expect(Object.keys(held).length).toBeGreaterThanOrEqual(80);
    expect(reached).toBe(0);
  });
});
