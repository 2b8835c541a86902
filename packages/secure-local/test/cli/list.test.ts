// `list`: every configured server with how it is; what a folder names is not started before it was allowed.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const PROGRAM = fileURLToPath(new URL("small-program.mjs", import.meta.url));
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A name that is a command where it is copied unquoted. */
const HOSTILE = "ok; touch pwn";

it("shows the servers of all clients on this machine, each with how it is, and starts nothing of a folder's", async () => {
  const root = temporaryFolder();
  const [home, work, mark] = [join(root, "home"), join(root, "work"), join(root, "mark")];
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  const refusing = createServer((_request, response) => void response.writeHead(401).end());
  await new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve));
  closers.push(() => new Promise((resolve) => refusing.close(resolve)));
  const { port } = refusing.address() as AddressInfo;
  const servers = {
    good: { command: process.execPath, args: [PROGRAM] },
    gone: { command: process.execPath, args: ["-e", "process.exit(3)"] },
    hangs: { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] },
    off: { command: "x", disabled: true },
    odd: { command: 5 },
    far: { url: `http://127.0.0.1:${port}/mcp` },
  };
  write("home/.claude.json", JSON.stringify({ mcpServers: servers }));
  write(
    "home/.codex/config.toml",
    `[mcp_servers.codex]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(PROGRAM)}]\n`,
  );
  write(
    "work/.mcp.json",
    JSON.stringify({
      mcpServers: Object.fromEntries(
        ["strange", HOSTILE].map((n) => [n, { command: "sh", args: ["-c", `touch ${mark}`] }]),
      ),
    }),
  );
  const { code, stdout } = await run(["list", "--json", "--timeout", "3"], { home, cwd: work });
  expect(code).toBe(1);
  const rows = JSON.parse(stdout) as { name: string; health: string; reason?: string }[];
  // What is to be copied is one word, whatever its author called it.
  const advice = rows.find(({ name }) => name === HOSTILE)?.reason;
  expect(advice).toContain(`mcp-secure-local trust 'ok; touch pwn' shows`);
  expect(Object.fromEntries(rows.map(({ name, health }) => [name, health]))).toEqual({
    ...{ good: "ok", gone: "failed", hangs: "failed", off: "disabled", odd: "broken", far: "login needed" },
    ...{ codex: "ok", strange: "not allowed", [HOSTILE]: "not allowed" },
  });
  expect(rows.find(({ name }) => name === "good")).toMatchObject({
    ...{ client: "Claude Code", server: "small 1.0.0", revision: "2026-07-28", transport: "stdio" },
    ...{ tools: expect.any(Number) as number, ms: expect.any(Number) as number },
  });
  expect(existsSync(mark)).toBe(false);
});

it("is a table for people", async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, ".cursor"));
  writeFileSync(
    join(home, ".cursor", "mcp.json"),
    JSON.stringify({ mcpServers: { "a\u001b[2J": { command: "x", disabled: true } } }),
  );
  const file = join(home, ".cursor", "mcp.json");
  const { code, stdout } = await runQuickly(["list", "--config", file], { home });
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `a file ${file}\n  disabled      a\n`.replace("a file", "Cursor"),
  });
});

it.each([
  ["a name that is there twice", '{"mcpServers":{"x":{"command":"a"},"x":{"command":"b"}}}'],
  ["text behind its end", '{"mcpServers":{}} x'],
  ["no JSON at all", "mcpServers"],
  ["deep nesting", "[".repeat(5_000)],
  ["a list", "[1]"],
])("names a file of a client that it cannot read, for %s, and fails", async (_why, text) => {
  const home = temporaryFolder();
  mkdirSync(join(home, ".cursor"));
  const file = join(home, ".cursor/mcp.json");
  writeFileSync(file, text);
  const { code, stdout } = await runQuickly(["list"], { home, cwd: home });
  expect([code, stdout]).toEqual([1, expect.stringContaining(file) as string]);
  expect(stdout).toMatch(/broken +the whole file +\S/);
  const { stderr } = await runQuickly(["tools", "x"], { home, cwd: home });
  expect(stderr).toContain(`Not looked at: ${file}`);
});

it("takes an empty file of a client for one without servers", async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, ".cursor"));
  writeFileSync(join(home, ".cursor/mcp.json"), "\n");
  expect(await runQuickly(["list"], { home, cwd: home })).toMatchObject({ code: 0 });
});
