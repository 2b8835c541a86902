// Slow readers and a server that goes down: bounded memory, stalled streams cut, what runs is delivered.
import { request as httpRequest } from "node:http";
import { connect as dial, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";
import { repeated } from "../support/soak.js";
import {
  call,
  gate,
  JSON_TYPES,
  type Json,
  messages,
  modern,
  modernHeaders,
  OpenStream,
  postModern,
  session,
  start,
} from "./http-fixture.js";

const MEGABYTE = "x".repeat(1_000_000);
/** More than the system's buffers of a connection hold. */
const LONG = repeated(16_000_000, 30_000_000);

/** Opens a request and reads nothing of its reply. Returns what goes away without having read. */
function unread(url: string, message: Json, headers: Record<string, string>): () => void {
  const request = httpRequest(
    url,
    { method: "POST", headers: { ...JSON_TYPES, ...headers }, agent: false },
    (response) => {
      response.pause();
      response.on("error", () => undefined);
    },
  );
  request.on("error", () => undefined);
  request.end(JSON.stringify(message));
  return () => request.destroy();
}

describe("a reader that takes nothing", () => {
  it("makes its writer wait, and is cut when it stalls", async () => {
    const server = new Server({ name: "t", version: "1" });
    let written = 0;
    const over = gate<boolean>();
    server.tool("much", {
      async run(_, ctx) {
        for (; written < 100 && !ctx.signal.aborted; written++) await ctx.log("error", MEGABYTE);
        over.open(ctx.signal.aborted);
      },
    });
    const { url } = await start(server, { limits: { stallMs: 1 } });
    const message = modern("tools/call", { name: "much" }, { "io.modelcontextprotocol/logLevel": "debug" });
    const leave = unread(url, message, modernHeaders(message));
    expect(await over.opened).toBe(true);
    expect(written).toBeLessThan(20);
    leave();
  });

  it("gets no notification past the bound when nobody waits for it, and still its answer", async () => {
    const server = new Server({ name: "t", version: "1" });
    const said = gate();
    const go = gate();
    server.tool("flood", {
      async run(_, ctx) {
        for (let i = 0; i < repeated(25, 100); i++) void ctx.log("error", MEGABYTE);
        said.open();
        await go.opened;
        return "the answer";
      },
    });
    const { url } = await start(server);
    const opened = await session(url);
    const body = JSON.stringify(call("flood", {}, 1));
    const stream = new OpenStream(url, { method: "POST", headers: { ...JSON_TYPES, ...opened.headers }, body });
    await said.opened;
    go.open();
    await stream.ended;
    const got = stream.messages;
    expect(got.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "the answer" }] } });
    expect(got.length).toBeLessThan(5);
  });
});

it("a reader that takes nothing of a long answer in JSON loses its connection", async () => {
  const server = new Server({ name: "t", version: "1" });
  const begun = gate();
  const go = gate();
  server.tool("long", {
    async run() {
      begun.open();
      await go.opened;
      return "x".repeat(LONG);
    },
  });
  const serving = await start(server, { limits: { stallMs: 50 } });
  const { url } = serving;
  const message = modern("tools/call", { name: "long" });
  const body = JSON.stringify(message);
  const head = Object.entries({ ...JSON_TYPES, ...modernHeaders(message), "content-length": String(body.length) });
  const { hostname, port, host } = new URL(url);
  const socket = dial({ host: hostname, port: Number(port) });
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
  await begun.opened;
  go.open();
  await expect.poll(() => serving.stats().connections).toBe(0);
  let taken = 0;
  socket.on("data", (chunk) => (taken += chunk.length)).resume();
  await new Promise((resolve) => socket.on("close", resolve));
  expect(taken).toBeLessThan(LONG);
});

describe("connections that fill all places", () => {
  const PLACES = 20;

  /** Opens connections one after the other, each with the beginning of a request, or a whole one where `whole` says so. */
  async function fill(url: string, count: number, whole: boolean): Promise<() => void> {
    const { hostname, port, host } = new URL(url);
    const sockets: Socket[] = [];
    for (let index = 0; index < count; index += 1) {
      const socket = dial({ host: hostname, port: Number(port) });
      socket.on("error", () => undefined).resume();
      await new Promise((resolve) => socket.once("connect", resolve));
      socket.write(`GET /none HTTP/1.1\r\nHost: ${host}\r\n${whole ? "\r\n" : ""}`);
      if (whole) await new Promise((resolve) => socket.once("data", resolve).once("close", resolve));
      sockets.push(socket);
    }
    return () => sockets.forEach((socket) => socket.destroy());
  }

  it.each([false, true])("keep nobody out, with whole requests: %s; and end no request that runs", async (whole) => {
    const server = new Server({ name: "t", version: "1" });
    const [begun, go] = [gate(), gate()];
    server.tool("slow", {
      async run() {
        begun.open();
        await go.opened;
        return "delivered";
      },
    });
    server.tool("quick", { run: () => "quick" });
    const serving = await start(server, { limits: { connections: PLACES } });
    const slow = postModern(serving.url, modern("tools/call", { name: "slow" }));
    await begun.opened;
    const end = await fill(serving.url, PLACES * 3, whole);
    expect(serving.stats().connections).toBeLessThanOrEqual(PLACES);
    const { status } = await postModern(serving.url, modern("tools/call", { name: "quick" }));
    expect(status).toBe(200);
    go.open();
    expect((await slow).status).toBe(200);
    end();
  });
});

it("holds no more requests than have their places, whatever many connections send at once, and serves others meanwhile", async () => {
  const server = new Server({ name: "t", version: "1" });
  server.tool("quick", { run: () => "quick" });
  const serving = await start(server, {});
  const { hostname, port, host } = new URL(serving.url);
  const many = `GET /none HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(1_200);
  const sockets: Socket[] = [];
  let ended = 0;
  for (let count = 0; count < 60; count += 1) {
    const socket = dial({ host: hostname, port: Number(port) });
    socket.on("error", () => undefined).on("close", () => (ended += 1));
    socket.pause();
    socket.write(many);
    sockets.push(socket);
  }
  for (let count = 0; count < 5; count += 1)
    expect((await postModern(serving.url, modern("tools/call", { name: "quick" }))).status).toBe(200);
  await expect.poll(() => serving.stats().connections, { timeout: 20_000 }).toBeLessThan(60);
  for (const socket of sockets) socket.resume();
  await expect.poll(() => ended, { timeout: 20_000 }).toBeGreaterThan(0);
  for (const socket of sockets) socket.destroy();
  expect((await postModern(serving.url, modern("tools/call", { name: "quick" }))).status).toBe(200);
});

describe("close", () => {
  it("delivers what is running, refuses what is new, ends sessions and listens", async () => {
    const server = new Server({ name: "t", version: "1" });
    const go = gate();
    let started = 0;
    server.tool("slow", {
      async run() {
        started++;
        await go.opened;
        return "delivered";
      },
    });
    const serving = await start(server, { limits: { drainMs: 10_000 } });
    const { url } = serving;
    const opened = await session(url);
    const message = modern("tools/call", { name: "slow" });
    const running = [
      ...Array.from({ length: 20 }, () => postModern(url, message)),
      ...Array.from({ length: 20 }, (_, id) => opened.post(call("slow", {}, id + 1))),
    ];
    const listening = modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const listen = new OpenStream(url, {
      method: "POST",
      headers: { ...JSON_TYPES, ...modernHeaders(listening) },
      body: JSON.stringify(listening),
    });
    const get = new OpenStream(url, { headers: { ...opened.headers, accept: "text/event-stream" } });
    await Promise.all([listen.until(({ messages: got }) => got.length === 1), get.until(({ text }) => text !== "")]);
    await expect.poll(() => started).toBe(40);
    const closed = serving.close();
    await listen.ended;
    expect(listen.messages.at(-1)).toMatchObject({ id: 1, result: { resultType: "complete" } });
    const late = await postModern(url, message);
    expect([late.status, late.headers["retry-after"]]).toEqual([503, "5"]);
    expect((await opened.post(call("slow", {}, 99))).text).toContain("shutting down");
    expect((await opened.post({ jsonrpc: "2.0", id: 99, result: {} })).status).toBe(202);
    go.open();
    for (const reply of await Promise.all(running)) expect(reply.text).toContain("delivered");
    await closed;
    await get.ended;
    await serving.closed;
  });

  it("gives up what does not end in time", async () => {
    const server = new Server({ name: "t", version: "1" });
    const started = gate();
    server.tool("never", {
      async run(_, ctx) {
        await ctx.progress(1);
        started.open();
        await new Promise(() => undefined);
      },
    });
    const serving = await start(server, { limits: { drainMs: 50 } });
    const message = modern("tools/call", { name: "never" }, { progressToken: 1 });
    const stream = new OpenStream(serving.url, {
      method: "POST",
      headers: { ...JSON_TYPES, ...modernHeaders(message) },
      body: JSON.stringify(message),
    });
    await started.opened;
    await serving.close();
    await stream.ended;
    expect(messages(stream.text).slice(1)).toEqual([UNKNOWN]);
  });

  it.each([
    ["2025-03-26", "application/json, text/event-stream"],
    ["2025-11-25", "application/json, text/event-stream"],
    ["2025-11-25", "application/json"],
    ["2024-11-05", ""],
    ["2026-07-28", ""],
  ])("answers in %s what did not end in time, to who accepts %j", async (revision, accept) => {
    const server = new Server({ name: "t", version: "1" });
    const started = gate();
    server.tool("never", { run: () => (started.open(), new Promise(() => undefined)) });
    const serving = await start(server, { sse: true, limits: { drainMs: 50 } });
    if (accept !== "") {
      const opened = await session(serving.url, revision);
      const answer = opened.post(
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "never" } },
        { accept },
      );
      await started.opened;
      await serving.close();
      const { headers, text } = await answer;
      const isStream = String(headers["content-type"]).startsWith("text/event-stream");
      expect(isStream ? messages(text) : [JSON.parse(text)]).toEqual([UNKNOWN]);
      return;
    }
    const url = revision === "2024-11-05" ? serving.url.replace(/mcp$/, "sse") : serving.url;
    const client = await connect(url, { revision, verdicts: false });
    onTestFinished(() => client.close());
    const answer = client.call("never").catch((error: unknown) => error);
    await started.opened;
    await serving.close();
    expect(await answer).toMatchObject({ name: "RpcError", code: -32_603, data: { outcome: "unknown" } });
  });
});

/** The answer to a call that a server had to give up. */
const UNKNOWN = {
  jsonrpc: "2.0",
  id: 1,
  error: { code: -32_603, message: expect.stringContaining("is not known") as string, data: { outcome: "unknown" } },
};
