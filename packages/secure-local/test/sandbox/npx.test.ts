// A server started in the sandbox as its users start it: by npx, from packages that are there. With SOAK=1 the big one of the
// protocol's authors, in the usual run a small one.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { soaking } from "../../../mcp/test/support/soak.js";
import { CACHE } from "../cli/command.js";
import { hasWall } from "./walls.js";

const REPOSITORY = fileURLToPath(new URL("../../../..", import.meta.url)).replace(/\/$/, "");
const BUNDLE = join(REPOSITORY, "packages/secure-local/dist/mcp-secure-local.cjs");
const SMALL = fileURLToPath(new URL("../cli/small-program.mjs", import.meta.url));
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
  {
    jsonrpc: "2.0",
    id: 2,
    method: "tools/call",
    params: { name: "echo", arguments: { [soaking ? "message" : "text"]: "from inside" } },
  },
];

interface Packages {
  readonly name: string;
  readonly cwd: string;
  /** What the policy has to let be read. */
  readonly paths: readonly string[];
}

/** A package of one program, as an installation leaves it. */
function small(): Packages {
  const modules = join(folder, "node_modules");
  const place = join(modules, "small-server");
  for (const made of [place, join(modules, ".bin")]) mkdirSync(made, { recursive: true });
  const manifest = { name: "small-server", version: "1.0.0", bin: { "small-server": "server.mjs" } };
  writeFileSync(join(place, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package.json"), "{}");
  writeFileSync(join(place, "server.mjs"), `#!/usr/bin/env node\n${readFileSync(SMALL, "utf8")}`, { mode: 0o755 });
  symlinkSync("../small-server/server.mjs", join(modules, ".bin", "small-server"));
  return { name: manifest.name, cwd: modules, paths: [`${folder}/**`] };
}

function reference(): Packages {
  const paths = [`${REPOSITORY}/node_modules/**`, `${REPOSITORY}/package.json`];
  return { name: "@modelcontextprotocol/server-everything", cwd: join(REPOSITORY, "node_modules"), paths };
}

describe.skipIf(!hasWall())("npx -y", () => {
  test("runs without a network, with the folder of its packages to read", async () => {
    const { name, cwd, paths } = soaking ? reference() : small();
    const policy = join(folder, "policy.yaml");
    const readable = `filesystem: { readable_paths: ${JSON.stringify(paths)} }\n`;
    writeFileSync(policy, `version: "1.0"\n${readable}`, { mode: 0o600 });
    const command = ["npx", "-y", name];
    const child = spawn(process.execPath, [BUNDLE, "sandbox", "--policy", policy, "--", ...command], {
      cwd,
      env: { ...process.env, XDG_CACHE_HOME: CACHE },
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
