// A server on mcp-lite with all that it has: Streamable HTTP with sessions and without.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { InMemoryClientRequestAdapter, InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import { z } from "zod";
import { listening, text } from "./listening.mjs";

/** Without what zod adds to it, by which the library would take it for no JSON Schema. */
function plainSchema(schema) {
  return JSON.parse(JSON.stringify(z.toJSONSchema(schema)));
}

function newServer() {
  const server = new McpServer({
    name: "mcp-lite",
    version: "0.10.0",
    schemaAdapter: plainSchema,
  });
  server.tool("echo", { inputSchema: z.object({ text: z.string() }), handler: ({ text: said }) => text(said) });
  server.tool("add", {
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    handler: ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  });
  server.tool("fails", { handler: () => ({ ...text("as it always does"), isError: true }) });
  server.tool("count", {
    inputSchema: z.object({ to: z.number() }),
    handler: async ({ to }, context) => {
      for (let progress = 1; progress <= to; progress += 1) await context.progress?.({ progress, total: to });
      return text("counted");
    },
  });
  askingTools(server);
  offers(server);
  return server;
}

function askingTools(server) {
  server.tool("ask", {
    handler: async (_given, context) => {
      const { content } = await context.elicit({ message: "Who are you?", schema: z.object({ name: z.string() }) });
      return text(`Hello ${content?.name}`);
    },
  });
  server.tool("think", {
    handler: async (_given, context) => {
      const { content } = await context.sample({ prompt: "Capital of France?", maxTokens: 10 });
      return text(content.text);
    },
  });
}

function offers(server) {
  const note = (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `Note at ${uri.href}` }] });
  server.resource("test://text", { name: "text", mimeType: "text/plain" }, note);
  server.resource("test://notes/{id}", { name: "notes" }, note);
  server.prompt("review", {
    arguments: z.object({ code: z.string(), language: z.string() }),
    handler: ({ code }) => ({ messages: [{ role: "user", content: { type: "text", text: `Review ${code}` } }] }),
  });
}

/** `http` or `http-alone`. */
export async function listen(mode) {
  const sessions = {
    sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1_024 }),
    clientRequestAdapter: new InMemoryClientRequestAdapter({ defaultTimeoutMs: 10_000 }),
  };
  const handle = new StreamableHttpTransport(mode === "http" ? sessions : {}).bind(newServer());
  const listener = getRequestListener((request) => handle(request), { overrideGlobalObjects: false });
  const { origin, close } = await listening(createServer(listener));
  return { url: `${origin}/mcp`, close };
}
