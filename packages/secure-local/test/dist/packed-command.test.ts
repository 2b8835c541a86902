// The command as it is published: packed, unpacked on its own, and run from there.
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CACHE } from "../cli/command.js";
import { pack } from "../../../../scripts/lib/pack-package.mjs";
import { ChildServer, envelope, type Message } from "../../../mcp/test/dist/child-server.js";
import { HANDSHAKE, refusesAndServesOn } from "../../../mcp/test/dist/packed-server.js";

let folder: string;
let command: string;
let version: string;
let files: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "packed-command-"));
  const packed = await pack("packages/secure-local", folder);
  ({ version, files } = packed);
  command = join(packed.place, packed.manifest.bin["mcp-secure-local"]);
});
afterAll(() => rm(folder, { recursive: true }));

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  HOME: folder,
  // The code kept for the build is that of the packed one, which is the same.
  XDG_CACHE_HOME: CACHE,
  MCP_SECURE_LOCAL_AUDIT: join(folder, "audit.log"),
});
const start = (...args: string[]): ChildServer =>
  new ChildServer([command, ...args], { cwd: folder, env: environment() });
const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, [command, ...args], { cwd: folder, env: environment(), encoding: "utf8" });

describe("the packed command", () => {
  it("runs alone, by its own name, and says its version", () => {
    const { status, stdout } = spawnSync(command, ["--version"], { env: environment(), encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${version}\n` });
    expect(run("--help").stdout).toContain("mcp-secure-local policy check");
    expect(files).toContain("dist/third-party-licenses.txt");
  });

  it.each(HANDSHAKE)("holds a conversation in %s", async (revision) => {
    const server = start();
    const opened = await server.open(revision);
    expect(opened.result).toMatchObject({
      protocolVersion: revision,
      serverInfo: { name: "mcp-secure-local", version },
    });
    await useTools(server);
    expect(server.faults(revision)).toEqual([]);
    expect(await server.end()).toBe(0);
  });

  it("holds a conversation in 2026-07-28", async () => {
    const server = start();
    await useTools(server, envelope());
    expect(server.faults("2026-07-28")).toEqual([]);
    expect(await server.end()).toBe(0);
  });

  refusesAndServesOn(() => start());

  it("runs no code that somebody calls an expression", async () => {
    const server = start();
    await server.open("2025-11-25");
    for (const expression of ["process.exit(1)", "constructor.constructor('return 1')()", "this", "2 ** ("]) {
      const { result } = await server.ask("tools/call", { name: "calculate", arguments: { expression } });
      expect(result).toMatchObject({ isError: true });
    }
    await server.end();
  });

  it("denies what its policy does not name", async () => {
    const policy = join(folder, "strict.yaml");
    await writeFile(policy, 'version: "1.0"\ntools:\n  allowed: ["web_search"]\n');
    const server = start("--policy", policy);
    await server.open("2025-11-25");
    expect(await names(server)).toEqual(["web_search"]);
    expect(await server.ask("resources/read", { uri: "server://info" })).toHaveProperty("error");
    // The policy allows the tool, but no host it could reach: `htmlparser2` and the whole guard are in the bundle.
    const denied = await server.ask("tools/call", { name: "web_search", arguments: { query: "anything" } });
    expect(denied.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("policy") }] });
    await server.end();
  });

  it("serves nothing under a policy with faults, and says where they are", async () => {
    const policy = join(folder, "broken.yaml");
    await writeFile(policy, 'version: "1.0"\ntools:\n  alowed: ["calculate"]\n');
    const { status, stdout, stderr } = run("--policy", policy);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/broken\.yaml:3:3: .*alowed/);
  });

  it("has all it takes to talk to other servers", () => {
    const target = ["--env", `MCP_SECURE_LOCAL_AUDIT=${join(folder, "target.log")}`, "--", process.execPath, command];
    const inspected = run("inspect", "--json", ...target);
    expect(JSON.parse(inspected.stdout)).toMatchObject({ revision: "2026-07-28", server: { version } });
    expect(run("call", "calculate", "expression=6*7", ...target)).toMatchObject({ status: 0, stdout: "42\n" });
    const recording = join(folder, "session.jsonl");
    expect(run("record", recording, ...target)).toMatchObject({ status: 0 });
    expect(run("replay", recording)).toMatchObject({ status: 0, stdout: "" });
    expect(run("tools", "nowhere").stderr).toContain('there is no server "nowhere"');
  });

  it("has SQLite and the parser of SQL with it", async () => {
    const policy = join(folder, "data.yaml");
    const csv = join(folder, "rows.csv");
    await writeFile(csv, "a,b\n1,x\n2,y\n");
    await writeFile(
      policy,
      `version: "1.0"
tools: { allowed: [query_database, import_csv] }
filesystem: { readable_paths: ["${folder}/**"] }
secrets: { nowhere: { from: "env:NOT_SET", hosts: [] } }
databases: { main: { file: "${folder}/main.db", read_only: false }, other: { secret: nowhere } }
`,
    );
    const call = (...args: string[]) => run("call", ...args, "--policy", policy);
    expect(call("import_csv", `file=${csv}`)).toMatchObject({ status: 0 });
    const found = call("query_database", "sql=SELECT sum(a) AS total FROM rows", "database=main");
    expect(found).toMatchObject({ status: 0, stdout: "total\n-----\n3\n(1 row)\n" });
    // It is parsed before anything is connected to.
    expect(call("query_database", "sql=SELECT pg_sleep(1)", "database=other").stderr).toContain(
      "pg_sleep is not allowed",
    );
  });

  it("keeps an audit log that shows what was changed", async () => {
    const log = join(folder, "changed.log");
    expect(run("call", "calculate", "expression=1+1", "--audit", log)).toMatchObject({ status: 0, stdout: "2\n" });
    expect(run("audit", "verify", log).status).toBe(0);
    const text = await readFile(log, "utf8");
    await writeFile(log, text.replace("1+1", "1+2"));
    const changed = run("audit", "verify", log);
    expect(changed.status).toBe(1);
    expect(changed.stderr).toMatch(/changed\.log:\d+: /);
  });
});

async function useTools(server: ChildServer, params: Message = {}): Promise<void> {
  expect(await names(server, params)).toEqual(["calculate", "get_timestamp", "web_search"]);
  const call = { ...params, name: "calculate", arguments: { expression: "2 ^ 10 % 1000" } };
  const sum = await server.ask("tools/call", call);
  expect(sum.result).toMatchObject({ isError: false, content: [{ type: "text", text: "24" }] });
  const info = await server.ask("resources/read", { ...params, uri: "server://info" });
  expect(info.result).toMatchObject({ contents: [{ mimeType: "application/json" }] });
  const prompt = { ...params, name: "code_review", arguments: { code: "fn main() {\n}" } };
  expect(JSON.stringify(await server.ask("prompts/get", prompt))).toContain("Please review this Rust code:");
}

async function names(server: ChildServer, params: Message = {}): Promise<string[]> {
  const { result = {} } = await server.ask("tools/list", params);
  return (result["tools"] as { name: string }[]).map(({ name }) => name);
}
