// A server that VS Code starts in a sandbox, started by our command line: its block holds here, too.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ran, run } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { hasWall } from "./walls.js";

const folder = mkdtempSync(join(homedir(), ".vscode-test-"));
const workspace = join(folder, "workspace");
const file = join(workspace, ".vscode", "mcp.json");
afterAll(() => rmSync(folder, { recursive: true }));

/** Says what it can do. */
const SERVER = `
const fs = require("node:fs");
const tried = (work) => { try { return String(work()); } catch (error) { return error.code ?? error.message; } };
const probe = (root) => ({
  source: tried(() => fs.existsSync(root + "/server.cjs")),
  secret: tried(() => fs.readFileSync(root + "/secret/key", "utf8")),
  outside: tried(() => fs.readFileSync(root + "/../outside.txt", "utf8")),
  out: tried(() => fs.writeFileSync(root + "/out/made.txt", "made")),
  written: tried(() => fs.writeFileSync(root + "/server.cjs", "")),
  env: process.env.GIVEN + " " + process.env.TOLD, folder: process.cwd() === root, proxy: process.env.HTTPS_PROXY !== undefined,
});
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const tools = [{ name: "probe", inputSchema: { type: "object" } }];
  const result = method === "initialize"
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "probing", version: "1" } }
    : method === "tools/list" ? { tools }
    : method === "tools/call" ? { content: [{ type: "text", text: JSON.stringify(probe(process.argv[2])) }] } : {};
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
});`;

function configuration(sandboxEnabled: boolean): string {
  const sandbox = {
    filesystem: { allowWrite: ["${workspaceFolder}/out"], denyRead: ["./secret"] },
    network: { allowedDomains: ["example.com"] },
  };
  const args = ["${workspaceFolder}/server.cjs", "${workspaceFolder}"];
  const server = { command: process.execPath, args, env: { GIVEN: "given" }, sandboxEnabled, sandbox };
  const wrong = { ...server, sandboxEnabled: true, sandbox: { network: { allowedDomains: "example.com" } } };
  return JSON.stringify({ servers: { probing: server, wrong } });
}

beforeAll(() => {
  for (const name of ["out", "secret", ".vscode"]) mkdirSync(join(workspace, name), { recursive: true });
  writeFileSync(join(workspace, "secret", "key"), "key");
  writeFileSync(join(folder, "outside.txt"), "outside");
});

function command(by: typeof run, ...args: readonly string[]): Promise<Ran> {
  return by([...args, "--config", file], { home: folder, cwd: workspace });
}

/** A folder's file is allowed as its refusal says. */
async function trust(name: string): Promise<void> {
  const refused = await command(runQuickly, "tools", name);
  const [, digest = ""] = /trust \w+ ([0-9a-f]{64}) --config/.exec(refused.stderr) ?? [];
  expect(await command(runQuickly, "trust", name, digest)).toMatchObject({ code: 0 });
}

async function probed(sandboxEnabled: boolean, by: typeof run): Promise<unknown> {
  writeFileSync(join(workspace, "server.cjs"), SERVER);
  rmSync(join(workspace, "out", "made.txt"), { force: true });
  writeFileSync(file, configuration(sandboxEnabled));
  await trust("probing");
  const { stdout, stderr } = await command(by, "call", "probing", "probe", "--env", "TOLD=told");
  if (!stdout.trimStart().startsWith("{")) throw new Error(stdout + stderr);
  return JSON.parse(stdout) as unknown;
}

describe.skipIf(!hasWall())("a server of VS Code's", () => {
  test("that has sandboxEnabled reads its workspace, writes where it may, and has the way out its block names", async () => {
    expect(await probed(true, run)).toEqual({
      ...{ source: "true", secret: "EACCES", outside: "ENOENT", out: "undefined", written: "EROFS" },
      ...{ env: "given told", folder: true, proxy: true },
    });
    expect(readFileSync(join(workspace, "out", "made.txt"), "utf8")).toBe("made");
    expect(readFileSync(join(workspace, "server.cjs"), "utf8")).toBe(SERVER);
  });

  test("that has not is started as it is", async () => {
    expect(await probed(false, runQuickly)).toMatchObject({
      secret: "key",
      outside: "outside",
      env: "given told",
      proxy: false,
    });
  });

  test("with a block that makes no sense is not started", async () => {
    writeFileSync(file, configuration(true));
    await trust("wrong");
    expect((await command(runQuickly, "call", "wrong", "probe")).stderr).toContain(
      'network.allowedDomains of "wrong" must be a list',
    );
    expect((await command(runQuickly, "sandbox", "absent")).stderr).toContain('there is no server "absent"');
    expect(existsSync(join(workspace, "out"))).toBe(true);
  });
});
