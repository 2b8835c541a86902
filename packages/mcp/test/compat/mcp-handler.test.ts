// `createMcpHandler` of `/compat`: SDK v2's fetch handler, for clients of every revision, behind fetch and behind Node.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { Client as OfficialClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { connect } from "@secure-local/mcp/client";
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
  type McpServerFactory,
} from "@secure-local/mcp/compat";
import { toNodeHandler } from "@secure-local/mcp/compat/http";
import { z } from "zod";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const URL_OF_IT = "http://localhost/anywhere";

function notes(): McpServer {
  const server = new McpServer({ name: "notes", version: "1" });
  server.registerTool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  server.registerTool("sure", {}, (ctx) => {
    if (inputResponse(ctx.mcpReq.inputResponses, "sure").kind === "missing") {
      const asked = inputRequired.elicit({
        message: "Sure?",
        requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } },
      });
      return inputRequired({ inputRequests: { sure: asked }, requestState: "kept" });
    }
    return { content: [{ type: "text", text: `yes, ${String(ctx.mcpReq.requestState())}` }] };
  });
  server.registerTool("who", {}, (extra) => ({
    content: [{ type: "text", text: extra.authInfo?.clientId ?? "nobody" }],
  }));
  return server;
}

const asFetch =
  (handler: { fetch(request: Request, options?: object): Promise<Response> }, options?: object) =>
  (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    handler.fetch(new Request(input, init), options);

it.each(["2025-06-18", "2025-11-25", "2026-07-28"])("serves %s, with one server for all", async (revision) => {
  const factory = vi.fn<McpServerFactory>(() => notes());
  const handler = createMcpHandler(factory);
  closing.push(() => handler.close());
  for (let i = 0; i < 2; i++) {
    const client = await connect(URL_OF_IT, { revision, http: { fetch: asFetch(handler) } });
    expect((await client.call("add", { a: 2, b: 3 })).content).toEqual([{ type: "text", text: "5" }]);
    await client.close();
  }
  expect(factory).toHaveBeenCalledTimes(1);
});

it("serves the official client of v2, also behind Node and a body parser", async () => {
  const handler = createMcpHandler(notes);
  closing.push(() => handler.close());
  const served = toNodeHandler(handler);
  const server = createServer((request, response) => {
    if (request.url !== "/parsed") return void served(request, response);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = chunks.length === 0 ? undefined : (JSON.parse(Buffer.concat(chunks).toString()) as unknown);
      void served(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))));
  const { port } = server.address() as AddressInfo;
  for (const path of ["", "parsed"]) {
    const client = new OfficialClient({ name: "official", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/${path}`)));
    const answer = await client.callTool({ name: "add", arguments: { a: 1, b: 1 } });
    expect(answer.content).toEqual([{ type: "text", text: "2" }]);
    await client.close();
  }
});

const SHARED: McpServerFactory = () => notes();
const EACH: McpServerFactory = ({ authInfo }) => {
  if (authInfo !== undefined) throw new Error("nobody is known here");
  return notes();
};

it.each([
  ["shared", SHARED],
  ["for each request", EACH],
])("finds the state of a question again, with a server %s", async (_, factory) => {
  const handler = createMcpHandler(factory);
  closing.push(() => handler.close());
  const client = await connect(URL_OF_IT, {
    http: { fetch: asFetch(handler) },
    elicit: () => ({ action: "accept", content: { ok: true } }),
  });
  expect((await client.call("sure")).content).toEqual([{ type: "text", text: "yes, kept" }]);
  await client.close();
});

it("makes a server for each request where the factory looks at who is asking", async () => {
  const made: string[] = [];
  const handler = createMcpHandler(({ era, authInfo }) => {
    made.push(`${era} ${authInfo?.clientId ?? "nobody"}`);
    return notes();
  });
  closing.push(() => handler.close());
  const who = async (clientId: string): Promise<unknown> => {
    const authInfo = { token: "t", clientId, scopes: [] };
    const client = await connect(URL_OF_IT, { http: { fetch: asFetch(handler, { authInfo }) } });
    const { content } = await client.call("who");
    await client.close();
    return content;
  };
  expect(await who("ada")).toEqual([{ type: "text", text: "ada" }]);
  expect(await who("bob")).toEqual([{ type: "text", text: "bob" }]);
  expect(new Set(made)).toEqual(new Set(["modern ada", "modern bob"]));
});

it("never shows one caller's context to another on a server that is shared", async () => {
  let kept: { readonly authInfo?: unknown } | undefined;
  const handler = createMcpHandler((context) => {
    kept = context;
    return notes();
  });
  closing.push(() => handler.close());
  const client = await connect(URL_OF_IT, {
    http: { fetch: asFetch(handler, { authInfo: { token: "t", clientId: "ada", scopes: [] } }) },
  });
  await client.close();
  expect(() => kept?.authInfo).toThrow("this server is everybody's");
});

it("refuses the revisions before where it is told to", async () => {
  const handler = createMcpHandler(notes, { legacy: "reject" });
  closing.push(() => handler.close());
  const http = { fetch: asFetch(handler) };
  await expect(connect(URL_OF_IT, { revision: "2025-11-25", http })).rejects.toThrow();
  const client = await connect(URL_OF_IT, { http });
  expect(client.revision).toBe("2026-07-28");
  await client.close();
});

it("tells listeners of what is published, here or on a bus", async () => {
  const handler = createMcpHandler(() => {
    const server = notes();
    server.registerResource("a", "note://a", {}, () => ({ contents: [{ uri: "note://a", text: "a" }] }));
    return server;
  });
  closing.push(() => handler.close());
  const client = await connect(URL_OF_IT, { http: { fetch: asFetch(handler) } });
  const changes: unknown[] = [];
  const subscription = client.subscribe({ toolsListChanged: true, resources: ["note://a"] });
  void (async () => {
    for await (const change of subscription) changes.push(change);
  })();
  await expect
    .poll(() => {
      handler.notify.toolsChanged();
      handler.bus.publish({ kind: "resource_updated", uri: "note://a" });
      return changes.map((change) => (change as { kind: string }).kind);
    })
    .toEqual(expect.arrayContaining(["tools", "resource"]));
  await client.close();
});

it("answers 500 and tells onerror where the factory fails, and tries again", async () => {
  const errors: Error[] = [];
  let fails = true;
  const handler = createMcpHandler(
    () => {
      if (fails) throw new Error("no database");
      return notes();
    },
    { onerror: (error) => errors.push(error) },
  );
  closing.push(() => handler.close());
  const failed = await handler.fetch(new Request(URL_OF_IT, { method: "POST", body: "{}" }));
  expect([failed.status, (await failed.text()).includes("database"), errors[0]?.message]).toEqual([
    500,
    false,
    "no database",
  ]);
  fails = false;
  const client = await connect(URL_OF_IT, { http: { fetch: asFetch(handler) } });
  expect((await client.tools().all()).length).toBe(3);
  await client.close();
});
