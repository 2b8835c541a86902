// `toNodeHandler`: the endpoint inside other people's Node servers, with and without a body parser before it.
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server as NetServer } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { connect } from "@secure-local/mcp/client/node";
import { type NodeHandler, type NodeHandlerOptions, type NodeRequest, toNodeHandler } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function notes(): Server {
  const server = new Server({ name: "notes", version: "1.0.0" });
  server.tool("who", {
    run: (_, ctx) => `${ctx.principal ?? "nobody"} ${ctx.identity?.scopes.join(" ") ?? ""}`.trim(),
  });
  server.tool("count", {
    run: async (_, ctx) => {
      for (let step = 1; step <= 3; step++) await ctx.progress(step, 3);
      return "counted";
    },
  });
  server.tool("ask", {
    run: async (_, ctx) => {
      const answer = await ctx.elicit({ message: "Name?", schema: { name: { type: "string" } } });
      return answer.action === "accept" ? answer.content.name : answer.action;
    },
  });
  return server;
}

async function listening(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

type Frame = (handler: NodeHandler, request: NodeRequest, response: ServerResponse) => unknown;

/** A Node server around the handler. */
async function served(frame: Frame, options?: NodeHandlerOptions): Promise<string> {
  const handler = toNodeHandler(notes(), options);
  const server = createHttpServer((request, response) => void frame(handler, request, response));
  const port = await listening(server);
  closing.push(() => handler.close());
  return `http://127.0.0.1:${port}`;
}

const bare: Frame = (handler, request, response) => handler(request, response);

/** What `express.json()` does: the stream is read to its end, and its value stands in `request.body`. */
const parsed: Frame = async (handler, request, response) => {
  const body = await text(request);
  return handler(Object.assign(request, { body: body === "" ? undefined : (JSON.parse(body) as unknown) }), response);
};

/** What Koa and Fastify do: the value is elsewhere and is handed over. */
const handedOver: Frame = async (handler, request, response) => {
  const body = await text(request);
  return handler(request, response, body === "" ? undefined : JSON.parse(body));
};

describe.each([
  ["a bare request", bare],
  ["a body parser before it", parsed],
  ["a parsed body handed over", handedOver],
])("%s", (_, frame) => {
  it.each(["2025-06-18", "2025-11-25", "2026-07-28"])(
    "serves a call, progress and a question in %s",
    async (revision) => {
      const url = await served(frame);
      const elicit = (): { action: "accept"; content: { name: string } } => ({
        action: "accept",
        content: { name: "Ada" },
      });
      const client = await connect(`${url}/mcp`, { revision, elicit });
      closing.push(() => client.close());
      const seen: number[] = [];
      await client.call("count", {}, { onProgress: ({ progress }) => void seen.push(progress) });
      expect(seen.at(-1)).toBe(3);
      expect((await client.call("ask")).content).toEqual([{ type: "text", text: "Ada" }]);
    },
  );
});

it("says in the reply what is wrong when a parser took the body and left nothing", async () => {
  const url = await served(async (handler, request, response) => {
    await text(request);
    return handler(request, response);
  });
  const reply = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(reply.status).toBe(500);
  expect(await reply.text()).toContain("A body parser took the body before the MCP handler");
});

it("finds its path below a prefix and a mount path, and leaves other paths to the framework", async () => {
  const mounted = (url: string, handler: NodeHandler, request: NodeRequest, response: ServerResponse): unknown => {
    const originalUrl = request.url ?? "";
    return handler(Object.assign(request, { originalUrl, url }), response, () => response.writeHead(418).end());
  };
  const post = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  };
  const under = await served((handler, request, response) => mounted("/", handler, request, response));
  expect((await fetch(`${under}/mcp`, post)).status).toBe(200);
  expect((await fetch(`${under}/other`, post)).status).toBe(418);
  const prefixed = await served(bare, { pathPrefix: "/api" });
  expect((await fetch(`${prefixed}/api/mcp`, post)).status).toBe(200);
  expect((await fetch(`${prefixed}/apimcp`, post)).status).toBe(404);
  expect(() => toNodeHandler(notes(), { pathPrefix: "api/" })).toThrow('pathPrefix "api/" is no path');
});

it("lets in whom the framework knows and answers 401 for nobody", async () => {
  const users: Readonly<Record<string, { readonly principal: string; readonly scopes: readonly string[] }>> = {
    "Bearer a": { principal: "ada", scopes: ["read", "write"] },
  };
  const url = await served(bare, { identity: ({ headers }) => users[headers.authorization ?? ""] });
  const client = await connect(`${url}/mcp`, { http: { headers: { authorization: "Bearer a" } } });
  closing.push(() => client.close());
  expect((await client.call("who")).content).toEqual([{ type: "text", text: "ada read write" }]);
  const reply = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect([reply.status, await reply.text()]).toEqual([401, expect.stringContaining("Nobody is signed in")]);
  expect(() => toNodeHandler(notes(), { identity: () => "x", authenticate: () => "y" })).toThrow(
    "only one can say who is asking",
  );
});

it("serves HTTP/2", async () => {
  const handler = toNodeHandler(notes());
  const port = await listening(createHttp2Server((request, response) => void handler(request, response)));
  closing.push(() => handler.close());
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  closing.push(async () => session.close());
  const stream = session.request({
    ":method": "POST",
    ":path": "/mcp",
    "content-type": "application/json",
    accept: "application/json",
  });
  stream.end('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  const [status, body] = await Promise.all([
    new Promise((resolve) => stream.on("response", (headers) => resolve(headers[":status"]))),
    text(stream),
  ]);
  expect([status, JSON.parse(body)]).toEqual([200, { jsonrpc: "2.0", id: 1, result: {} }]);
});
