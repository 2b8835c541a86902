// A call that middleware redirects is judged like one that asked for its target: the same scopes, the same visibility.
import { afterAll, beforeAll, expect, it } from "vitest";
import { scopeRules } from "../../src/auth/scopes.js";
import { staticTokenAuthenticator } from "../../src/auth/token-authenticator.js";
import { connect } from "../../src/serve/connect-node.js";
import { type HttpServing, serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";

/** Scopes by who holds them; an admin's hold those of a writer. */
const WHO: Readonly<Record<string, readonly string[]>> = { none: [], read: ["read"], write: ["write"], ada: ["admin"] };
const tokenOf = (who: string): string => `token-of-${who}-which-is-long-enough`;
const TOOLS = ["open", "own", "tabled", "both", "hidden", "nothing"];
const done: string[] = [];
const refused: string[] = [];
let serving: HttpServing;

beforeAll(async () => {
  const server = new Server({ name: "menu", version: "1" });
  const run = (name: string) => () => (done.push(name), `${name} done`);
  server.tool("open", { run: run("open") });
  server.tool("own", { scopes: ["write"], run: run("own") });
  server.tool("tabled", { run: run("tabled") });
  server.tool("both", { scopes: ["read"], run: run("both") });
  server.tool("hidden", { visible: ({ identity }) => identity?.principal === "ada", run: run("hidden") });
  server.tool("call_tool", { run: run("call_tool") });
  server.use((call, next) => {
    if (call.method === "tools/call" && call.params["name"] === "call_tool")
      call.redirect({ ...call.params, name: (call.params["arguments"] as { name: string }).name, arguments: {} });
    return next();
  });
  const tokens = Object.entries(WHO).map(([principal, scopes]) => ({ principal, scopes, token: tokenOf(principal) }));
  serving = await serveHttp(server, {
    signals: false,
    sse: true,
    authorization: {
      authenticator: staticTokenAuthenticator(tokens),
      scopes: scopeRules(
        { tools: { tabled: ["write"], both: ["write"] } },
        { hierarchy: { admin: ["write", "read"] } },
      ),
      onRefused: ({ status }, { tool }) => void refused.push(`${status} ${tool}`),
    },
  });
});
afterAll(() => serving.close());

const WAYS = ["2026-07-28", "2025-11-25", "2024-11-05", "sse"];

it.each(WAYS.flatMap((way) => Object.keys(WHO).map((who) => [way, who] as const)))(
  "over %s, with the scopes of %s",
  async (way, who) => {
    const headers = { authorization: `Bearer ${tokenOf(who)}` };
    const url = way === "sse" ? serving.url.replace("/mcp", "/sse") : serving.url;
    const client = await connect(url, {
      http: { headers },
      verdicts: false,
      ...(way === "sse" ? {} : { revision: way }),
    });
    const ran = async (name: string, args: object): Promise<boolean> => {
      const before = done.length;
      const { isError = false } = await client.call(name, { ...args }).catch(() => ({ isError: true }));
      expect(done.length > before).toBe(!isError);
      return !isError;
    };
    for (const tool of TOOLS) {
      refused.length = 0;
      const direct = await ran(tool, {});
      const told = [...refused];
      refused.length = 0;
      expect([tool, await ran("call_tool", { name: tool }), refused]).toEqual([tool, direct, told]);
    }
    expect(await ran("call_tool", { name: "own" })).toBe(["write", "ada"].includes(who));
    await client.close();
  },
);

it("judges each member of a batch by its own target", async () => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const post = async (token: string, body: unknown, session?: string): Promise<Response> =>
    fetch(serving.url, {
      method: "POST",
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        ...(session === undefined ? {} : { "mcp-session-id": session }),
      },
      body: JSON.stringify(body),
    });
  const clientInfo = { name: "t", version: "1" };
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo };
  const opened = await post(tokenOf("read"), { jsonrpc: "2.0", id: 0, method: "initialize", params });
  const session = opened.headers.get("mcp-session-id") ?? "";
  await opened.text();
  const calls = TOOLS.map((name, id) => ({
    jsonrpc: "2.0",
    id: id + 1,
    method: "tools/call",
    params: { name: "call_tool", arguments: { name } },
  }));
  done.length = 0;
  const answer = await (await post(tokenOf("read"), calls, session)).text();
  expect(done).toEqual(["open"]);
  expect(answer).toContain("open done");
});
