// The same endpoint for runtimes that speak fetch: Requests in, Responses out, no Node.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import type { HttpOptions } from "../../src/http/server/http-endpoint.js";
import { type FetchHandler, toFetch } from "../../src/http/server/to-fetch.js";
import { Server } from "../../src/server/server.js";
import {
  call,
  events,
  gate,
  type Json,
  JSON_TYPES,
  messages,
  modern,
  modernHeaders,
  testServer,
} from "../http/http-fixture.js";
import { loadedModules } from "../support/module-facts.js";
import { within } from "../support/within.js";

const URL_ = "https://mcp.example/mcp";

function request(message: unknown, headers: Record<string, string> = {}, more: RequestInit = {}): Request {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  return new Request(URL_, { method: "POST", headers: { ...JSON_TYPES, ...headers }, body, ...more });
}

const asked = (message: Json, more: RequestInit = {}): Request => request(message, modernHeaders(message), more);

async function opened(handler: FetchHandler): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const reply = await handler(request({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
  return { "mcp-session-id": reply.headers.get("mcp-session-id") as string, "mcp-protocol-version": "2025-11-25" };
}

function handlerFor(server: Server = testServer(), options: HttpOptions = {}): FetchHandler {
  return toFetch(server, { limits: { drainMs: 100 }, ...options });
}

describe("toFetch", () => {
  it("answers both eras in JSON", async () => {
    const handler = handlerFor();
    const modernReply = await handler(asked(modern("tools/call", { name: "echo", arguments: { text: "hi" } })));
    expect([modernReply.status, modernReply.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await modernReply.json()).toMatchObject({ result: { content: [{ text: "hi" }] } });
    const session = await opened(handler);
    expect(await (await handler(request(call("echo", { text: "x" }), session))).json()).toMatchObject({
      result: { content: [{ text: "x" }] },
    });
    expect((await handler(request({ jsonrpc: "2.0", method: "notifications/initialized" }, session))).status).toBe(202);
    expect((await handler(new Request(URL_, { method: "DELETE", headers: session }))).status).toBe(204);
    expect((await handler(request(call("echo", { text: "x" }), session))).status).toBe(404);
  });

  it("keeps what an older client sends at first in order, while the code for it is loaded", async () => {
    const handler = handlerFor();
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const initialize = request({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    const replies = await Promise.all([
      handler(initialize),
      handler(request(call("echo", { text: "x" }), { "mcp-session-id": "unknown" })),
      handler(new Request(URL_, { method: "DELETE" })),
      handler(asked(modern("tools/call", { name: "echo", arguments: { text: "hi" } }))),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 404, 400, 200]);
  });

  it("turns away what waits for that code when it closes", async () => {
    const handler = handlerFor();
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const waiting = handler(request({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
    await handler.close();
    expect((await waiting).status).toBe(503);
  });

  it("streams, and resumes a stream that was cut", async () => {
    const server = testServer();
    const waiting = gate();
    server.tool("slow", {
      async run(_, ctx) {
        await ctx.progress(1);
        await waiting.opened;
        return "end";
      },
    });
    const handler = handlerFor(server);
    const session = await opened(handler);
    const reply = await handler(request(call("slow", {}, 4, { progressToken: 1 }), session));
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (!text.includes("progress")) text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    waiting.open();
    const last = events(text).at(-1)?.id as string;
    const rest = await handler(
      new Request(URL_, { headers: { ...session, accept: "text/event-stream", "last-event-id": last } }),
    );
    expect(messages(await rest.text())).toMatchObject([{ id: 4 }]);
  });

  it("cancels a request whose client goes away (2026-07-28)", async () => {
    const server = new Server({ name: "t", version: "1" });
    const started = gate();
    const ended = gate();
    server.tool("long", {
      async run(_, ctx) {
        started.open();
        await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
        ended.open();
      },
    });
    const controller = new AbortController();
    void toFetch(server)(asked(modern("tools/call", { name: "long" }), { signal: controller.signal }));
    await started.opened;
    controller.abort();
    await expect(within(ended.opened, "the handler hears of it")).resolves.toBeUndefined();
  });

  it("ends the stream of a client that went away without an error, which runtimes would print", async () => {
    const server = new Server({ name: "t", version: "1" });
    server.tool("long", {
      run: async (_, ctx) => {
        await ctx.progress(1);
        await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      },
    });
    const controller = new AbortController();
    const call = modern("tools/call", { name: "long" }, { progressToken: 1 });
    const reply = await toFetch(server)(asked(call, { signal: controller.signal }));
    controller.abort();
    expect(messages(await reply.text())).toMatchObject([{ method: "notifications/progress" }]);
  });

  it("lets a slow reader's writer wait", async () => {
    const server = new Server({ name: "t", version: "1" });
    let written = 0;
    server.tool("much", {
      async run(_, ctx) {
        for (; written < 20; written++) await ctx.progress(written + 1, 20, "x".repeat(20_000));
      },
    });
    const reply = await toFetch(server)(asked(modern("tools/call", { name: "much" }, { progressToken: 1 })));
    for (let i = 0; i < 50; i++) await Promise.resolve();
    expect(written).toBeLessThan(3);
    expect(messages(await reply.text())).toHaveLength(21);
  });

  it("refuses foreign origins, hosts that are not listed, and bodies that are too long or not UTF-8", async () => {
    const handler = handlerFor(new Server({ name: "t", version: "1", limits: { messageBytes: 500 } }), {
      allowedHosts: ["mcp.example"],
    });
    const list = modern("tools/list");
    expect((await handler(asked(list))).status).toBe(404);
    expect((await handler(request(list, { ...modernHeaders(list), origin: "https://mcp.example" }))).status).toBe(403);
    expect(
      (await handler(new Request("https://other.example/mcp", { method: "POST", headers: JSON_TYPES, body: "{}" })))
        .status,
    ).toBe(403);
    expect((await handler(request(" ".repeat(501)))).status).toBe(413);
    expect(
      (
        await handler(
          new Request(URL_, { method: "POST", headers: JSON_TYPES, body: new Uint8Array([0x22, 0xff, 0x22]) }),
        )
      ).status,
    ).toBe(400);
    expect((await handler(new Request("https://mcp.example/other"))).status).toBe(404);
  });

  it("refuses what is new while it closes, and lets what runs finish", async () => {
    const server = new Server({ name: "t", version: "1" });
    const started = gate();
    const waiting = gate();
    server.tool("slow", {
      async run() {
        started.open();
        await waiting.opened;
        return "done";
      },
    });
    const handler = toFetch(server, { limits: { drainMs: 5_000 } });
    const reply = handler(asked(modern("tools/call", { name: "slow" })));
    await started.opened;
    const closed = handler.close();
    const refused = await handler(asked(modern("tools/list")));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    waiting.open();
    expect(await (await reply).text()).toContain("done");
    await closed;
  });

  it("is a route of Hono", async () => {
    const handler = handlerFor();
    const app = new Hono().all("/mcp", (context) => handler(context.req.raw));
    const message = modern("tools/call", { name: "echo", arguments: { text: "hono" } });
    const reply = await app.request(asked(message));
    expect(await reply.text()).toContain("hono");
  });

  it("loads nothing of Node", () => {
    const entry = join(dirname(fileURLToPath(import.meta.url)), "../../src/entries/fetch.ts");
    const files = loadedModules(entry);
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((path) => /from "node:/.test(readFileSync(path, "utf8")))).toEqual([]);
  });
});

it("lets a task go on after the reply that began it, where the runtime would end it", async () => {
  const server = new Server({ name: "s", version: "1", limits: { taskGraceMs: 1 } });
  const work = gate();
  server.tool("slow", { task: "optional", run: () => work.opened.then(() => "done") });
  const handler = handlerFor(server, { sessions: false });
  const kept: Promise<unknown>[] = [];
  const context = { waitUntil: (promise: Promise<unknown>) => void kept.push(promise) };
  const able = {
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const begin = modern("tools/call", { name: "slow" }, able);
  const reply = await handler(asked(begin), {}, context);
  const { result } = (await reply.json()) as { result: { taskId: string } };
  expect(kept).toHaveLength(1);
  let over = false;
  void kept[0]?.then(() => (over = true));
  expect(over).toBe(false);
  work.open(undefined);
  await kept[0];
  const look = modern("tasks/get", { taskId: result.taskId }, able);
  const named = { ...modernHeaders(look), "mcp-name": result.taskId };
  expect(await (await handler(request(look, named), {}, context)).json()).toMatchObject({
    result: { status: "completed" },
  });
  expect(kept).toHaveLength(1);
});

it("does nothing for whoever has left before the handler was called", async () => {
  const server = testServer();
  let ran = false;
  server.tool("runs", { run: () => void (ran = true) });
  const handler = handlerFor(server);
  const { status } = await handler(asked(modern("tools/call", { name: "runs" }), { signal: AbortSignal.abort() }));
  expect([status, ran]).toEqual([499, false]);
  expect((await handler(asked(modern("tools/call", { name: "runs" })))).status).toBe(200);
  expect(ran).toBe(true);
});
