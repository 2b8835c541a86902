// HTTP+SSE of 2024-11-05 beside the other endpoint.
import { describe, expect, it } from "vitest";
import {
  call,
  events,
  JSON_TYPES,
  type Json,
  OpenStream,
  post,
  type Reply,
  send,
  start,
  testServer,
} from "../http/http-fixture.js";

interface SseSession {
  readonly stream: OpenStream;
  readonly endpoint: string;
  post(message: unknown): Promise<Reply>;
}

async function open(url: string, headers: Record<string, string> = {}): Promise<SseSession> {
  const stream = new OpenStream(url.replace("/mcp", "/sse"), { headers: { accept: "text/event-stream", ...headers } });
  await stream.until(({ text }) => text.includes("\n\n"));
  const [first] = events(stream.text);
  expect(first?.event).toBe("endpoint");
  const endpoint = new URL(first?.data as string, url).href;
  return { stream, endpoint, post: (message) => post(endpoint, message, headers) };
}

function answers(stream: OpenStream): Json[] {
  return events(stream.text)
    .filter((one) => one.event === "message")
    .map((one) => JSON.parse(one.data as string) as Json);
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2024-11-05", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } },
};

describe("HTTP+SSE", () => {
  it.each([
    [true, "/proxied/sse", "/proxied/messages"],
    [{ path: "/a/b/sse", messages: "/a/messages" }, "/proxied/a/b/sse", "/proxied/a/messages"],
    [{ path: "/sse", messages: "/deep/in/messages" }, "/proxied/sse", "/proxied/deep/in/messages"],
  ])("names the endpoint so that it is found where a proxy took a prefix off: %j", async (sse, asked, expected) => {
    const { url } = await start(testServer(), { sse });
    const stream = new OpenStream(new URL(asked.replace("/proxied", ""), url).href, {
      headers: { accept: "text/event-stream" },
    });
    await stream.until(({ text }) => text.includes("\n\n"));
    const [first] = events(stream.text);
    expect(new URL(first?.data as string, `https://proxy.example${asked}`).pathname).toBe(expected);
  });

  it("answers on the stream, and posts with 202", async () => {
    const server = testServer();
    const { url } = await start(server, { sse: true });
    const opened = await open(url);
    const reply = await opened.post(INITIALIZE);
    expect([reply.status, reply.text]).toEqual([202, "Accepted"]);
    await opened.post(call("steps", {}, 5, { progressToken: 1 }));
    await opened.stream.until((stream) => answers(stream).length === 4);
    expect(answers(opened.stream).map((one) => one["method"] ?? one["id"])).toEqual([
      0,
      "notifications/progress",
      "notifications/progress",
      5,
    ]);
    server.tool("new", { run: () => 1 });
    await opened.stream.until((stream) => answers(stream).length === 5);
    opened.stream.close();
    await expect.poll(async () => (await opened.post(call("who"))).status).toBe(404);
  });

  it("refuses what is not JSON, not for a session, or too much", async () => {
    const { url } = await start(testServer(), { sse: { path: "/sse", messages: "/post" }, sessions: { max: 1 } });
    const opened = await open(url);
    expect(new URL(opened.endpoint).pathname).toBe("/post");
    expect((await opened.post("{")).status).toBe(400);
    expect((await send(opened.endpoint, { headers: { "content-type": "text/plain" }, body: "{}" })).status).toBe(415);
    expect((await post(`${new URL("/post", url).href}?sessionId=nobody`, INITIALIZE)).status).toBe(404);
    expect((await post(new URL("/post", url).href, INITIALIZE)).status).toBe(404);
    expect((await send(url.replace("/mcp", "/sse"), { method: "GET" })).status).toBe(503);
    expect((await post(url.replace("/mcp", "/sse"), INITIALIZE)).status).toBe(405);
    expect((await send(opened.endpoint, { method: "GET" })).status).toBe(405);
    expect(
      (await send(opened.endpoint, { headers: { ...JSON_TYPES, origin: "http://evil.example" }, body: "{}" })).status,
    ).toBe(403);
  });

  it("is off by default, and belongs to who opened it", async () => {
    const { url: plain } = await start();
    expect((await send(plain.replace("/mcp", "/sse"), { method: "GET" })).status).toBe(404);
    const { url } = await start(testServer(), {
      sse: true,
      authenticate: (request) => request.header("authorization"),
    });
    const opened = await open(url, { authorization: "ada" });
    await opened.post(INITIALIZE);
    expect((await post(opened.endpoint, call("who"), { authorization: "bob" })).status).toBe(404);
    await opened.post(call("who", {}, 2));
    await opened.stream.until((stream) => answers(stream).length === 2);
    expect(JSON.stringify(answers(opened.stream)[1])).toContain("ada");
  });

  it("takes in no more than is read, and cuts who never reads", async () => {
    let runs = 0;
    const server = testServer();
    server.tool("long", {
      run: () => {
        runs++;
        return "x".repeat(1_000_000);
      },
    });
    const serving = await start(server, { sse: true, limits: { stallMs: 1_000, drainMs: 1 } });
    const opened = await open(serving.url);
    await opened.post(INITIALIZE);
    opened.stream.pause();
    const posts = Array.from({ length: 60 }, (_, at) => opened.post(call("long", {}, at + 1)).catch(() => undefined));
    const statuses = (await Promise.all(posts)).map((reply) => reply?.status);
    // The buffers of the system hold some megabytes.
    expect(runs).toBeLessThan(40);
    expect(statuses.filter((status) => status === 202)).toHaveLength(runs);
    expect(statuses.filter((status) => status === 404)).toHaveLength(60 - runs);
  });

  it("goes on with what was posted once it is read, and never holds back what calls wait for", async () => {
    const { url } = await start(testServer(), { sse: true });
    const opened = await open(url);
    await opened.post({ ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: "2025-11-25" } });
    const asking = Array.from({ length: 40 }, (_, at) => opened.post(call("ask", {}, at + 1)));
    await opened.stream.until((stream) => answers(stream).filter((one) => one["method"] !== undefined).length === 40);
    expect((await Promise.all(asking)).every(({ status }) => status === 202)).toBe(true);
    for (const { id, method } of answers(opened.stream))
      if (method !== undefined) await opened.post({ jsonrpc: "2.0", id, result: { action: "decline" } });
    await opened.stream.until((stream) => answers(stream).filter((one) => "result" in one).length === 41);
  });

  it("ends its streams when the server closes", async () => {
    const serving = await start(testServer(), { sse: true });
    const opened = await open(serving.url);
    await opened.post(INITIALIZE);
    await serving.close();
    await opened.stream.ended;
  });
});
