// The bench server on the official SDK v2: its handler for the newest revision and for stateless serving, its transport for
// sessions, each behind the adapter to node:http that the SDK's own package for Node uses.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { z } from "zod";
import { registerTools } from "../../stdio/servers/sdk-tools.mjs";
import { listen, mode } from "./serving.mjs";

const transports = new Map();
const handle = mode === "json" || mode === "sse" ? inSession : createMcpHandler(newServer).fetch;
await listen(createServer(getRequestListener((request) => handle(request), { overrideGlobalObjects: false })));

async function inSession(request) {
  const id = request.headers.get("mcp-session-id");
  if (id !== null) return transports.get(id)?.handleRequest(request) ?? new Response(null, { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: mode === "json",
    onsessioninitialized: (opened) => transports.set(opened, transport),
  });
  await newServer().connect(transport);
  return transport.handleRequest(request);
}

function newServer() {
  const server = new McpServer({ name: "sdk-v2", version: "1.0.0" }, { capabilities: { tools: {} } });
  registerTools(server, (shape) => z.object(shape));
  return server;
}
