// What later walks stumbled over: each with the test that catches its return.
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { EntryJoiner, tableHead, tableRow } from "../../src/cli/audit-lines.js";
import { readArguments } from "../../src/cli/call-arguments.js";
import { tellFailure } from "../../src/cli/failure.js";
import { askWishes } from "../../src/cli/policy-command.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { runQuickly } from "./command-in-thread.js";

/** A server that answers some requests under an id nobody asked under. */
const STRAYING = `
import { createInterface } from "node:readline";
const [, , which] = process.argv;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [] },
  };
  const result = results[method];
  const answer = result ? { result } : { error: { code: -32601, message: "no" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id: method === which ? 9_000 + id : id, ...answer }));
});
`;

describe("a server that answers under another id", () => {
  it.each(["tools/list", "tools/call", "initialize"])("is named as the one at fault: %s", async (method) => {
    const home = temporaryFolder();
    const server = join(home, "server.mjs");
    writeFileSync(server, STRAYING);
    const target = ["--timeout", "1", "--yes", "--", process.execPath, server, method];
    const { stderr } = await runQuickly(["call", "echo", ...target], { home });
    if (method === "initialize") expect(stderr).toContain("it may do so under another id: mcp-secure-local doctor");
    else
      expect(stderr).toMatch(
        /\d messages? that answers? nothing that is waited for: .*A wrong id is the server's fault/,
      );
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe("status", () => {
  it("exits with 0 when all is well, and with 1 when something wanted does not work", async () => {
    const home = temporaryFolder();
    expect((await runQuickly(["status"], { home })).code).toBe(0);
    const policy = join(home, "policy.yaml");
    writeFileSync(policy, "version: [\n");
    expect((await runQuickly(["status", "--policy", policy], { home })).code).toBe(1);
  });

  it("says of a client's file that it cannot be read, and where", async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, ".cursor"));
    writeFileSync(join(home, ".cursor/mcp.json"), `{"mcpServers": {\n"a": {"command": "x" }`);
    const { stdout } = await runQuickly(["status"], { home });
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      `Cursor: ${home}/.cursor/mcp.json is no JSON: line 2, column 23: "," or "}" was expected`,
    );
  });
});

describe("the audit table", () => {
  it("leaves no column blank, and cuts a client's version before its name", () => {
    const record = { time: "2026-11-23T20:00:00Z", kind: "sandbox", client: "mcp-secure-local 0.1.0" };
    const wide = tableRow(record);
    expect(wide).toContain("mcp-secure-local 0.1.0");
    expect(wide).toMatch(/mcp-secure-local 0\.1\.0 +- +sandbox +- +- +-$/);
    const before = { isTTY: process.stdout.isTTY, columns: process.stdout.columns };
    Object.assign(process.stdout, { isTTY: true, columns: 120 });
    const [, client] = tableRow(record).split(/ {2,}/);
    Object.assign(process.stdout, before);
    expect(client).toBe("mcp-secure-local");
  });

  it("is never wider than the terminal, and has what was reached for, how it ended and why at any width", () => {
    const before = { isTTY: process.stdout.isTTY, columns: process.stdout.columns };
    vi.stubEnv("NO_COLOR", "1");
    onTestFinished(() => {
      vi.unstubAllEnvs();
      Object.assign(process.stdout, before);
    });
    const record = { time: "2026-11-23T20:00:00Z", kind: "sandbox", client: "mcp-secure-local 0.1.0" };
    const long = "x".repeat(200);
    const decision = { allowed: false, rule: `tools.denied ${long}` };
    const denied = { ...record, tool: long, arguments: { path: `/srv/${long}` }, decision, client: long };
    for (let columns = 56; columns < 220; columns += 1) {
      Object.assign(process.stdout, { isTTY: true, columns });
      for (const line of [tableHead(), tableRow(denied), tableRow(record)])
        expect(line.length, `${columns}: ${line}`).toBeLessThanOrEqual(columns);
      expect(tableRow(denied)).toMatch(/\/srv\/x.* denied .*tools\./);
      expect(tableHead()).toMatch(/tool +object +outcome +rule$/);
    }
  });

  it("has its colours, and nothing else that a terminal obeys", async () => {
    const home = temporaryFolder();
    await runQuickly(["call", "read_file", "path=/etc/passwd"], { home });
    const { stdout } = await runQuickly(["audit", "query", "decision=denied"], { home, env: { FORCE_COLOR: "1" } });
    // oxlint-disable-next-line no-control-regex -- what a terminal obeys is what is looked for
    expect(stdout.match(/[\u001b\u009b]\[?\d*./g)).toEqual(["\u001b[2m", "\u001b[0m", "\u001b[31m", "\u001b[0m"]);
    expect(stdout).toMatch(/\u001b\[31m[^\n]* \/etc\/passwd .*\u001b\[0m\n/);
  });
});

describe("policy init", () => {
  it("keeps the good folders and hosts among bad ones", async () => {
    const [notes, data] = ["notes", "data"].map((name) => join(temporaryFolder(), name)) as [string, string];
    for (const folder of [notes, data]) mkdirSync(folder);
    const asked: string[] = [];
    const answers = [`${notes}, /no/such/folder`, data, "n", "n", "docs.example.com, not/a host", ""];
    const wishes = await askWishes((question) => {
      asked.push(question);
      return Promise.resolve(answers.shift() ?? "");
    }, undefined);
    expect(wishes.readable).toEqual([notes, data]);
    expect(wishes.hosts).toContain("docs.example.com");
    expect(asked.join("\n")).toContain(`Taken: ${notes}. Which folders besides? (empty: no more)`);
  });
});

describe("an argument that is a bare word", () => {
  it("is told how arguments are written, by the tool's own names", async () => {
    const schema = { type: "object", properties: { path: {}, head: {} }, required: ["path"] };
    expect(() => readArguments(["notes.txt"], schema)).toThrow("write path=notes.txt (there are path, head)");
    expect(() => readArguments(["x"], { type: "object" })).toThrow("this tool takes no arguments: leave it out");
    const { stderr, code } = await runQuickly(["call", "calculate", "word"], { home: temporaryFolder() });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("its arguments are key=value, as in call calculate KEY=word"),
    ]);
  });
});

describe("what the system refuses", () => {
  it.each(["EACCES", "EPERM", "EROFS", "ENOSPC", "ENOTDIR"])("says what to do: %s", (code) => {
    let said = "";
    vi.spyOn(process.stderr, "write").mockImplementation((text) => ((said += String(text)), true));
    const error = Object.assign(new Error(`${code}: no, open '/x'`), { code, syscall: "open" });
    tellFailure(error, { json: false, debug: false });
    vi.restoreAllMocks();
    expect(said).toMatch(/the system refused: \w+: no, open '\/x'; .*(?:name|make room|check)/);
  });

  it("also of the library's port", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as AddressInfo;
    const serving = serveHttp(new Server({ name: "second", version: "1" }), { port });
    await expect(serving).rejects.toThrow(/EADDRINUSE.*stop it, or give another port \(0 takes a free one\)/);
  });
});

it.each([
  ["approval.denied", "denied", "a person was asked for 22 s"],
  [undefined, "cancelled", "a person was asked for 60 s, and nobody answered"],
  ["approval.given", "ok", undefined],
])("a call tells how long a person was asked: %s", (answer, outcome, words) => {
  const at = (seconds: number): string => new Date(Date.UTC(2026, 10, 27, 9, 0, seconds)).toISOString();
  const about = { id: 7, connection: 1, method: "tools/call", tool: "write_file" };
  const records = [
    { ...about, kind: "call.intent", time: at(0), decision: { allowed: true, rule: "tools.allowed: write_file" } },
    { ...about, kind: "approval.asked", time: at(0) },
    ...(answer === undefined ? [] : [{ ...about, kind: answer, time: at(22) }]),
    { ...about, kind: "call.result", time: at(60), outcome, duration_ms: 14 },
  ];
  const joiner = new EntryJoiner(true);
  const entries = records.flatMap((record) => [...joiner.take({ record, line: "", log: "a" })]);
  expect(entries).toHaveLength(1);
  const row = tableRow(entries[0]!.record);
  if (words === undefined) expect(row).not.toContain("was asked");
  else expect(row).toContain(`; ${words}`);
});

it("what is no URI is told what one looks like, and where those stand that there are", async () => {
  const { code, stderr } = await runQuickly(["read", "foo"], { home: temporaryFolder() });
  expect([code, stderr]).toEqual([
    2,
    'mcp-secure-local: "foo" is no URI, which begins with a scheme and a colon, as file:///home/ada/notes.txt does; those there are: mcp-secure-local inspect\n',
  ]);
});
