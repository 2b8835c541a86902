// The reference server of the protocol's authors, started in the sandbox as its users start it, from packages that are there.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { hasWall } from "./walls.js";

const REPOSITORY = fileURLToPath(new URL("../../../..", import.meta.url)).replace(/\/$/, "");
const BUNDLE = join(REPOSITORY, "packages/secure-local/dist/mcp-secure-local.cjs");
const folder = mkdtempSync(join(tmpdir(), "npx-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const REQUESTS = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "echo", arguments: { message: "from inside" } } },
];

describe.skipIf(!hasWall())("npx -y @modelcontextprotocol/server-everything", () => {
  test("runs without a network, with the folder of its packages to read", async () => {
    const policy = join(folder, "policy.yaml");
    const paths = `filesystem: { readable_paths: ["${REPOSITORY}/node_modules/**", "${REPOSITORY}/package.json"] }\n`;
    writeFileSync(policy, `version: "1.0"\n${paths}`, { mode: 0o600 });
    const command = ["npx", "-y", "@modelcontextprotocol/server-everything"];
    const child = spawn(process.execPath, [BUNDLE, "sandbox", "--policy", policy, "--", ...command], {
      cwd: join(REPOSITORY, "node_modules"),
      stdio: ["pipe", "pipe", "pipe"],
    });
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text));
    for (const request of REQUESTS) child.stdin.write(`${JSON.stringify(request)}\n`);
    const answered = new Promise<string>((resolve) => {
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes('"id":2')) resolve(said);
      });
      child.once("close", () => resolve(said + complaint));
    });
    expect(await answered).toContain("from inside");
    child.kill("SIGKILL");
  }, 60_000);
});
