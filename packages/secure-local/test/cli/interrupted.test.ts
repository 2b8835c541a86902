// Commands that may take long, in a terminal: each says what it waits for, and Ctrl-C ends it and all that it has started.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sampled } from "../../../mcp/test/support/soak.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { hasTerminals, interrupted } from "./ctrl-c.js";

const HANGING = fileURLToPath(new URL("hanging-program.mjs", import.meta.url));

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A file that was begun may still be empty: whoever is ended then has left no process id in it. */
function hasText(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8") !== "";
}

describe.runIf(hasTerminals)("Ctrl-C in a terminal", () => {
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

  it.each(sampled(cases, 3))(
    "ends %s, and the program it started",
    { timeout: 90_000 },
    async (name, typed, progress) => {
      const home = temporaryFolder();
      const pidFile = join(home, "pid");
      const command = [HANGING, pidFile];
      writeFileSync(
        join(home, "mcp.json"),
        JSON.stringify({ mcpServers: { slow: { command: process.execPath, args: command } } }),
      );
      const plugin = join(home, "plugin.mjs");
      writeFileSync(
        plugin,
        `process.argv[2] = ${JSON.stringify(pidFile)}; await import(${JSON.stringify(HANGING)}); await new Promise(() => setInterval(() => undefined, 60_000));`,
      );
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
      const [code, shown] = await interrupted({ args, home }, (text) => hasText(pidFile) && progress.test(text));
      expect({ code, shown }).toMatchObject({ code: 130, shown: expect.stringContaining("interrupted") as string });
      expect(shown).not.toMatch(/\n\s+at .*:\d+|node:internal/);
      // Whoever is ended by a signal may be a moment longer in the table of processes.
      const pid = Number(readFileSync(pidFile, "utf8"));
      await expect.poll(() => runs(pid), { timeout: 30_000 }).toBe(false);
    },
  );
});
