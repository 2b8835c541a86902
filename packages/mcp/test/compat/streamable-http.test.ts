// The usual HTTP server of SDK v1, one transport a session, with its imports from `/compat`.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { isInitializeRequest, McpServer } from "@secure-local/mcp/compat";
import { StreamableHTTPServerTransport } from "@secure-local/mcp/compat/http";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test("a transport is one session, which its id leads to and a DELETE ends", async () => {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const closed: string[] = [];
  const opened = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void transports.set(id, transport),
      onsessionclosed: (id) => void closed.push(id),
    });
    const server = new McpServer({ name: "sessions", version: "1" });
    server.tool("session", (extra) => ({ content: [{ type: "text", text: String(extra.sessionId) }] }));
    await server.connect(transport);
    return transport;
  };
  const server = createServer((request, response) => {
    void (async () => {
      const body = request.method === "POST" ? await json(request) : undefined;
      const known = transports.get(String(request.headers["mcp-session-id"]));
      const transport = known ?? (isInitializeRequest(body) ? await opened() : undefined);
      if (transport === undefined) response.writeHead(404).end();
      else await transport.handleRequest(request, response, body);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/anything`);
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) {
    const transport = new StreamableHTTPClientTransport(url);
    const client = new Client({ name: "official", version: "1" });
    await client.connect(transport);
    const { content } = await client.callTool({ name: "session" });
    expect(content).toEqual([{ type: "text", text: transport.sessionId }]);
    ids.push(String(transport.sessionId));
    await transport.terminateSession();
    await client.close();
  }
  expect(new Set(ids).size).toBe(2);
  expect(closed).toEqual(ids);
});
