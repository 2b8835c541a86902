// Commands that may take long, in a terminal: each says what it waits for, and Ctrl-C ends it and all that it has started.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf } from "./command.js";

/** Gives a program a terminal; part of every Debian. */
const SCRIPT = "/usr/bin/script";
const HANGING = fileURLToPath(new URL("hanging-program.mjs", import.meta.url));
const CTRL_C = "\u0003";

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

interface Tried {
  readonly args: readonly string[];
  readonly home: string;
  /** Written by the program that hangs, once it runs. */
  readonly pidFile: string;
}

/** Presses Ctrl-C as soon as the terminal shows `progress` and the program hangs. @returns exit code, and what was shown */
async function interrupted({ args, home, pidFile }: Tried, progress: RegExp): Promise<[number | null, string]> {
  const command = [process.execPath, COMMAND, ...args].map(quoted).join(" ");
  const child = spawn(SCRIPT, ["--quiet", "--return", "--command", command, "/dev/null"], {
    env: { ...environmentOf(home), SHELL: "/bin/sh", TERM: "xterm" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
  const closed = once(child, "close") as Promise<[number | null]>;
  await expect.poll(() => existsSync(pidFile) && progress.test(shown), { timeout: 30_000, interval: 20 }).toBe(true);
  child.stdin.write(CTRL_C);
  return [(await closed)[0], shown];
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe.runIf(process.platform === "linux" && existsSync(SCRIPT))("Ctrl-C in a terminal", () => {
  const cases: [string, (target: readonly string[], home: string) => string[], RegExp][] = [
    ["tools", (target) => ["tools", ...target], /connecting to .*…/],
    ["call", (target) => ["call", "echo", "text=hi", "--yes", ...target], /connecting to .*…/],
    ["read", (target) => ["read", "small://a", ...target], /connecting to .*…/],
    ["prompt", (target) => ["prompt", "greet", ...target], /connecting to .*…/],
    ["inspect", (target) => ["inspect", ...target], /connecting to .*…/],
    ["doctor", (target) => ["doctor", ...target], /(?:starting|check \d+ of) .*…/],
    ["list", (_target, home) => ["list", "--config", join(home, "mcp.json")], /asking 1 servers, 0 have answered …/],
    ["replay", (target, home) => ["replay", join(home, "session.jsonl"), ...target], /session 1 of 1, with .*…/],
    [
      "servers review",
      (_target, home) => ["servers", "review", "--policy", join(home, "policy.yaml")],
      /starting slow …/,
    ],
    [
      "plugins list",
      (_target, home) => ["plugins", "list", "--policy", join(home, "policy.yaml")],
      /starting \d plugins? .*…/,
    ],
  ];

  it.each(cases)("ends %s, and the program it started", { timeout: 90_000 }, async (name, typed, progress) => {
    const home = temporaryFolder();
    const pidFile = join(home, "pid");
    const command = [HANGING, pidFile];
    writeFileSync(
      join(home, "mcp.json"),
      JSON.stringify({ mcpServers: { slow: { command: process.execPath, args: command } } }),
    );
    const plugin = join(home, "plugin.mjs");
    writeFileSync(plugin, `process.argv[2] = ${JSON.stringify(pidFile)}; await import(${JSON.stringify(HANGING)});`);
    writeFileSync(
      join(home, "policy.yaml"),
      `version: "1.0"
sandbox: none
${
  name === "plugins list"
    ? `plugins: { load: [{ name: slow, path: ${plugin} }] }`
    : `servers: { slow: { command: [${[process.execPath, ...command].join(", ")}] } }`
}
`,
    );
    const lines = [
      { format: "mcp-recording", version: 1, target: "slow", startedAt: "2026-01-01T00:00:00.000Z" },
      { at: 1, from: "client", message: { jsonrpc: "2.0", id: 1, method: "ping" } },
      { at: 2, from: "server", message: { jsonrpc: "2.0", id: 1, result: {} } },
    ];
    writeFileSync(join(home, "session.jsonl"), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
    const args = typed(["--", process.execPath, ...command], home);
    const [code, shown] = await interrupted({ args, home, pidFile }, progress);
    expect({ code, shown }).toMatchObject({ code: 130, shown: expect.stringContaining("interrupted") as string });
    expect(shown).not.toMatch(/\n\s+at .*:\d+|node:internal/);
    // Whoever is ended by a signal may be a moment longer in the table of processes.
    const pid = Number(readFileSync(pidFile, "utf8"));
    await expect.poll(() => runs(pid), { timeout: 30_000 }).toBe(false);
  });
});
