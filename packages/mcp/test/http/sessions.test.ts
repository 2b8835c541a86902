// Sessions over Streamable HTTP: opening, using, ending, and what happens to messages that name none.
import { describe, expect, it } from "vitest";
import { call, messages, OpenStream, post, send, session, start, testServer } from "./http-fixture.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

describe.each(REVISIONS)("a session of %s", (revision) => {
  it("opens, answers in JSON and ends", async () => {
    const { url } = await start();
    const opened = await session(url, revision);
    expect(opened.id).toMatch(/^[\w-]{43}$/);
    const reply = await opened.post(call("echo", { text: "hi" }, 7));
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(reply.text)).toMatchObject({ id: 7, result: { content: [{ type: "text", text: "hi" }] } });
    expect(reply.headers["mcp-session-id"]).toBeUndefined();
    const ended = await send(url, { method: "DELETE", headers: opened.headers });
    expect(ended.status).toBe(204);
    const after = await opened.post(call("echo", { text: "hi" }));
    expect(after.status).toBe(404);
    expect((await send(url, { method: "DELETE", headers: opened.headers })).status).toBe(404);
  });

  it("streams what comes before the answer", async () => {
    const { url } = await start();
    const opened = await session(url, revision);
    const reply = await opened.post(call("steps", {}, 1, { progressToken: "p" }));
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toBe("text/event-stream");
    expect(reply.headers["x-accel-buffering"]).toBe("no");
    const got = messages(reply.text);
    expect(got.map((one) => one["method"] ?? "answer")).toEqual([
      "notifications/progress",
      "notifications/progress",
      "answer",
    ]);
    const [first] = reply.text.split("\n\n");
    if (revision === "2025-11-25") expect(first).toBe("id: 1-0\nretry: 1000\ndata: ");
    else expect(first).toBe(": open");
  });

  it("takes notifications and responses with 202 and nothing else", async () => {
    const { url } = await start();
    const opened = await session(url, revision);
    for (const message of [
      { jsonrpc: "2.0", method: "notifications/whatever" },
      { jsonrpc: "2.0", id: 99, result: {} },
    ]) {
      const reply = await opened.post(message);
      expect([reply.status, reply.text]).toEqual([202, ""]);
    }
  });
});

describe("a session", () => {
  it("serves batches where the revision has them", async () => {
    const { url } = await start();
    const b = await session(url, "2025-03-26");
    const batch = [
      call("echo", { text: "a" }, 1),
      { jsonrpc: "2.0", method: "notifications/x" },
      call("echo", { text: "b" }, 2),
    ];
    const reply = await b.post(batch);
    expect(JSON.parse(reply.text)).toMatchObject([{ id: 1 }, { id: 2 }]);
    expect((await b.post([{ jsonrpc: "2.0", method: "notifications/x" }])).status).toBe(202);
    expect((await b.post([{ jsonrpc: "2.0", id: 5, result: {} }])).status).toBe(202);
    const c = await session(url, "2025-06-18");
    const refused = await c.post(batch);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([400, { error: { code: -32600 } }]);
  });

  it("asks on the stream of the request and hears the answer by another POST", async () => {
    const { url } = await start();
    const opened = await session(url, "2025-11-25", { capabilities: { elicitation: {} } });
    const stream = new OpenStream(url, {
      method: "POST",
      headers: { ...opened.headers, "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(call("ask", {}, 3)),
    });
    await stream.until(({ messages: got }) => got.length > 0);
    const question = stream.messages[0] as { id: number; method: string };
    expect(question.method).toBe("elicitation/create");
    const told = await opened.post({ jsonrpc: "2.0", id: question.id, result: { action: "decline" } });
    expect(told.status).toBe(202);
    await stream.ended;
    expect(stream.messages.at(-1)).toMatchObject({ id: 3, result: { content: [{ text: "decline" }] } });
  });

  it("answers errors of the tool with 200 and of the message with 400", async () => {
    const { url } = await start();
    const opened = await session(url);
    expect((await opened.post(call("nothing"))).status).toBe(200);
    expect((await opened.post({ jsonrpc: "2.0", id: 1, method: "no/such" })).status).toBe(200);
    expect((await opened.post("{")).status).toBe(400);
    expect((await opened.post({ jsonrpc: "1.0", id: 1, method: "ping" })).status).toBe(400);
    const again = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    expect((await opened.post({ jsonrpc: "2.0", id: 1, method: "initialize", params: again })).status).toBe(400);
  });

  it("is not opened by an initialize that fails", async () => {
    const { url } = await start(testServer(), { sessions: { max: 1 } });
    for (let i = 0; i < 3; i++) {
      const reply = await post(url, { jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
      expect(reply.headers["mcp-session-id"]).toBeUndefined();
      expect(JSON.parse(reply.text)).toMatchObject({ id: 1, error: { code: -32602 } });
    }
    expect((await session(url)).id).toMatch(/^[\w-]{43}$/);
  });

  it("is refused with 503 when there are too many", async () => {
    const { url } = await start(testServer(), { sessions: { max: 2 } });
    const first = await session(url);
    await session(url);
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params };
    const refused = await post(url, initialize);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "60"]);
    await send(url, { method: "DELETE", headers: first.headers });
    expect((await post(url, initialize)).status).toBe(200);
  });
});

describe("a message without a session", () => {
  it("is refused with 400, unless it is a ping", async () => {
    const { url } = await start();
    const refused = await post(url, call("echo", { text: "x" }, 4));
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([400, { id: 4, error: { code: -32600 } }]);
    const ping = await post(url, { jsonrpc: "2.0", id: 5, method: "ping" });
    expect([ping.status, JSON.parse(ping.text)]).toEqual([200, { jsonrpc: "2.0", id: 5, result: {} }]);
    expect((await send(url, { method: "GET", headers: { accept: "text/event-stream" } })).status).toBe(400);
    expect((await send(url, { method: "DELETE" })).status).toBe(400);
  });

  it("is served by itself where sessions are off", async () => {
    const { url } = await start(testServer(), { sessions: false });
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const opened = await post(url, { jsonrpc: "2.0", id: 0, method: "initialize", params });
    expect(opened.headers["mcp-session-id"]).toBeUndefined();
    expect(JSON.parse(opened.text)).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
    const reply = await post(url, call("echo", { text: "x" }, 4), { "mcp-protocol-version": "2025-06-18" });
    expect(JSON.parse(reply.text)).toMatchObject({ id: 4, result: { content: [{ text: "x" }] } });
    const batch = [call("echo", { text: "a" }, 1), call("echo", { text: "b" }, 2)];
    expect(JSON.parse((await post(url, batch)).text)).toHaveLength(2);
    expect((await post(url, batch, { "mcp-protocol-version": "2025-06-18" })).status).toBe(400);
    expect((await send(url, { method: "GET", headers: { accept: "text/event-stream" } })).status).toBe(405);
  });

  it("is promised nothing that only a session could keep", async () => {
    const { url } = await start(testServer(), { sessions: false });
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const opened = await post(url, { jsonrpc: "2.0", id: 0, method: "initialize", params });
    const { capabilities } = (JSON.parse(opened.text) as { result: { capabilities: object } }).result;
    expect(capabilities).toEqual({ tools: {}, resources: {}, prompts: {} });
    const refused = [
      ["resources/subscribe", { uri: "test://a" }],
      ["resources/unsubscribe", { uri: "test://a" }],
      ["logging/setLevel", { level: "debug" }],
    ] as const;
    for (const [method, asked] of refused) {
      const message = { jsonrpc: "2.0", id: 1, method, params: asked };
      const reply = await post(url, message, { "mcp-protocol-version": "2025-06-18" });
      expect(JSON.parse(reply.text)).toMatchObject({ id: 1, error: { code: -32601 } });
    }
    const kept = await session((await start()).url);
    for (const [method, asked] of refused) {
      const reply = await kept.post({ jsonrpc: "2.0", id: 1, method, params: asked });
      expect(JSON.parse(reply.text)).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    }
  });

  it("with a version nobody knows is refused with 400", async () => {
    const { url } = await start();
    const opened = await session(url);
    for (const version of ["v999.0.0", "2025-01-01", ""]) {
      expect((await opened.post(call("echo", { text: "x" }), { "mcp-protocol-version": version })).status).toBe(400);
    }
  });
});
