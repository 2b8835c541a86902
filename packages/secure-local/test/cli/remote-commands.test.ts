// The command on other servers: what it prints, and how it exits. Each is run as the built program once at least.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import type { Transport } from "@secure-local/mcp/client";
import { childTransport } from "@secure-local/mcp/client/node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { memoryTransport } from "../../../mcp/src/serve/host.js";
import { soaking } from "../../../mcp/test/support/soak.js";
import { noAudit } from "../../src/audit/event-text.js";
import { type CommandLine, readCommandLine, refuseForeign, UsageError } from "../../src/cli/command-line.js";
import { inspectCommand } from "../../src/cli/remote/inspect-command.js";
import { readCommand } from "../../src/cli/remote/remote-call.js";
import { recordCommand, replayCommand } from "../../src/cli/remote/record-command.js";
import { type Diagnosis, examine } from "@secure-local/mcp-tools/examine";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf, type Ran, run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const PROGRAM = fileURLToPath(new URL("small-program.mjs", import.meta.url));
const TARGET = ["--", process.execPath, PROGRAM];

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function inHome(...args: string[]): Promise<Ran> {
  return runQuickly(args, { home: temporaryFolder() });
}

function built(...args: string[]): Promise<Ran> {
  return run(args, { home: temporaryFolder() });
}

/** A server of few tools in this program; its URL. With `sse`, that of its endpoint of 2024-11-05; `honest`: no description acts on terminals; `bare`: a parameter is not described. */
async function served({ sse = false, honest = false, bare = false } = {}): Promise<string> {
  const server = new Server({ name: "small", version: "1.0.0", report: () => undefined });
  server.tool("wipe", {
    description: "Deletes everything",
    annotations: { destructiveHint: true },
    run: () => "gone",
  });
  server.tool("break", { description: "Always fails", run: (_args, ctx) => ctx.fail("Nothing works") });
  server.tool("paint", {
    description: honest ? "Colours the terminal" : "Colours\u001b[31m the terminal",
    run: () => "red\u001b[31m and \u001b]0;title\u0007done",
  });
  const input = { type: "object", properties: { colour: { type: "string" } } } as const;
  if (bare) server.tool("mix", { description: "Mixes a colour", input, run: () => "mixed" });
  server.resource("small://note", { name: "note", read: () => "A note" });
  server.prompt("greet", {
    description: "Greets",
    arguments: { who: { required: true } },
    run: ({ who }) => `Greet ${who}`,
  });
  const { url, close } = await serveHttp(server, { port: 0, sse });
  closers.push(close);
  return sse ? new URL("/sse", url).href : url;
}

async function doctorOnBuilt(): Promise<Pick<Diagnosis, "counts" | "findings">> {
  const env = ["--env", `MCP_SECURE_LOCAL_AUDIT=${join(temporaryFolder(), "audit.log")}`];
  const { code, stdout } = await built("doctor", "--json", ...env, "--", process.execPath, COMMAND);
  expect(code).toBe(0);
  return JSON.parse(stdout) as Diagnosis;
}

/** The built program for the two sessions of an examination, and for each further conversation the same server without a process. */
function ownLinks(): () => Transport {
  const program = { command: process.execPath, args: [COMMAND], env: environmentOf(temporaryFolder()) };
  let links = 0;
  return () => {
    links += 1;
    if (links <= 2) return childTransport(program);
    return memoryTransport(new SecureServer({ policy: builtInPolicy(), audit: noAudit, version: "1.0.0" }).server);
  };
}

describe("a command as target", () => {
  it("is inspected", async () => {
    const { code, stdout, stderr } = await built("inspect", "--json", ...TARGET);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      transport: "stdio",
      era: "stateless",
      revision: "2026-07-28",
      offered: expect.arrayContaining(["2024-11-05"]) as string[],
      server: { name: "small", version: "1.0.0" },
      capabilities: { tools: {} },
      instructions: expect.any(String) as string,
      prompts: expect.arrayContaining([expect.objectContaining({ name: "greeting" })]) as object[],
    });
  });

  it("is spoken to in the revision that is asked for, and prints only data", async () => {
    const said = await inHome("call", "echo", "text=hi there", "--revision", "2025-06-18", ...TARGET);
    expect(said).toEqual({ code: 0, stdout: "hi there\n", stderr: "" });
  });

  it("that does not exist cannot be reached; with --json the error is an object", async () => {
    const { code, stdout, stderr } = await built("tools", "--json", "--", "/no/such/program");
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "SPAWN_FAILED", exitCode: 4 } });
  });
});

describe("a URL as target", () => {
  it("is inspected for people", async () => {
    const { code, stdout } = await inHome("inspect", await served());
    expect(code).toBe(0);
    expect(stdout).toMatch(/^small 1\.0\.0\n {2}target {8}http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
    expect(stdout).toContain("\nTools (3)\n");
    expect(stdout).toContain("  small://note  note");
  });

  it("is read, prompted and called", async () => {
    const url = await served();
    expect(await built("read", url, "small://note")).toMatchObject({ code: 0, stdout: "A note\n" });
    expect(await built("prompt", url, "greet", "who=7")).toMatchObject({ code: 0, stdout: "user: Greet 7\n" });
    expect(await built("call", url, "paint")).toMatchObject({ code: 0, stdout: "red and done\n" });
  });

  it("has failures of its own: tools that fail, and what is not there", async () => {
    const url = await served();
    expect(await inHome("call", url, "break")).toEqual({ code: 5, stdout: "", stderr: "Nothing works\n" });
    const unknown = await inHome("call", url, "brake");
    expect(unknown).toMatchObject({ code: 5, stderr: expect.stringContaining('did you mean "break"?') as string });
    expect(await inHome("read", url, "small://none")).toMatchObject({ code: 5 });
  });

  it("is not asked to destroy anything without consent", async () => {
    const url = await served();
    expect(await inHome("call", url, "wipe")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes") as string,
    });
    expect(await inHome("call", url, "wipe", "--yes")).toMatchObject({ code: 0, stdout: "gone\n" });
  });

  it("that wants authorization is told apart from one that is not there", async () => {
    const refusing = createServer((_request, response) => void response.writeHead(401).end());
    await new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve));
    closers.push(() => new Promise((resolve) => refusing.close(resolve)));
    const { port } = refusing.address() as AddressInfo;
    const refused = await inHome("inspect", `http://127.0.0.1:${port}/mcp`, "--token", "wrong");
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(await inHome("inspect", "http://127.0.0.1:9/mcp")).toMatchObject({ code: 4, stdout: "" });
  });
});

describe("a name as target", () => {
  it("is looked up in the file that is given", async () => {
    const file = join(temporaryFolder(), "servers.json");
    writeFileSync(file, JSON.stringify({ mcpServers: { every: { command: process.execPath, args: [PROGRAM] } } }));
    const { code, stdout } = await inHome("call", "every", "echo", "text=by name", "--config", file);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "by name\n" });
    const { code: none, stderr } = await inHome("tools", "evry", "--config", file);
    expect({ none, stderr }).toMatchObject({ none: 2, stderr: expect.stringContaining("there are every") as string });
  });
});

describe("doctor, record and replay", () => {
  it("exit by what they find", async () => {
    const { code, stdout } = await built("doctor", "--json", await served({ honest: true }));
    const { counts, findings } = JSON.parse(stdout) as { counts: { fail: number }; findings: object[] };
    expect({ code, fail: counts.fail }).toEqual({ code: 0, fail: 0 });
    expect(findings.length).toBeGreaterThan(40);
    expect(await inHome("doctor", await served())).toMatchObject({ code: 1 });
  });

  it("doctor fails a server for less when it is told to, and leaves out what it is told to", async () => {
    const small = await served({ honest: true, bare: true });
    const { code, stdout, stderr } = await inHome("doctor", small);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("note  tool-parameter-descriptions");
    expect(stdout).toContain("https://modelcontextprotocol.io/specification/2025-11-25/server/tools");
    const strict = await inHome("doctor", small, "--strict", "--json");
    const { findings } = JSON.parse(strict.stdout) as { findings: { id: string; tier?: string; page: string }[] };
    const found = findings.filter(({ tier }) => tier !== undefined).map(({ id }) => id);
    expect({ code: strict.code, tiers: new Set(findings.map(({ tier }) => tier)).has("note") }).toEqual({
      code: 1,
      tiers: true,
    });
    expect(findings.every(({ page }) => page.startsWith("https://"))).toBe(true);
    const left = await inHome("doctor", small, "--strict", ...found.flatMap((id) => ["--ignore", id]));
    expect(left).toMatchObject({ code: 0, stdout: expect.not.stringContaining("tool-param") as string });
    const unknown = await inHome("doctor", small, "--ignore", "tool-schema");
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain('there is no check "tool-schema"; near it are ');
    expect(unknown.stderr).toContain("tool-input-schema, tool-output-schema");
    expect((await inHome("doctor", small, "--ignore", "batsh")).stderr).toContain('did you mean "batch"?');
    expect(await inHome("tools", small, "--ignore", "batch")).toMatchObject({ code: 2 });
  });

  it("find nothing wrong with the program itself", async () => {
    const { counts, findings } = soaking ? await doctorOnBuilt() : await examine({ kind: "stdio", link: ownLinks() });
    // How soon it starts is up to the machine.
    const bad = findings.filter(({ id, verdict }) => !["ok", "skipped"].includes(verdict) && id !== "start-time");
    expect({ fail: counts.fail, bad }).toEqual({ fail: 0, bad: [] });
    expect(findings.length).toBeGreaterThan(40);
  });

  it("keep a conversation, and play either side of it", async () => {
    const file = join(temporaryFolder(), "session.jsonl");
    const input = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } })}\n`;
    const home = temporaryFolder();
    const recorded = await run(["record", file, ...TARGET], { home, input });
    expect(recorded).toMatchObject({ code: 0, stdout: expect.stringContaining('"name":"small"') as string });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await run(["replay", file], { home, input })).toEqual({ ...recorded, stderr: "" });
    expect(await inHome("replay", file, ...TARGET)).toMatchObject({
      code: 0,
      stdout: "1 requests: 1 answered as recorded, 0 different\n",
    });
  });
});

describe("a URL of HTTP+SSE", () => {
  it("is examined, without what Streamable HTTP would have to do", async () => {
    const { code, stdout } = await inHome("doctor", "--json", await served({ sse: true, honest: true }));
    const { findings } = JSON.parse(stdout) as { findings: { verdict: string; detail?: string }[] };
    expect({ code, bad: findings.filter(({ verdict }) => verdict === "fail") }).toEqual({ code: 0, bad: [] });
    expect(findings).toContainEqual(
      expect.objectContaining({ verdict: "skipped", detail: "it is not reached over Streamable HTTP" }),
    );
  });

  it("is recorded, and gives the same answers when it is played again", async () => {
    const file = join(temporaryFolder(), "session.jsonl");
    const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const lines = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "resources/read", params: { uri: "small://note" } },
    ];
    const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const url = await served({ sse: true });
    const recorded = await run(["record", file, url], { home: temporaryFolder(), input });
    expect(recorded).toMatchObject({ code: 0, stdout: expect.stringContaining('"text":"A note"') as string });
    expect(await inHome("replay", file, url)).toMatchObject({
      code: 0,
      stdout: "2 requests: 2 answered as recorded, 0 different\n",
    });
  });
});

describe("a wrong command line", () => {
  const commands: Readonly<Record<string, (line: CommandLine) => Promise<number>>> = {
    inspect: inspectCommand,
    read: readCommand,
    record: recordCommand,
    replay: replayCommand,
  };

  it.each([
    ["inspect", ["a://b", "--env", "A=b"], "--env is for commands"],
    ["inspect", ["--"], "a command has to stand after --"],
    ["inspect", ["a://b", "c"], 'a word too many, "c"'],
    ["read", ["https://b"], "read needs a target and the URI"],
    ["read", ["a://b", "c://d", "--env", "A=b"], "--env is for commands"],
    ["inspect", ["--header", "A: b", "--", "node"], "--header is for URLs"],
    ["inspect", ["--token", "t", "--", "node"], "--token is for URLs"],
    ["inspect", ["--url", "a://b", "--", "node"], "not both"],
    ["inspect", ["--timeout", "0", "a://b"], "--timeout needs seconds"],
    ["record", ["--", "node"], "record needs a file and a target"],
    ["replay", [], "replay needs a file"],
    ["replay", ["f", "--strict", "--", "node"], "--strict is for replay without a target"],
  ])("%s %j is refused before anything is started", async (name, args, message) => {
    let told = "";
    const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => ((told += String(text)), true));
    const refused = await commands[name]?.(readCommandLine(args)).catch((error: unknown) => {
      expect(error).toBeInstanceOf(UsageError);
      return (error as Error).message;
    });
    write.mockRestore();
    expect(`${refused}${told}`).toContain(message);
  });

  it("has no options of other commands", () => {
    const line = readCommandLine(["policy", "check", "--revision", "2025-11-25"]);
    expect(() => refuseForeign(line, "policy")).toThrow("--revision belongs to commands that talk to a server");
  });
});
