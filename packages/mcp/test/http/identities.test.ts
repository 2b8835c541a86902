// Who is asking, as programs of others say it: what is no name lets nobody in, or two users would be one.
import { createServer, type Server as NodeServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/serve/connect.js";
import { connectInMemory } from "../../src/serve/connect-in-memory.js";
import { toNodeHandler } from "../../src/serve/http.js";
import type { NodeRequest } from "../../src/node/node-exchange.js";
import { toFetch } from "../../src/http/server/to-fetch.js";
import { staticTokenAuthenticator } from "../../src/auth/token-authenticator.js";
import type { Reporter } from "../../src/server/reporter.js";
import { modern, modernHeaders, post, start, testServer } from "./http-fixture.js";

/** What JavaScript may give, and what the report calls it. */
const NO_NAMES: readonly (readonly [string, unknown, string])[] = [
  ["a number", 7, "a number"],
  ["zero", 0, "a number"],
  ["true", true, "a boolean"],
  ["a symbol", Symbol("ada"), "a symbol"],
  ["an object with nothing in it", {}, "it has nothing"],
  ["a record of a database", { id: 7 }, "it has id"],
  ["a number for a principal", { principal: 7 }, "it has principal"],
  ["an empty principal", { principal: "", scopes: [] }, "principal"],
  ["one text for all scopes", { principal: "ada", scopes: "admin2" }, "no list of texts"],
  ["a date as the end", { principal: "ada", scopes: [], expiresAt: new Date() }, "date.getTime()"],
];

function reporting(): { readonly told: string[]; readonly report: Reporter } {
  const told: string[] = [];
  return { told, report: (_level, _message, details) => void told.push(String(details?.["error"])) };
}

async function mounted(handler: ReturnType<typeof toNodeHandler>): Promise<string> {
  const http: NodeServer = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

const who = modern("tools/call", { name: "who" });

describe.each(NO_NAMES)("%s", (_what, given, called) => {
  it("of `identity` is refused with 401, and the report says what to write", async () => {
    const { told, report } = reporting();
    const url = await mounted(toNodeHandler(testServer({ report }), { identity: () => given as never }));
    expect((await post(url, who, modernHeaders(who))).status).toBe(401);
    expect(told).toEqual([expect.stringContaining(called)]);
    expect(told[0]).toContain("give ");
  });

  it("of an authenticator is refused with 401 as well", async () => {
    const { told, report } = reporting();
    const authenticator = { authenticate: () => ({ ok: true, identity: given }) as never };
    const { url } = await start(testServer({ report }), { authorization: { authenticator } });
    expect((await post(url, who, modernHeaders(who))).status).toBe(401);
    expect(told.length).toBe(1);
  });

  it("of `connectInMemory` and `connect` is an error at once", async () => {
    const expected = { code: "BAD_OPTIONS" };
    await expect(connectInMemory(testServer(), { identity: given as never })).rejects.toMatchObject(expected);
    await expect(connect(testServer(), { identity: given as never })).rejects.toMatchObject(expected);
  });
});

it("a number of `authenticate` is refused by a fetch handler as well, and reported", async () => {
  const { told, report } = reporting();
  const handler = toFetch(testServer({ report }), { authenticate: () => 7 as never });
  onTestFinished(() => handler.close());
  const reply = await handler(
    new Request("http://127.0.0.1/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", ...modernHeaders(who) },
      body: JSON.stringify(who),
    }),
  );
  expect([reply.status, told]).toEqual([401, [expect.stringContaining("String(user.id)")]]);
});

it("nobody is refused without a report, whichever way a framework says nobody", async () => {
  const { told, report } = reporting();
  for (const nobody of [undefined, null, false, ""]) {
    const url = await mounted(toNodeHandler(testServer({ report }), { identity: () => nobody as never }));
    expect((await post(url, who, modernHeaders(who))).status).toBe(401);
  }
  expect(told).toEqual([]);
});

it("a number for the principal of a token is refused when the token is given", () => {
  expect(() =>
    staticTokenAuthenticator([{ token: "0123456789abcdef0123456789abcdef", principal: 7 as never }]),
  ).toThrow("a text");
});

it("what a framework adds to its requests is read as the README shows, and numbers become names", async () => {
  type SignedIn = NodeRequest & { user?: { id: number } };
  const handler = toNodeHandler(testServer(), {
    identity: (request: SignedIn) => request.user && String(request.user.id),
  });
  const http = createServer((request, response) =>
    handler(Object.assign(request, { user: { id: Number(request.headers["x-user"]) } }), response),
  );
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  expect((await post(url, who, { ...modernHeaders(who), "x-user": "7" })).text).toContain('"text":"7"');
});

it("a name alone is an identity without scopes, whichever way it is given, and decides what is visible", async () => {
  const server = testServer();
  server.tool("whoami", { run: (_, ctx) => JSON.stringify([ctx.principal, ctx.identity]) });
  server.tool("hers", { visible: ({ identity }) => identity?.principal === "ada", run: () => "hers" });
  const { url } = await start(server, { authenticate: () => "ada" });
  const fetched = toFetch(server, { authenticate: () => "bob" });
  const ways = [
    { url, http: {} },
    { url: await mounted(toNodeHandler(server, { identity: () => "bob" })), http: {} },
    {
      url: "http://localhost/mcp",
      http: { fetch: (to: URL | string, init?: RequestInit) => fetched(new Request(to, init)) },
    },
  ];
  for (const [at, { url: where, http }] of ways.entries())
    for (const revision of ["2025-11-25", "2026-07-28"]) {
      const client = await connect(where, { revision, http });
      onTestFinished(() => client.close());
      const name = at === 0 ? "ada" : "bob";
      const { content } = await client.call("whoami");
      expect(content).toMatchObject([{ text: JSON.stringify([name, { principal: name, scopes: [] }]) }]);
      expect((await client.tools().all()).some((tool) => tool.name === "hers")).toBe(name === "ada");
    }
});
