// Who may see and use what: said where it is registered, kept in every list and every use, over every transport.
import { describe, expect, it } from "vitest";
import { scopeRules, staticTokenAuthenticator } from "@secure-local/mcp/auth";
import { type Call, Server } from "@secure-local/mcp/server";
import { toFetch } from "@secure-local/mcp/fetch";
import type { MemoryPeer } from "@secure-local/mcp/testing";
import { connect } from "../support/connect.js";

const EDITORS = ({ carrier }: Call): boolean => carrier.principal === "ada";
const ada = { principal: "ada" };

function restricted(server = new Server({ name: "s", version: "1" })): Server {
  const read = (): string => "secret";
  server.tool("open", { run: () => "open" });
  server.tool("hidden", { visible: EDITORS, run: () => "done" });
  server.prompt("hidden", { visible: EDITORS, arguments: { a: { complete: ["secret"] } }, run: () => "done" });
  server.resource("a:hidden", { visible: EDITORS, read });
  server.resourceTemplate("b:{hidden}", { visible: EDITORS, read, complete: { hidden: ["secret"] } });
  return server;
}

const uses: readonly [string, Record<string, unknown>][] = [
  ["tools/call", { name: "hidden" }],
  ["prompts/get", { name: "hidden" }],
  ["resources/read", { uri: "a:hidden" }],
  ["resources/read", { uri: "b:any" }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "hidden" }, argument: { name: "a", value: "" } }],
  [
    "completion/complete",
    { ref: { type: "ref/resource", uri: "b:{hidden}" }, argument: { name: "hidden", value: "" } },
  ],
];

const list = async (peer: MemoryPeer): Promise<string> =>
  JSON.stringify(
    await Promise.all(
      ["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map((each) => peer.request(each)),
    ),
  );

describe("what is hidden from a caller", () => {
  it.each(["2025-11-25", "2026-07-28"])(
    "is in no list and of no use to it in %s, as if it were not there",
    async (revision) => {
      const server = restricted();
      const [guest, editor] = [await connect(server, { revision }), await connect(server, { revision, ...ada })];
      expect(await list(guest)).not.toContain("hidden");
      expect(await list(editor)).toContain("hidden");
      for (const [method, params] of uses) {
        await expect(guest.request(method, params), method).rejects.toThrow(/Unknown|not found/);
        expect(JSON.stringify(await editor.request(method, params)), method).toMatch(/done|secret/);
      }
    },
  );

  it("by the server as a whole is refused too, and cannot be subscribed to", async () => {
    const server = new Server({
      name: "s",
      version: "1",
      visible: (_kind, name, call) => !name.includes("hidden") || EDITORS(call),
    });
    restricted(server);
    const guest = await connect(server, { revision: "2025-11-25" });
    for (const [method, params] of uses.slice(0, 3)) await expect(guest.request(method, params)).rejects.toThrow();
    await expect(guest.request("resources/subscribe", { uri: "a:hidden" })).rejects.toThrow("not found");
  });

  it("is told when what it sees changes, by `listChanged`", async () => {
    const server = restricted();
    const peer = await connect(server, { revision: "2025-11-25" });
    server.listChanged("tools");
    await peer.next(({ method }) => method === "notifications/tools/list_changed");
  });
});

describe("scopes on a tool, a prompt and a resource", () => {
  const scoped = (): Server => {
    const server = new Server({ name: "s", version: "1", report: false });
    server.tool("write", { scopes: ["notes:write"], run: () => "written" });
    server.prompt("plan", { scopes: ["notes:plan"], run: () => "planned" });
    server.resource("a:b", { scopes: ["notes:read"], read: () => "read" });
    return server;
  };
  const tokens = staticTokenAuthenticator([
    { token: "writes-1234567890-1234567890", principal: "ada", scopes: ["notes:write"] },
    { token: "admin-12345678901-1234567890", principal: "eve", scopes: ["admin"] },
  ]);
  const ask = async (
    handler: (request: Request) => Promise<Response>,
    token: string,
    method: string,
    params: object,
  ): Promise<Response> =>
    handler(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: {
          host: "localhost",
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-06-18",
          authorization: `Bearer ${token}`,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      }),
    );

  it("are asked for over HTTP with a challenge that names them, and stay in the lists", async () => {
    const handler = toFetch(scoped(), { sessions: false, authorization: { authenticator: tokens } });
    const written = await ask(handler, "writes-1234567890-1234567890", "tools/call", { name: "write" });
    expect([written.status, await written.text()]).toEqual([200, expect.stringContaining("written")]);
    for (const [method, params, scope] of [
      ["prompts/get", { name: "plan" }, "notes:plan"],
      ["resources/read", { uri: "a:b" }, "notes:read"],
    ] as const) {
      const refused = await ask(handler, "writes-1234567890-1234567890", method, params);
      expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([403, expect.stringContaining(scope)]);
    }
    expect(await (await ask(handler, "writes-1234567890-1234567890", "prompts/list", {})).text()).toContain("plan");
  });

  it("are implied by a hierarchy, and join those of a table", async () => {
    const scopes = scopeRules({ tools: { write: ["extra"] } }, { hierarchy: { admin: ["notes:write"] } });
    const handler = toFetch(scoped(), { sessions: false, authorization: { authenticator: tokens, scopes } });
    const refused = await ask(handler, "admin-12345678901-1234567890", "tools/call", { name: "write" });
    expect(refused.headers.get("www-authenticate")).toContain('scope="extra notes:write"');
    const enough = scopeRules({}, { hierarchy: { admin: ["notes:write"] } });
    const open = toFetch(scoped(), { sessions: false, authorization: { authenticator: tokens, scopes: enough } });
    expect((await ask(open, "admin-12345678901-1234567890", "tools/call", { name: "write" })).status).toBe(200);
  });

  it("are lacked by a name of which no scopes are known, and by anybody in memory who is said to ask", async () => {
    const handler = toFetch(scoped(), { sessions: false, authenticate: () => "ada" });
    expect((await ask(handler, "-", "tools/call", { name: "write" })).status).toBe(403);
    const [owner, named] = [await connect(scoped()), await connect(scoped(), ada)];
    expect(await owner.request("tools/call", { name: "write" })).toMatchObject({ isError: false });
    await expect(named.request("tools/call", { name: "write" })).rejects.toThrow(
      'The tool "write" needs the scopes notes:write',
    );
  });

  it("cannot be served where nobody says who is asking", () => {
    expect(() => toFetch(scoped())).toThrow(/"write" needs scopes, but nobody says who is asking/);
  });

  it("in a table are refused for a name nobody registered, unless it comes later", () => {
    const serve = (rules: ReturnType<typeof scopeRules>): unknown =>
      toFetch(scoped(), { authorization: { authenticator: tokens, scopes: rules } });
    expect(() => serve(scopeRules({ tools: { writes: ["a"] } }))).toThrow('The scope rules name "writes"');
    expect(() => serve(scopeRules({ methods: { "tool/call": ["a"] } }))).toThrow('The scope rules name "tool/call"');
    expect(serve(scopeRules({ tools: { writes: ["a"] } }, { later: true }))).toBeTypeOf("function");
    expect(serve(scopeRules({ tools: { write: ["a"] }, methods: { "tools/list": ["b"] } }))).toBeTypeOf("function");
  });

  it("are told from other text at registration", () => {
    const server = new Server({ name: "s", version: "1" });
    expect(() => server.tool("t", { scopes: ["a b"], run: () => "" })).toThrow('"scopes" is a list of scopes');
    expect(() => server.tool("t", { scopes: "a" as never, run: () => "" })).toThrow('"scopes" is a list of scopes');
    expect(() => server.tool("t", { visible: true as never, run: () => "" })).toThrow('"visible" is a function');
  });
});

describe("a rule that throws", () => {
  it("hides what it is of, names it in the log, and leaves the rest", async () => {
    const told: string[] = [];
    const server = restricted(new Server({ name: "s", version: "1", report: (_level, text) => told.push(text) }));
    const visible = ({ identity }: Call): boolean => identity!.scopes.includes("a");
    server.tool("broken", { visible, run: () => "secret" });
    server.prompt("broken", { visible, run: () => "secret" });
    server.resource("a:broken", { visible, read: () => "secret" });
    server.resourceTemplate("c:{broken}", { visible, read: () => "secret" });
    const peer = await connect(server, { ...ada, revision: "2026-07-28" });
    const shown = await list(peer);
    expect(shown).toContain('"open"');
    expect(shown).not.toContain("broken");
    await expect(peer.request("tools/call", { name: "broken" })).rejects.toThrow("Unknown tool: broken");
    await expect(peer.request("resources/read", { uri: "c:x" })).rejects.toThrow("not found");
    expect(told.map((text) => text.split(" threw, which counts as no: TypeError: Cannot read")[0])).toEqual([
      '"visible" of the tool "broken"',
      '"visible" of the prompt "broken"',
      '"visible" of the resource "a:broken"',
      expect.stringMatching(/^"visible" of the .*template "c:\{broken\}"/),
      '"visible" of the tool "broken"',
      expect.stringMatching(/template "c:/),
    ]);
  });
});

describe("a registration", () => {
  it("that needs scopes is not enabled where nobody has any", () => {
    const server = new Server({ name: "s", version: "1" });
    const handle = server.tool("t", { scopes: ["a"], run: () => "" });
    handle.disable();
    toFetch(server);
    expect(() => handle.enable()).toThrow('"t" needs scopes, but nobody says who is asking over HTTP');
    expect(handle.enabled).toBe(false);
    handle.update({ scopes: undefined });
    handle.enable();
    expect(handle.enabled).toBe(true);
  });

  it("is updated at its place, disabled and enabled, and each is announced", async () => {
    const server = new Server({ name: "s", version: "1" });
    const [first] = ["one", "two"].map((name) => server.tool(name, { description: name, run: () => name }));
    if (first === undefined) throw new Error("not registered");
    const peer = await connect(server, { revision: "2025-11-25" });
    const names = async (): Promise<string[]> =>
      ((await peer.request("tools/list"))["tools"] as { name: string; description: string }[]).map(
        (each) => each.description,
      );
    const told = (): Promise<unknown> => peer.next(({ method }) => method === "notifications/tools/list_changed");
    first.update({ description: "uno", run: () => "changed" });
    await told();
    expect(await names()).toEqual(["uno", "two"]);
    expect(await peer.request("tools/call", { name: "one" })).toMatchObject({ content: [{ text: "changed" }] });
    first.update({ title: "One" });
    await told();
    expect(await names()).toEqual(["uno", "two"]);
    first.disable();
    await told();
    expect([await names(), first.enabled]).toEqual([["two"], false]);
    await expect(peer.request("tools/call", { name: "one" })).rejects.toThrow("Unknown tool");
    first.enable();
    await told();
    expect(await names()).toEqual(["uno", "two"]);
    expect(() => first.update({ inputSchema: {} } as never)).toThrow('"inputSchema" is called "input"');
    first.remove();
    expect(() => first.update({})).toThrow("was removed");
  });
});
