// Programs under one roof: started from a file, one that crashes beside one that works, nothing left behind.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { Host, type NodeHostOptions } from "../../src/serve/host-node.js";
import { gone } from "../node-client/child-fixture.js";
import { kept } from "./host-fixture.js";

/** A server of the first revision in a few lines. Its tool tells what it sees, or ends the process. */
const PROGRAM = `
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    if (method === "initialize") answer(id, { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "tiny", version: process.env.KEY ?? "none" } });
    else if (method === "tools/list") answer(id, { tools: ["see", "end", "flood", "hang"].map((name) => ({ name, inputSchema: { type: "object" } })) });
    else if (method === "tools/call" && params.name === "end") process.exit(3);
    else if (method === "tools/call" && params.name === "flood") (function more() { process.stdout.write("x".repeat(65_536), more); })();
    else if (method === "tools/call" && params.name === "hang") process.on("SIGTERM", () => undefined);
    else if (method === "tools/call") answer(id, { content: [{ type: "text", text: JSON.stringify([process.pid, process.env.KEY, process.env.FROM_FILE, process.argv.slice(2)]) }] });
    else console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
  }
}).on("end", () => process.exit());`;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "host-"));
  await writeFile(join(folder, "tiny.mjs"), PROGRAM);
  await writeFile(join(folder, ".env"), "FROM_FILE=yes\nKEY=of the file\n");
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

function host(options: NodeHostOptions = {}): Host {
  return kept(new Host({ authorize: () => true, onCall: () => true, client: { verdicts: false }, ...options }));
}

async function seen(host: Host, name: string): Promise<[number, ...unknown[]]> {
  const { content } = await host.call(`${name}__see`);
  return JSON.parse((content[0] as { text: string }).text) as [number, ...unknown[]];
}

it("starts what a file names, with its variables, and ends it all", async () => {
  const path = join(folder, "mcp.json");
  const program = join(folder, "tiny.mjs");
  const command = { command: process.execPath, args: ["${workspaceFolder}/tiny.mjs", "${HOST_TEST_ARG:-by default}"] };
  await writeFile(
    path,
    JSON.stringify({
      mcpServers: {
        one: { ...command, env: { KEY: "${env:HOST_TEST_KEY}" }, envFile: ".env" },
        two: { ...command, envFile: "${workspaceFolder}/.env", unknown: 1 },
        off: { ...command, disabled: true },
        lost: { ...command, envFile: "nowhere.env" },
        wrong: { args: [] },
      },
    }),
  );
  const texts: string[] = [];
  const many = host({ authorize: ({ text, env }) => texts.push(`${text} | ${env.join()}`) > 0 });
  const report = await many.loadFile(path, { env: { HOST_TEST_KEY: "given" } });
  expect(report.servers.map(({ name, state, server }) => [name, state, server?.version])).toEqual([
    ["one", "ready", "given"],
    ["two", "ready", "of the file"],
    ["off", "disabled", undefined],
  ]);
  expect(report.problems.map(({ name, line }) => [name, line])).toEqual([
    ["wrong", 1],
    ["lost", 1],
  ]);
  expect(report.problems[1]?.message).toContain("nowhere.env could not be read");
  expect(texts.sort()).toEqual([
    `${process.execPath} ${program} 'by default' | FROM_FILE,KEY`,
    `${process.execPath} ${program} 'by default' | FROM_FILE,KEY`,
  ]);
  const [pid, ...rest] = await seen(many, "one");
  const [other] = await seen(many, "two");
  expect(rest).toEqual(["given", "yes", ["by default"]]);
  await many.close();
  await gone(pid, other);
});

it("one that crashes is started again, and the other has noticed nothing", async () => {
  const two = host({ restart: { firstMs: 1 } });
  const target = { command: process.execPath, args: [join(folder, "tiny.mjs")] };
  await Promise.all([two.add("one", target), two.add("two", target)]);
  const [first] = await seen(two, "one");
  const [other] = await seen(two, "two");
  await expect(two.call("one__end")).rejects.toMatchObject({
    code: expect.stringMatching(/EXITED|OUTCOME_UNKNOWN/) as string,
  });
  const up = (): boolean => two.servers()[0]?.failures === 1 && two.tools().some(({ name }) => name === "one__see");
  await vi.waitFor(() => expect([up(), two.servers()[0]?.state]).toEqual([true, "ready"]), { timeout: 10_000 });
  const [second] = await seen(two, "one");
  expect(second).not.toBe(first);
  expect((await seen(two, "two"))[0]).toBe(other);
  await two.close();
  await gone(first, second, other);
});

it("one that floods its output, or hangs, costs the other nothing", async () => {
  const two = host({ restart: { firstMs: 60_000 }, closeTimeouts: { inputEndMs: 20, terminateMs: 20 } });
  const target = { command: process.execPath, args: [join(folder, "tiny.mjs")] };
  await Promise.all(["flood", "hang", "good"].map((name) => two.add(name, target)));
  const pids = await Promise.all(["flood", "hang", "good"].map(async (name) => (await seen(two, name))[0]));
  const flooded = two.call("flood__flood", {}, { timeoutMs: 10_000 }).catch((error: unknown) => error);
  const hanging = two.call("hang__hang", {}, { timeoutMs: 50 }).catch((error: unknown) => error);
  expect(await hanging).toMatchObject({ code: "TIMEOUT" });
  for (let call = 0; call < 20; call++) expect((await seen(two, "good"))[0]).toBe(pids[2]);
  expect(await flooded).toBeInstanceOf(Error);
  expect((await seen(two, "good"))[0]).toBe(pids[2]);
  await two.close();
  await gone(...pids);
});

it("one that cannot be started says why, and what was tried", async () => {
  const lines: string[] = [];
  const one = host({ stderr: (line, server) => lines.push(`${server}: ${line}`) });
  const { state, reason } = await one.add("none", { command: join(folder, "no-such-program") });
  expect(state).toBe("waiting");
  expect(reason).toContain("no-such-program");
  const bad = await one.add("bad", {
    command: process.execPath,
    args: ["-e", "console.error('no config'); process.exit(7)"],
  });
  expect(bad.reason).toMatch(/status 7[^]*no config/);
  expect(lines).toContain("bad: no config");
});

it("a file that is none is an error that says where", async () => {
  const path = join(folder, "broken.json");
  await writeFile(path, '{ "mcpServers": {\n  "a": { "command": } } }');
  await expect(host().loadFile(path)).rejects.toThrow("broken.json is no JSON: line 2, column 21");
  await expect(host().loadFile(join(folder, "none.json"))).rejects.toMatchObject({ code: "CONFIG_FILE" });
});
