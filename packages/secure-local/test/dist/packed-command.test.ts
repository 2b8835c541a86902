// The command as it is published: packed, unpacked on its own, and run from there.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layOut } from "../../../../scripts/lib/lay-out-package.mjs";
import { pack } from "../../../../scripts/lib/pack-package.mjs";
import { CACHE, type Ran } from "../cli/command.js";
import { ChildServer, envelope, type Message } from "../../../mcp/test/dist/child-server.js";
import { HANDSHAKE, refusesAndServesOn } from "../../../mcp/test/dist/packed-server.js";
import { sampled, soaking } from "../../../mcp/test/support/soak.js";

let folder: string;
let command: string;
let version: string;
let files: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "packed-command-"));
  // npm takes longer to pack than all of these tests together.
  const placed = layOut("packages/secure-local", folder);
  const packed = soaking ? await pack("packages/secure-local", folder) : placed;
  expect(placed.files.toSorted()).toEqual(packed.files.toSorted());
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

async function run(...args: string[]): Promise<Ran> {
  const child = spawn(process.execPath, [command, ...args], { cwd: folder, env: environment() });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  child.stdin.end();
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

describe("the packed command", () => {
  it("tells a program that imports it where to find what it wants", async () => {
    const wanted = join(folder, "wanted.mjs");
    await writeFile(wanted, 'import "mcp-secure-local";\n');
    const { stderr, status } = spawnSync(process.execPath, [wanted], { cwd: folder, encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toContain("mcp-secure-local/plugin");
    expect(stderr).toContain("@secure-local/mcp");
  });

  it("runs alone, by its own name, and says its version", async () => {
    const { status, stdout } = spawnSync(command, ["--version"], { env: environment(), encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${version}\n` });
    expect((await run("--help")).stdout).toContain("  policy check");
    expect(files).toContain("dist/third-party-licenses.txt");
  });

  // That every revision is spoken, the library's sources show; here is shown that nothing was lost on the way.
  it.each(sampled(HANDSHAKE, 3))(
    "holds a conversation in %s, and runs no code that is called an expression",
    async (revision) => {
      const server = start();
      const opened = await server.open(revision);
      expect(opened.result).toMatchObject({
        protocolVersion: revision,
        serverInfo: { name: "mcp-secure-local", version },
      });
      await useTools(server);
      for (const expression of ["process.exit(1)", "constructor.constructor('return 1')()", "this", "2 ** ("]) {
        const { result } = await server.ask("tools/call", { name: "calculate", arguments: { expression } });
        expect(result).toMatchObject({ isError: true });
      }
      expect(server.faults(revision)).toEqual([]);
      expect(await server.end()).toBe(0);
    },
  );

  it("holds a conversation in 2026-07-28", async () => {
    const server = start();
    await useTools(server, envelope());
    expect(server.faults("2026-07-28")).toEqual([]);
    expect(await server.end()).toBe(0);
  });

  refusesAndServesOn(() => start());

  it("denies what its policy does not name, and has SQLite and the parser of SQL with it", async () => {
    const policy = join(folder, "strict.yaml");
    const csv = join(folder, "rows.csv");
    await writeFile(csv, "a,b\n1,x\n2,y\n");
    await writeFile(policy, strictPolicy());
    const server = start("--policy", policy);
    await server.open("2025-11-25");
    expect(await names(server)).toEqual(["import_csv", "query_database", "web_search"]);
    expect(await server.ask("resources/read", { uri: "server://info" })).toHaveProperty("error");
    const call = async (name: string, args: object): Promise<Message | undefined> =>
      (await server.ask("tools/call", { name, arguments: args })).result;
    // The policy allows the tool, but no host it could reach: `htmlparser2` and the whole guard are in the bundle.
    const denied = await call("web_search", { query: "anything" });
    expect(denied).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("policy") }] });
    expect(await call("import_csv", { file: csv })).toMatchObject({ isError: false });
    const found = await call("query_database", { sql: "SELECT sum(a) AS total FROM rows", database: "main" });
    expect(found).toMatchObject({ content: [{ text: "total\n-----\n3\n(1 row)" }] });
    // It is parsed before anything is connected to.
    const refused = await call("query_database", { sql: "SELECT pg_sleep(1)", database: "other" });
    expect(JSON.stringify(refused)).toContain("pg_sleep is not on the list");
    await server.end();
  });

  it("serves nothing under a policy with faults, and says where they are", async () => {
    const policy = join(folder, "broken.yaml");
    await writeFile(policy, 'version: "1.0"\ntools:\n  alowed: ["calculate"]\n');
    const { code, stdout, stderr } = await run("--policy", policy);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/broken\.yaml:3:3: .*alowed/);
  });

  it("has all it takes to talk to other servers", async () => {
    const target = ["--env", `MCP_SECURE_LOCAL_AUDIT=${join(folder, "target.log")}`, "--", process.execPath, command];
    const inspected = await run("inspect", "--json", ...target);
    expect(JSON.parse(inspected.stdout)).toMatchObject({ revision: "2026-07-28", server: { version } });
    const other = new Server({ name: "other", version: "1.0.0", report: () => undefined });
    other.tool("calculate", {
      input: { type: "object", properties: { expression: { type: "string" } } },
      run: () => "42",
    });
    const { url, close } = await serveHttp(other, { port: 0 });
    const recording = join(folder, "session.jsonl");
    try {
      expect(await run("call", url, "calculate", "expression=6*7")).toMatchObject({ code: 0, stdout: "42\n" });
      expect(await run("record", recording, url)).toMatchObject({ code: 0 });
    } finally {
      await close();
    }
    expect(await run("replay", recording)).toMatchObject({ code: 0, stdout: "" });
    expect((await run("tools", "nowhere")).stderr).toContain('there is no server "nowhere"');
  });

  it("keeps an audit log that shows what was changed", async () => {
    const log = join(folder, "changed.log");
    const called = await run("call", "calculate", "expression=1+1", "--audit", log);
    expect(called).toMatchObject({ code: 0, stdout: "2\n" });
    expect((await run("audit", "verify", log)).code).toBe(0);
    const text = await readFile(log, "utf8");
    await writeFile(log, text.replace("1+1", "1+2"));
    const changed = await run("audit", "verify", log);
    expect(changed.code).toBe(1);
    expect(changed.stderr).toMatch(/changed\.log:\d+: /);
  });
});

function strictPolicy(): string {
  return `version: "1.0"
tools: { allowed: [web_search, query_database, import_csv] }
filesystem: { readable_paths: ["${folder}/**"] }
secrets: { nowhere: { from: "env:NOT_SET", hosts: [] } }
databases: { main: { file: "${folder}/main.db", read_only: false }, other: { secret: nowhere } }
`;
}

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
  return (result["tools"] as { name: string }[]).map(({ name }) => name).sort();
}
