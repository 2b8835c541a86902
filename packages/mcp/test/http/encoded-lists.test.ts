// Long lists leave as bytes that are kept; whoever reads them sees the same answer as ever.
import { describe, expect, it } from "vitest";
import { ReadyResult } from "../../src/endpoint/call.js";
import { Server } from "../../src/server/server.js";
import { toFetch } from "../../src/http/server/to-fetch.js";
import { messages, modern, modernHeaders, JSON_TYPES, postModern, session, start } from "./http-fixture.js";

const COUNT = 200;
const LIST = { jsonrpc: "2.0", id: "list \u00e9", method: "tools/list" };

/** Enough tools for a page of many kilobytes, whose characters take one to four bytes. */
function longList(): Server {
  const server = new Server({ name: "long", version: "1", limits: { pageSize: COUNT } });
  for (let index = 0; index < COUNT; index++) {
    const description = `Tool ${index}: caf\u00e9, \u6f22\u5b57, \u{1f600}. `.repeat(8);
    server.tool(`tool-${index}`, { description, run: () => "" });
  }
  return server;
}

function toolsOf(text: string): number {
  const { result } = JSON.parse(text) as { result: { tools: { description: string }[] } };
  for (const { description } of result.tools) expect(description).toContain("caf\u00e9, \u6f22\u5b57, \u{1f600}");
  return result.tools.length;
}

describe("a long list", () => {
  it("is whole, counted in bytes and under its own id, every time", async () => {
    const { url } = await start(longList());
    const opened = await session(url, "2025-11-25");
    for (const id of [1, "two \u00e9", 3]) {
      const reply = await opened.post({ ...LIST, id });
      expect(reply.status).toBe(200);
      expect(reply.headers["content-type"]).toBe("application/json");
      expect(reply.headers["content-length"]).toBe(String(Buffer.byteLength(reply.text)));
      expect(JSON.parse(reply.text)).toMatchObject({ jsonrpc: "2.0", id });
      expect(toolsOf(reply.text)).toBe(COUNT);
    }
  });

  it("is written for each revision by itself", async () => {
    const { url } = await start(longList());
    const old = await session(url, "2025-11-25");
    expect((await old.post(LIST)).text).not.toContain("ttlMs");
    const reply = await postModern(url, modern("tools/list"));
    expect(reply.text).toContain('"ttlMs"');
    expect(toolsOf(reply.text)).toBe(COUNT);
  });

  it("goes into a stream or a batch as text", async () => {
    const { url } = await start(longList(), { answers: "sse" });
    const streamed = await (await session(url, "2025-11-25")).post(LIST);
    expect(toolsOf(JSON.stringify(messages(streamed.text)[0]))).toBe(COUNT);
    const alone = await postModern(url, modern("tools/list"));
    expect(toolsOf(JSON.stringify(messages(alone.text)[0]))).toBe(COUNT);
    const json = await start(longList());
    const batch = await (await session(json.url, "2025-03-26")).post([LIST, { ...LIST, id: 2 }]);
    for (const answer of JSON.parse(batch.text) as unknown[]) expect(toolsOf(JSON.stringify(answer))).toBe(COUNT);
  });

  it("reaches runtimes that speak fetch", async () => {
    const message = modern("tools/list");
    const headers = { ...JSON_TYPES, ...modernHeaders(message) };
    const body = JSON.stringify(message);
    const reply = await toFetch(longList())(new Request("https://mcp.example/mcp", { method: "POST", headers, body }));
    expect(reply.headers.get("content-type")).toBe("application/json");
    expect(toolsOf(await reply.text())).toBe(COUNT);
  });
});

describe("an answer to initialize", () => {
  it("opens its session even when a middleware made it long and ready", async () => {
    const server = new Server({ name: "long", version: "1", instructions: "x".repeat(40_000) });
    server.use(async (call, next) => {
      const answer = await next();
      return call.method === "initialize" && !(answer instanceof ReadyResult)
        ? new ReadyResult(() => JSON.stringify(answer))
        : answer;
    });
    const { url } = await start(server);
    const opened = await session(url, "2025-11-25");
    expect((await opened.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(200);
  });
});
