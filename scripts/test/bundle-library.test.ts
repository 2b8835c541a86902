// What the built library loads: a start reads no more than it needs, and what comes later is in files of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const dist = new URL("../../packages/mcp/dist/", import.meta.url);

/** The built files that `entries` load at once: by static imports. */
function loadedAtOnce(...entries: string[]): ReadonlySet<string> {
  const loaded = new Set(entries);
  for (const name of loaded) {
    const text = readFileSync(fileURLToPath(new URL(name, dist)), "utf8");
    for (const [, other] of text.matchAll(/^(?:import|export) (?:[^;]*? from )?"\.\/([^"]+\.js)";/gm))
      loaded.add(other as string);
  }
  return loaded;
}

/** Bytes that a start may read: V8 takes a fifth of a million instructions for each thousand, whether they run or not. */
const MOST_BYTES = 322_000;

/** Serves over stdio, and answers its tool with what Node has loaded of its own by then. */
const SERVER = `
  import { Server } from "${new URL("server.js", dist).href}";
  import { serveStdio } from "${new URL("stdio.js", dist).href}";
  const server = new Server({ name: "a", version: "1" });
  const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  server.tool("loaded", { input, run: () => process.moduleLoadList.join(" ") });
  await serveStdio(server);`;

const session = [
  {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } },
  },
  { method: "notifications/initialized" },
  { id: 2, method: "tools/list" },
  { id: 3, method: "tools/call", params: { name: "loaded", arguments: { text: "" } } },
];

it("a server over stdio loads nothing at its start that only answers with data, questions or HTTP need", () => {
  expect([...loadedAtOnce("server.js", "stdio.js")].sort()).toEqual([
    "server.js",
    "shared-core.js",
    "shared-rolldown-runtime.js",
    "shared-stdio.js",
    "stdio.js",
  ]);
});

it("a server over stdio reads few bytes at its start", () => {
  const sizes = [...loadedAtOnce("server.js", "stdio.js")].map((name) => statSync(new URL(name, dist)).size);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MOST_BYTES);
});

it("a session over stdio has Node load no cryptography, clock or HTTP before its first tool has answered", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", SERVER]);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stdin.end(session.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  await once(child, "close");
  const loaded = output.trim().split("\n")[2] ?? "";
  expect(loaded).toContain("NativeModule net");
  expect(loaded).not.toMatch(
    /NativeModule (?:internal\/crypto|perf_hooks|crypto|http|https|child_process|worker_threads)\b/,
  );
});

it("what comes with the first call that needs it is there", () => {
  const core = readFileSync(fileURLToPath(new URL("shared-core.js", dist)), "utf8");
  expect(core.includes(`import("./shared-later.js")`)).toBe(true);
});
