// The bench server on mcp-lite, behind the adapter to node:http that its documentation's framework brings.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import { ADD, ECHO, FILLER_SCHEMA, fillerDescription, fillerNames } from "../../stdio/servers/tool-set.mjs";
import { z } from "zod";
import { listen, mode } from "./serving.mjs";

const server = new McpServer({ name: "mcp-lite", version: "1.0.0", schemaAdapter: (schema) => z.toJSONSchema(schema) });
server.tool("echo", {
  description: ECHO.description,
  inputSchema: z.object({ text: z.string() }),
  handler: ({ text }) => ({ content: [{ type: "text", text }] }),
});
server.tool("add", {
  description: ADD.description,
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  handler: ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
});
for (const name of fillerNames()) {
  const description = fillerDescription(name);
  server.tool(name, { description, inputSchema: FILLER_SCHEMA, handler: () => ({ content: [] }) });
}
/** Events kept for one session: what its documentation shows. */
const EVENTS = 1_024;
const sessionAdapter = mode === "alone" ? undefined : new InMemorySessionAdapter({ maxEventBufferSize: EVENTS });
const handle = new StreamableHttpTransport({ sessionAdapter }).bind(server);
await listen(createServer(getRequestListener((request) => handle(request), { overrideGlobalObjects: false })));
