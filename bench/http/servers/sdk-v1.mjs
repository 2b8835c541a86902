// The bench server on the official SDK v1, wired as its examples for sessions and for stateless serving are.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { registerTools } from "../../stdio/servers/sdk-tools.mjs";
import { listen, mode } from "./serving.mjs";

const transports = new Map();
/** The most its express application reads, which cannot be changed; what is longer goes to the transport as it is. */
const EXPRESS_BYTES = 100_000;
const serve = mode === "alone" ? alone : inSession;
const app = createMcpExpressApp();
app.post("/mcp", serve);
await listen(
  createServer((request, response) =>
    Number(request.headers["content-length"]) < EXPRESS_BYTES ? app(request, response) : serve(request, response),
  ),
);

async function inSession(request, response) {
  const id = request.headers["mcp-session-id"];
  if (id === undefined) {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: mode === "json",
      onsessioninitialized: (opened) => transports.set(opened, transport),
    });
    await newServer().connect(transport);
    return transport.handleRequest(request, response, request.body);
  }
  const transport = transports.get(id);
  if (transport === undefined) return response.status(404).end();
  return transport.handleRequest(request, response, request.body);
}

async function alone(request, response) {
  const server = newServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  response.on("close", () => {
    void transport.close();
    void server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
}

function newServer() {
  const server = new McpServer({ name: "sdk-v1", version: "1.0.0" });
  registerTools(server, (shape) => shape);
  return server;
}
