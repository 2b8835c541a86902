// A call that waits for a person keeps its headers, of which texts that say the same are kept once: each call reads its own.
import { execFile } from "node:child_process";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { getHeapSnapshot } from "node:v8";
import { expect, it } from "vitest";
import { Server } from "../../src/server/server.js";
import { modern, modernHeaders, JSON_TYPES, send, start } from "./http-fixture.js";

const CAPABILITIES = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
/** Some are kept once, some never are; more calls than texts are shared. */
const NAMES = ["user-agent", "accept-language", "authorization", "cookie", "x-own"];
/** What all of them say alike. */
const SAME = ["content-type", "mcp-method", "mcp-name"];
const CALLS = 300;

it("each call that waits reads its own headers, as long as it waits", async () => {
  const read: [n: number, ...headers: (string | undefined)[]][] = [];
  const server = new Server({ name: "asking", version: "1", report: false, limits: { parkedMs: 1_500 } });
  server.tool("ask", {
    input: { type: "object", properties: { n: { type: "integer" } } },
    async run({ n = -1 }, ctx) {
      await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } }).catch(() => undefined);
      read.push([n, ...[...SAME, ...NAMES].map((name) => ctx.header(name))]);
      return "";
    },
  });
  const { url } = await start(server);
  // Every other call says what the one before it said; some say more than is kept once.
  const said = (n: number): string[] =>
    NAMES.map((name) => `${name} ${n >> 1} ${n % 7 === 0 ? "long ".repeat(40).trim() : ""}`.trim());
  for (let n = 0; n < CALLS; n++) {
    const message = modern("tools/call", { name: "ask", arguments: { n } }, CAPABILITIES);
    const own = Object.fromEntries(NAMES.map((name, at) => [name, said(n)[at] as string]));
    const reply = await send(`${url}?n=${n}`, {
      method: "POST",
      headers: { ...JSON_TYPES, ...modernHeaders(message), ...own },
      body: JSON.stringify(message),
    });
    expect(reply.text, String(n)).toContain("input_required");
  }
  await expect.poll(() => read.length, { timeout: 10_000 }).toBe(CALLS);
  expect(read).toEqual(
    Array.from({ length: CALLS }, (_, n) => [n, "application/json", "tools/call", "ask", ...said(n)]),
  );
});

it("keeps no query of a call that is over: there may be a secret in it", { timeout: 60_000 }, async () => {
  const server = new Server({ name: "asking", version: "1", report: false, limits: { parkedMs: 300 } });
  let ended = 0;
  server.tool("ask", {
    async run(_, ctx) {
      await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } }).catch(() => undefined);
      return `${ended++}`;
    },
  });
  // Long enough that the engine makes its parts by pointing into it.
  const path = "/a/path/of/many/characters";
  const { url } = await start(server, { path });
  const message = modern("tools/call", { name: "ask", arguments: {} }, CAPABILITIES);
  const request = {
    method: "POST",
    headers: { ...JSON_TYPES, ...modernHeaders(message) },
    body: JSON.stringify(message),
  };
  // Sent by another process: this one has the query from the wire alone.
  const script = `
    const [url, request] = process.argv.slice(1);
    const query = ["token", "of", "nobody"].join("-").repeat(5);
    fetch(url + "?" + query, JSON.parse(request)).then((reply) => reply.text()).then(console.log);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", script, url, JSON.stringify(request)]);
  expect(stdout).toContain("input_required");
  await expect.poll(() => ended, { timeout: 10_000 }).toBe(1);
  const heap = await text(getHeapSnapshot());
  expect(heap).toContain(path);
  expect(/token[-]of[-]nobodytoken/.test(heap)).toBe(false);
});
