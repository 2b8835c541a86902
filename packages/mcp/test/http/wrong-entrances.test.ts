// What says who is asking may return anything, and what else a program gave may throw: nobody comes in by it, and the process lives.
import { afterEach, describe, expect, it } from "vitest";
import { type Authenticator, scopeRules, tokenAuthenticator } from "@secure-local/mcp/auth";
import { toFetch, type HttpOptions } from "@secure-local/mcp/fetch";
import { type HttpServing, serveHttp, toNodeHandler } from "@secure-local/mcp/http";
import { Server, type ServerOptions } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const BODY = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } },
});
const uncaught: unknown[] = [];
process.on("unhandledRejection", (error) => uncaught.push(error));
process.on("uncaughtException", (error) => uncaught.push(error));

function reporting(options: Partial<ServerOptions> = {}): { server: Server; log: string[] } {
  const log: string[] = [];
  const server = new Server({
    name: "s",
    version: "1",
    ...options,
    report: (_level, text, details) =>
      void log.push(`${text} ${details?.["error"] instanceof Error ? details["error"].message : ""}`),
  });
  server.tool("t", { run: () => "x" });
  return { server, log };
}

const served: HttpServing[] = [];
afterEach(async () => {
  await Promise.all(served.splice(0).map((each) => each.close()));
  expect(uncaught).toEqual([]);
});

/** Every way of serving: what a request with a token is answered with, and the log. */
async function answer(options: HttpOptions, headers: object = {}): Promise<{ status: number[]; log: string[] }> {
  const { server, log } = reporting();
  const init = {
    method: "POST",
    body: BODY,
    headers: { "content-type": "application/json", authorization: "Bearer abc", ...headers },
  };
  const listening = await serveHttp(server, { ...options, signals: false });
  served.push(listening);
  const second = reporting();
  const fetched = await toFetch(second.server, options)(new Request("http://localhost/mcp", init));
  const status = [(await fetch(listening.url, init)).status, fetched.status];
  await new Promise((resolve) => setTimeout(resolve, 5));
  return { status, log: [...log, ...second.log] };
}

const odd = (value: unknown): never => value as never;
const WRONG: readonly (readonly [string, unknown])[] = [
  ["true", true],
  ["a text", "ada"],
  ["undefined", undefined],
  ["a number", 7],
  ["a list", ["ada"]],
  ["the identity itself", { principal: "ada", scopes: [] }],
  ["ok alone", { ok: true }],
  ["a text as identity", { ok: true, identity: "ada" }],
  ["a number as identity", { ok: true, identity: 7 }],
  ["a text for ok", { ok: "false", identity: { principal: "ada", scopes: [] } }],
  ["no and nothing else", { ok: false }],
  ["no, and a status that is none", { ok: false, status: 200, message: "x" }],
  ["no, and a status that nothing has", { ok: false, status: 1_000, message: "x" }],
  ["yes and no", { ok: true, status: 403, message: "x", identity: { principal: "ada", scopes: ["a"] } }],
];

describe("a verdict of the wrong shape lets nobody in, and is one sentence in the log", () => {
  const scopes = scopeRules({ methods: { initialize: ["a"] } });
  it.each(WRONG)("of verify: %s", async (_what, verdict) => {
    const authenticator = tokenAuthenticator({ verify: () => odd(Promise.resolve(verdict)) }, { scopes: ["a"] });
    const { status, log } = await answer({ authorization: { authenticator, scopes } });
    expect(status).toEqual([401, 401]);
    expect(log).toHaveLength(2);
    for (const line of log)
      expect(line).toMatch(/What says who is asking returned .*verify gives \{ ok: true, identity/);
  });

  it.each(WRONG)("of an authenticator: %s", async (_what, verdict) => {
    const authenticator: Authenticator = { authenticate: () => odd(verdict) };
    const { status, log } = await answer({ authorization: { authenticator, scopes } });
    expect(status).toEqual([401, 401]);
    expect(log.filter((line) => line.includes("What says who is asking returned"))).toHaveLength(2);
    expect(log.join()).not.toContain("Cannot read prop");
  });
});

it.each([
  ["a text", { identity: "ada" }, "the identity"],
  ["a list", { identity: ["ada"] }, '"principal" is no text'],
  ["null", { identity: null }, "the identity null"],
  ["no by its ok", { ok: false, identity: { principal: "ada", scopes: [] } }, '"ok" is not true'],
  ["a misspelt member", { identity: { principal: "ada", scopes: [], clientid: "x" } }, 'did you mean "clientId"'],
])("an entrance with %s as identity is refused with 401 and named", async (_what, entrance, words) => {
  const { status, log } = await answer({ authenticate: () => odd(entrance) });
  expect(status).toEqual([401, 401]);
  expect(log.join()).toContain(words);
});

it("an identity whose scopes are misspelt is refused where a framework says who is asking", async () => {
  const { server, log } = reporting();
  const handler = toNodeHandler(server, { identity: () => odd({ principal: "ada", scope: ["admin"] }) });
  const web = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/mcp`;
  const reply = await fetch(url, { method: "POST", body: BODY, headers: { "content-type": "application/json" } });
  expect(reply.status).toBe(401);
  expect(log.join()).toContain('an identity with the member "scope": did you mean "scopes"?');
  web.closeAllConnections();
  web.close();
});

describe("what throws while a request is served fails the request, under an id", () => {
  const boom = (): never => {
    throw new Error("boom");
  };
  const admitted: Authenticator = {
    authenticate: () => ({ ok: true, identity: { principal: "ada", scopes: [] } }),
  };
  it.each<readonly [string, HttpOptions]>([
    ["scopes that throw", { authorization: { authenticator: admitted, scopes: odd({ check: boom }) } }],
    ["scopes that say true", { authorization: { authenticator: admitted, scopes: odd({ check: () => true }) } }],
    ["an address that throws", { rate: { address: boom } }],
  ])("%s", async (_what, options) => {
    const { status, log } = await answer(options);
    expect(status).toEqual([500, 500]);
    expect(log.join()).toMatch(/error id [0-9a-f]{8}/);
  });

  it.each([
    ["throws", boom],
    ["rejects", () => Promise.reject(new Error("boom"))],
    ["gives nothing", () => undefined],
    ["gives nothing, later", () => Promise.resolve()],
  ])("a page that %s", async (_what, respond) => {
    const { server, log } = reporting();
    const listening = await serveHttp(server, { pages: { "/x": { respond: odd(respond) } }, signals: false });
    served.push(listening);
    const reply = await fetch(new URL("/x", listening.url));
    expect(reply.status).toBe(500);
    expect(await reply.text()).toMatch(/error id/);
    expect(log.join()).toMatch(/error id/);
  });
});

it.each<readonly [string, object, RegExp]>([
  [
    "scopes as a plain object",
    { authorization: { authenticator: { authenticate: () => 0 }, scopes: { tools: {} } } },
    /write scopes: scopeRules\(/,
  ],
  [
    "scopes as a function",
    { authorization: { authenticator: { authenticate: () => 0 }, scopes: () => true } },
    /not a function: write scopes: scopeRules\(/,
  ],
  ["a page as a text", { pages: { "/x": "hello" } }, /in "pages" "\/x" is \{ respond, open \}, not "hello"/],
  ["a page without respond", { pages: { "/x": {} } }, /in "pages" "\/x" needs "respond"/],
  [
    "rate as a number",
    { rate: 5 },
    /"rate" is \{ perSecond, burst, callers, address \}, not 5: write rate: \{ perSecond: 5 \}/,
  ],
])("%s is refused at the start", async (_what, options, words) => {
  await expect(serveHttp(reporting().server, odd(options))).rejects.toThrow(words);
  expect(() => toFetch(reporting().server, odd(options))).toThrow(words);
});

it.each([undefined, null, 0, "", "yes", {}, Promise.resolve, Promise.reject])(
  "`visible` that returns %o shows nothing",
  async (given) => {
    const answered: unknown = typeof given === "function" ? given.call(Promise, new Error("x")) : given;
    const { server, log } = reporting({ visible: () => odd(answered) });
    const peer = await connectInMemory(server);
    expect(await peer.request("tools/list")).toMatchObject({ tools: [] });
    await expect(peer.request("tools/call", { name: "t", arguments: {} })).rejects.toThrow("Unknown tool");
    expect(log.join().includes("returned a promise, which counts as no")).toBe(answered instanceof Promise);
    await peer.close();
  },
);

it.each([
  [
    "throws",
    (): boolean => {
      throw new Error("x");
    },
  ],
  ["returns a promise", () => odd(Promise.reject(new Error("x")))],
])("`tells` that %s tells nobody, and is reported", async (_what, tells) => {
  const { server, log } = reporting({ tells });
  server.resource("a:b", { read: () => "x" });
  const peer = await connectInMemory(server, { revision: "2025-06-18" });
  await peer.request("resources/subscribe", { uri: "a:b" });
  server.resourceUpdated("a:b");
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(peer.messages.filter((message) => message["method"] === "notifications/resources/updated")).toEqual([]);
  expect(log.join()).toContain('"tells"');
  await peer.close();
});

describe("tokenAuthenticator says at its creation", () => {
  it.each<readonly [string, unknown, object, string]>([
    ["a misspelt option", { verify: () => 0 }, { scope: ["a"] }, 'no member "scope", did you mean "scopes"?'],
    ["a scope as a text", { verify: () => 0 }, { scopes: "a" }, 'write scopes: ["a"]'],
    ["nothing", undefined, {}, "takes an object with verify(token), not undefined"],
    ["a function", () => 0, {}, "not a function: write { verify: async (token) => ... }"],
    ["a misspelt method", { verfy: () => 0 }, {}, "takes an object with verify(token)"],
  ])("%s", (_what, verifier, options, words) => {
    expect(() => tokenAuthenticator(odd(verifier), options)).toThrow(words);
  });
});
