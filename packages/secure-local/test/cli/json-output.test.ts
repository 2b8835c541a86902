// What a stranger's server says never acts on a terminal, with --json either: it is the same JSON, in printed characters.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveHttp } from "@secure-local/mcp/http";
import { RpcError, Server } from "@secure-local/mcp/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

/** C1, direction, invisible, tag, filler, selector, private use, separators: one of each kind, and what has to stay. */
const BAD =
  "\u009b31m\u009d0;t\u009c\u007f\u202e\u2066\u061c\u200b\u200f\u00ad\u034f\u115f\u3164\ufe0f\ufeff\ufff9\u{e0041}\u{e0101}\ue000\u2028\u2029\u2800";
const GOOD = "zażółć 中文 🙂";
const PRINTED = /^[\n\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u4e00-\u9fff\u{1f600}-\u{1f64f}]*$/u;

let url = "";
let close: () => Promise<void>;
beforeAll(async () => {
  const server = new Server({ name: `small${BAD}`, version: "1", instructions: BAD + GOOD, report: () => undefined });
  server.tool("paint", {
    description: BAD + GOOD,
    annotations: { readOnlyHint: true },
    output: { type: "object", properties: { said: { type: "string" } } },
    run: () => ({ said: BAD + GOOD }),
  });
  server.tool("fail", {
    description: "Fails",
    annotations: { readOnlyHint: true },
    run: (_args, ctx) => ctx.fail(BAD),
  });
  server.tool("break", {
    description: "Breaks",
    annotations: { readOnlyHint: true },
    run: () => Promise.reject(new RpcError(-32_000, BAD, { [BAD]: BAD })),
  });
  server.resource("small://note", { name: BAD, read: () => BAD });
  server.prompt("greet", { description: BAD, run: () => BAD });
  ({ url, close } = await serveHttp(server, { port: 0 }));
});
afterAll(() => close());

describe("--json", () => {
  it.each([
    [["tools"], []],
    [["inspect"], []],
    [["call"], ["paint"]],
    [["call"], ["fail"]],
    [["call"], ["break"]],
    [["read"], ["small://note"]],
    [["prompt"], ["greet"]],
  ])("of %j %j is printed characters that stand for the same", async (before, after) => {
    const { stdout, stderr } = await runQuickly([...before, url, ...after, "--json"], { home: temporaryFolder() });
    const text = stdout === "" ? stderr : stdout;
    expect(stdout + stderr).toMatch(PRINTED);
    expect(JSON.stringify(JSON.parse(text))).toContain(BAD.slice(-9));
  });

  it("is so of the built program, and of structured content without --json", async () => {
    const home = temporaryFolder();
    const { stdout } = await run(["tools", url, "--json"], { home });
    expect(stdout).toMatch(PRINTED);
    expect((JSON.parse(stdout) as { description?: string }[]).map(({ description }) => description)).toContain(
      BAD + GOOD,
    );
    const plain = await runQuickly(["call", url, "paint"], { home });
    expect(plain.stdout + plain.stderr).toMatch(PRINTED);
  });

  it("comes from one function: no command writes JSON by itself", () => {
    const root = fileURLToPath(new URL("../../../../packages/secure-local/src/cli", import.meta.url));
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    const own = files.filter((name) =>
      /\b(?:print|complain)\((?:line\.json \? )?JSON\.stringify/.test(readFileSync(join(root, name), "utf8")),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(own).toEqual([]);
  });
});

describe("escapeUnseen", () => {
  it("changes no JSON and leaves what is seen", () => {
    const value = { [BAD]: [GOOD, BAD, "\t\n\ud800 \u0600"] };
    const text = JSON.stringify(value, null, 2);
    expect(JSON.parse(escapeUnseen(text))).toEqual(value);
    expect(escapeUnseen(text).replace("\\ud800", "")).toMatch(PRINTED);
    expect(escapeUnseen(GOOD)).toBe(GOOD);
    expect(escapeUnseen("\u001b]0;x\u0007\r")).toBe("\\u001b]0;x\\u0007\\u000d");
  });
});
