// A proxy as one writes it on the official SDK: its client to one HTTP server, its server in front, tools listed and called.
// node sdk-proxy.mjs v1|v2 URL: v1 serves sessions of 2025-11-25 over a server of that revision, v2 the newest revision.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import * as modern from "@modelcontextprotocol/client";
import { createMcpHandler, Server as ModernServer } from "@modelcontextprotocol/server";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const NAMED = { name: "sdk-proxy", version: "1.0.0" };
const SERVING = { capabilities: { tools: {} } };
const [version, url] = process.argv.slice(2);

async function inSessions() {
  const client = new Client(NAMED);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const sessions = new Map();
  const opened = async () => {
    const server = new Server(NAMED, SERVING);
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => client.listTools(params));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => client.callTool(params));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await server.connect(transport);
    return transport;
  };
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const transport = id === undefined ? await opened() : sessions.get(id);
    if (transport === undefined) return void response.writeHead(404).end();
    await transport.handleRequest(request, response);
  };
}

async function withoutSessions() {
  const client = new modern.Client(NAMED, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(new modern.StreamableHTTPClientTransport(new URL(url)));
  const served = () => {
    const server = new ModernServer(NAMED, SERVING);
    server.setRequestHandler("tools/list", ({ params }) => client.listTools(params));
    server.setRequestHandler("tools/call", ({ params: { name, arguments: given } }) =>
      client.callTool({ name, arguments: given }),
    );
    return server;
  };
  const handler = createMcpHandler(served);
  return getRequestListener((request) => handler.fetch(request), { overrideGlobalObjects: false });
}

const listener = createServer(await (version === "v1" ? inSessions() : withoutSessions()));
listener.keepAliveTimeout = 60_000;
listener.listen(0, "127.0.0.1", () =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${listener.address().port}/mcp` })}\n`),
);
