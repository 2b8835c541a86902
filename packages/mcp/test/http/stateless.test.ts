// 2026-07-28 over HTTP: the ladder of refusals, answers, listens, and the end of a connection.
import { describe, expect, it } from "vitest";
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
  OpenStream,
  post,
  postModern,
  send,
  session,
  start,
  STATELESS,
  testServer,
} from "./http-fixture.js";
import { within } from "../support/within.js";

const META_VERSION = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

interface Refusal {
  readonly id?: unknown;
  readonly error: { readonly code: number; readonly data?: Json };
}

function listen(url: string, notifications: Json, id: string | number = "L1"): OpenStream {
  const message = modern("subscriptions/listen", { notifications }, {}, id);
  const headers = { ...JSON_TYPES, ...modernHeaders(message) };
  return new OpenStream(url, { method: "POST", headers, body: JSON.stringify(message) });
}

describe("a request", () => {
  it("is answered in JSON, without a session", async () => {
    const { url } = await start();
    const reply = await postModern(url, modern("tools/call", { name: "echo", arguments: { text: "hi" } }));
    expect([reply.status, reply.headers["content-type"]]).toEqual([200, "application/json"]);
    expect(reply.headers["mcp-session-id"]).toBeUndefined();
    expect(JSON.parse(reply.text)).toMatchObject({
      id: 1,
      result: { resultType: "complete", content: [{ text: "hi" }] },
    });
  });

  it("gets a stream when something comes before the answer", async () => {
    const { url } = await start();
    const reply = await postModern(url, modern("tools/call", { name: "steps" }, { progressToken: 1 }));
    expect([reply.status, reply.headers["content-type"], reply.headers["x-accel-buffering"]]).toEqual([
      200,
      "text/event-stream",
      "no",
    ]);
    expect(messages(reply.text).map((one) => one["method"])).toEqual([
      "notifications/progress",
      "notifications/progress",
      undefined,
    ]);
    expect(events(reply.text).every((one) => one.id === undefined)).toBe(true);
    const json = await postModern(url, modern("tools/call", { name: "steps" }, { progressToken: 1 }), {
      accept: "application/json",
    });
    expect(json.headers["content-type"]).toBe("application/json");
  });

  it("of any session is none", async () => {
    const { url } = await start();
    const reply = await postModern(url, modern("tools/list"), { "mcp-session-id": "no-such-session" });
    expect(reply.status).toBe(200);
  });

  it("may share the endpoint with sessions", async () => {
    const { url } = await start();
    const opened = await session(url);
    expect(
      (
        await postModern(
          url,
          modern("tools/list"),
          opened.headers["mcp-session-id"] ? { "mcp-session-id": opened.id } : {},
        )
      ).status,
    ).toBe(200);
    expect((await opened.post(call("echo", { text: "x" }))).status).toBe(200);
  });
});

describe("the ladder", () => {
  const cases: [string, number, number, Json | string, Record<string, string>][] = [
    [
      "no envelope",
      400,
      -32602,
      { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} },
      { "mcp-protocol-version": STATELESS, "mcp-method": "tools/list" },
    ],
    ["no params", 400, -32602, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { "mcp-protocol-version": STATELESS }],
    ["no capabilities", 400, -32602, modern("tools/list", {}, { [META_CAPABILITIES]: undefined }), {}],
    ["a version that is no text", 400, -32602, modern("tools/list", {}, { [META_VERSION]: 1 }), {}],
    ["header and body differ", 400, -32020, modern("tools/list", {}, { [META_VERSION]: "v999.0.0" }), {}],
    ["a handshake version in the header", 400, -32020, modern("tools/list"), { "mcp-protocol-version": "2025-11-25" }],
    [
      "both say an unknown version",
      400,
      -32022,
      modern("tools/list", {}, { [META_VERSION]: "v999.0.0" }),
      { "mcp-protocol-version": "v999.0.0" },
    ],
    [
      "both say a handshake version",
      400,
      -32022,
      modern("tools/list", {}, { [META_VERSION]: "2025-11-25" }),
      { "mcp-protocol-version": "2025-11-25" },
    ],
    ["another method in the header", 400, -32020, modern("tools/list"), { "mcp-method": "tools/call" }],
    ["the method in another case", 400, -32020, modern("tools/list"), { "mcp-method": "TOOLS/LIST" }],
    ["an unknown method", 404, -32601, modern("no/such"), {}],
    ["initialize with an envelope", 404, -32601, modern("initialize"), {}],
    [
      "initialize with the header alone",
      400,
      -32020,
      { jsonrpc: "2.0", id: 1, method: "initialize", params: {} },
      { "mcp-protocol-version": STATELESS },
    ],
    ["ping", 404, -32601, modern("ping"), {}],
    ["logging/setLevel", 404, -32601, modern("logging/setLevel", { level: "info" }), {}],
    ["resources/subscribe", 404, -32601, modern("resources/subscribe", { uri: "test://a" }), {}],
    ["a capability the tool needs", 400, -32021, modern("tools/call", { name: "ask" }), {}],
    ["an unknown tool", 200, -32602, modern("tools/call", { name: "nothing" }), {}],
    ["an unknown resource", 200, -32602, modern("resources/read", { uri: "test://none" }), {}],
    ["malformed params", 200, -32602, modern("tools/call", { arguments: {} }), {}],
  ];

  it.each(cases)("%s: %i and %i", async (_, status, code, message, headers) => {
    const { url } = await start();
    const reply = await post(url, message, { ...modernHeaders(message as Json), ...headers });
    const { id, error } = JSON.parse(reply.text) as Refusal;
    expect([reply.status, error.code, id]).toEqual([status, code, 1]);
    expect(reply.headers["content-type"]).toBe("application/json");
    if (code === -32022)
      expect(error.data).toMatchObject({ supported: expect.arrayContaining([STATELESS]) as unknown });
    if (code === -32021)
      expect(error.data).toEqual({ requiredCapabilities: { elicitation: expect.any(Object) as unknown } });
  });

  it("refuses a missing version header, batches, responses and what is not JSON with 400", async () => {
    const { url } = await start();
    const version = { "mcp-protocol-version": STATELESS };
    const answers = [
      await post(url, modern("tools/list"), { "mcp-method": "tools/list" }),
      await post(url, [modern("tools/list")], version),
      await post(url, [modern("tools/list")]),
      await post(url, [], version),
      await post(url, { jsonrpc: "2.0", id: 1, result: {} }, version),
      await post(url, "{", version),
      await post(url, { jsonrpc: "2.0", id: null, method: "x" }, version),
    ];
    const codes = answers.map(({ status, text }) => [status, (JSON.parse(text) as Refusal).error.code]);
    expect(codes).toEqual([
      [400, -32020],
      [400, -32600],
      [400, -32600],
      [400, -32600],
      [400, -32600],
      [400, -32700],
      [400, -32600],
    ]);
    expect(JSON.parse(answers[5]?.text ?? "")).not.toHaveProperty("id");
  });

  it("answers GET and DELETE with 405 and notifications with 202", async () => {
    const { url } = await start();
    const headers = { "mcp-protocol-version": STATELESS, accept: "text/event-stream", "last-event-id": "1-1" };
    for (const method of ["GET", "DELETE"]) {
      const reply = await send(url, { method, headers });
      expect([reply.status, reply.headers["allow"]]).toEqual([405, "POST"]);
    }
    const told = await post(
      url,
      { jsonrpc: "2.0", method: "notifications/cancelled" },
      { "mcp-protocol-version": STATELESS },
    );
    expect([told.status, told.text]).toEqual([202, ""]);
  });
});

describe("a listen request", () => {
  it("is acknowledged first, hears only what it asked for, and is answered when the server closes", async () => {
    const server = testServer();
    const serving = await start(server);
    const stream = listen(serving.url, { toolsListChanged: true });
    await stream.until(({ messages: got }) => got.length === 1);
    server.tool("new", { run: () => 1 });
    server.prompt("new", { run: () => "" });
    await stream.until(({ messages: got }) => got.length === 2);
    await serving.close();
    await stream.ended;
    const meta = { "io.modelcontextprotocol/subscriptionId": "L1" };
    expect(stream.messages).toMatchObject([
      {
        method: "notifications/subscriptions/acknowledged",
        params: { notifications: { toolsListChanged: true }, _meta: meta },
      },
      { method: "notifications/tools/list_changed", params: { _meta: meta } },
      { id: "L1", result: { _meta: meta } },
    ]);
  });

  it("is kept alive by comments", async () => {
    const { url } = await start(testServer(), { limits: { keepAliveCommentMs: 1 } });
    const stream = listen(url, { toolsListChanged: true });
    await within(
      stream.until(({ text }) => text.includes("\n\n: ")),
      "a comment",
    );
    expect(stream.messages).toHaveLength(1);
    stream.close();
  });

  it("is refused over the limit, and makes room when its client goes", async () => {
    const { url } = await start(testServer(), { limits: { listens: 2 } });
    const streams = [listen(url, {}), listen(url, {})];
    for (const stream of streams) await stream.until(({ messages: got }) => got.length === 1);
    const refused = await postModern(url, modern("subscriptions/listen", { notifications: {} }));
    expect(JSON.parse(refused.text)).toMatchObject({ id: 1, error: { code: -32603 } });
    streams[0]?.close();
    await expect
      .poll(async () => {
        const again = listen(url, {});
        const first = await Promise.race([again.until(({ messages: got }) => got.length === 1), again.ended]);
        again.close();
        return first;
      })
      .toBeDefined();
  });
});

it("a client that goes away cancels its request, whether it was being streamed or not", async () => {
  const server = new Server({ name: "t", version: "1" });
  const aborted: string[] = [];
  const started = [gate(), gate()];
  const ended = [gate(), gate()];
  for (const [i, name] of ["plain", "streamed"].entries()) {
    server.tool(name, {
      async run(_, ctx) {
        if (name === "streamed") await ctx.progress(1);
        const over = new Promise<void>((resolve) => {
          ctx.signal.addEventListener("abort", () => resolve());
        });
        started[i]?.open();
        await over;
        aborted.push(name);
        ended[i]?.open();
      },
    });
  }
  const { url } = await start(server);
  for (const [i, name] of ["plain", "streamed"].entries()) {
    const message = modern("tools/call", { name }, { progressToken: 1 });
    const stream = new OpenStream(url, {
      method: "POST",
      headers: { ...JSON_TYPES, ...modernHeaders(message) },
      body: JSON.stringify(message),
    });
    await started[i]?.opened;
    stream.close();
    await ended[i]?.opened;
  }
  expect(aborted).toEqual(["plain", "streamed"]);
});

it("a busy server says so and works on", async () => {
  const server = new Server({ name: "t", version: "1" });
  const go = gate();
  let started = 0;
  server.tool("slow", {
    async run() {
      started++;
      await go.opened;
    },
  });
  const { url } = await start(server, { limits: { inFlight: 2 } });
  const message = modern("tools/call", { name: "slow" });
  const running = [postModern(url, message), postModern(url, message)];
  await expect.poll(() => started).toBe(2);
  const refused = await postModern(url, message);
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
  go.open();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
});
