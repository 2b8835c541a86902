// Authorization over HTTP: what a token allows reaches the endpoint, the handlers, the operator, and the ends of streams.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Authenticator } from "../../src/auth/authenticator.js";
import { scopeRules } from "../../src/auth/scopes.js";
import type { Identity } from "../../src/jsonrpc/transport.js";
import type { HttpAuthorization } from "../../src/http/server/http-site.js";
import type { Server } from "../../src/server/server.js";
import {
  call,
  JSON_TYPES,
  modern,
  modernHeaders,
  OpenStream,
  post,
  send,
  session,
  start,
  testServer,
} from "./http-fixture.js";
import { within } from "../support/within.js";

/** Tokens are the scopes they grant, ends aside. */
function authenticator(expiresAt?: number): Authenticator {
  return {
    async authenticate(request) {
      const token = request.header("authorization");
      if (token === undefined) {
        return { ok: false, status: 401, challenge: "Bearer", error: "missing_token", message: "Send a token" };
      }
      const identity: Identity = {
        principal: "ada",
        scopes: token.split(" "),
        ...(expiresAt === undefined ? {} : { expiresAt }),
      };
      return { ok: true, identity, headers: { "dpop-nonce": "n1" } };
    },
  };
}

const scopes = scopeRules({ tools: { who: ["who:call"] }, methods: { "prompts/list": ["prompts:read"] } });
const WHO = { authorization: "who:call" };
const NONE = { authorization: "other" };

function scoped(): Server {
  const server = testServer();
  server.tool("scopes", { run: (_, ctx) => ctx.identity?.scopes.join("+") ?? "unknown" });
  return server;
}

async function served(more: Partial<HttpAuthorization> = {}, expiresAt?: number): Promise<string> {
  const authorization = { authenticator: authenticator(expiresAt), scopes, ...more };
  return (await start(scoped(), { authorization, sse: true })).url;
}

describe("scopes", () => {
  it("are checked for each tool and method once the body is read, in both eras", async () => {
    const url = await served();
    const message = modern("tools/call", { name: "who" });
    const refused = await post(url, message, { ...modernHeaders(message), ...NONE });
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
      403,
      expect.stringContaining('error="insufficient_scope"'),
    ]);
    expect(refused.headers["www-authenticate"]).toContain('scope="who:call"');
    expect((await post(url, message, { ...modernHeaders(message), ...WHO })).text).toContain("ada");
    const opened = await session(url, "2025-11-25", { headers: NONE });
    expect((await opened.post(call("who"))).status).toBe(403);
    expect((await opened.post({ jsonrpc: "2.0", id: 1, method: "prompts/list" })).status).toBe(403);
    expect((await opened.post(call("echo", { text: "free" }))).text).toContain("free");
    expect((await opened.post(call("who"), WHO)).text).toContain("ada");
  });

  it("refuse a batch as a whole, and what comes over HTTP+SSE", async () => {
    const url = await served();
    const opened = await session(url, "2025-03-26", { headers: NONE });
    expect((await opened.post([call("echo", { text: "a" }, 1), call("who", {}, 2)])).status).toBe(403);
    const stream = new OpenStream(new URL("/sse", url).href, { headers: NONE });
    await stream.until(({ text }) => text.includes("sessionId"));
    const target = new URL(/data: (\S+)/.exec(stream.text)?.[1] ?? "", url).href;
    expect((await post(target, call("who"), NONE)).status).toBe(403);
    const hello = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    await post(target, { jsonrpc: "2.0", id: 0, method: "initialize", params: hello }, NONE);
    await post(target, call("scopes"), { authorization: "later token" });
    await stream.until(({ text }) => text.includes("later+token"));
    stream.close();
  });
});

it("tells handlers of this very request's token, and middleware too", async () => {
  const server = scoped();
  const seen: unknown[] = [];
  server.use((each, next) => {
    seen.push(each.identity?.scopes);
    return next();
  });
  const { url } = await start(server, { authorization: { authenticator: authenticator() } });
  const opened = await session(url, "2025-03-26", { headers: NONE });
  expect((await opened.post(call("scopes"))).text).toContain("other");
  expect((await opened.post([call("scopes")], { authorization: "a b" })).text).toContain("a+b");
  const message = modern("tools/call", { name: "scopes" });
  expect((await post(url, message, { ...modernHeaders(message), authorization: "c" })).text).toContain('"c"');
  expect(seen).toEqual([["other"], ["other"], ["a", "b"], ["c"]]);
});

it("asks no scope for what is no request: whoever was asked something may answer", async () => {
  const needed = { methods: { initialize: [], "notifications/initialized": [], "tools/call": [] }, default: ["rest"] };
  const server = scoped();
  server.tool("sure", {
    run: async (_, ctx) => (await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } })).action,
  });
  const authorization = { authenticator: authenticator(), scopes: scopeRules(needed) };
  const { url } = await start(server, { authorization });
  const opened = await session(url, "2025-11-25", { headers: NONE, capabilities: { elicitation: {} } });
  const headers = { ...JSON_TYPES, ...opened.headers, ...NONE };
  const stream = new OpenStream(url, { method: "POST", headers, body: JSON.stringify(call("sure")) });
  await stream.until(({ messages }) => messages.length > 0);
  const answer = { jsonrpc: "2.0", id: stream.messages[0]?.["id"], result: { action: "decline" } };
  expect((await post(url, answer, headers)).status).toBe(202);
  await stream.ended;
  expect(stream.messages.at(-1)).toMatchObject({ result: { content: [{ text: "decline" }] } });
  expect((await post(url, { jsonrpc: "2.0", id: 2, method: "tools/list" }, headers)).status).toBe(403);
});

it("puts the authenticator's headers on every answer", async () => {
  const url = await served();
  const opened = await session(url, "2025-11-25", { headers: NONE });
  for (const message of [call("echo", { text: "a" }), call("steps", {}, 2, { progressToken: 1 }), call("who")])
    expect((await opened.post(message)).headers["dpop-nonce"]).toBe("n1");
});

it("tells the operator once of each refused request, and survives an operator who throws", async () => {
  const told: unknown[] = [];
  const url = await served({
    onRefused: ({ status, error }, { path, principal, method, tool }) => {
      told.push([status, error, path, principal, method, tool]);
      throw new Error("the audit log is full");
    },
  });
  expect((await post(url, call("who"))).status).toBe(401);
  expect((await post(url, call("who"), NONE)).status).toBe(403);
  expect(told).toEqual([
    [401, "missing_token", "/mcp", undefined, undefined, undefined],
    [403, "insufficient_scope", "/mcp", "ada", "tools/call", "who"],
  ]);
});

it("is given instead of authenticate, not beside it", async () => {
  const both = { authorization: { authenticator: authenticator() }, authenticate: () => "ada" };
  await expect(start(testServer(), both)).rejects.toMatchObject({ code: "BAD_OPTIONS" });
});

describe("a stream", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("ends with the token it was opened with: of a session, of a stateless request, of HTTP+SSE", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const url = await served({}, Date.now());
    const opened = await session(url, "2025-11-25", { headers: NONE });
    const listen = modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const headers = { ...JSON_TYPES, ...modernHeaders(listen), ...NONE };
    const streams = [
      new OpenStream(url, { headers: { ...opened.headers, accept: "text/event-stream" } }),
      new OpenStream(url, { method: "POST", headers, body: JSON.stringify(listen) }),
      new OpenStream(new URL("/sse", url).href, { headers: NONE }),
    ];
    await Promise.all(streams.map((stream) => stream.until(({ text }) => text !== "")));
    vi.advanceTimersByTime(1_000);
    await Promise.all(streams.map((stream) => stream.ended));
    const target = new URL(/data: (\S+)/.exec(streams[2]?.text ?? "")?.[1] ?? "", url).href;
    expect((await post(target, call("echo", { text: "a" }), NONE)).status).toBe(404);
    expect((await send(url, { method: "DELETE", headers: opened.headers })).status).toBe(204);
  });

  it("stays open while its token is good", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const url = await served({}, Date.now() + 3_600_000);
    const opened = await session(url, "2025-11-25", { headers: NONE });
    const stream = new OpenStream(url, { headers: { ...opened.headers, accept: "text/event-stream" } });
    await stream.until(({ text }) => text !== "");
    vi.advanceTimersByTime(16_000);
    await within(
      stream.until(({ text }) => text.includes("keep-alive")),
      "a comment after 16 seconds",
    );
    expect(stream.text).not.toContain("error");
    stream.close();
  });
});
