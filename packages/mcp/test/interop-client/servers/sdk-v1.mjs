// A server on the official SDK's first generation with all that it has: as a program over stdio, or listening in every mode.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { listening, text } from "./listening.mjs";

function newServer() {
  const server = new McpServer(
    { name: "sdk-v1", version: "1.32.2" },
    { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } }, instructions: "Be brief." },
  );
  plainTools(server);
  askingTools(server);
  offers(server);
  return server;
}

function plainTools(server) {
  server.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text: said }) => text(said));
  const sum = { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } };
  server.registerTool("add", sum, ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }));
  server.registerTool("fails", {}, () => {
    throw new Error("as it always does");
  });
  server.registerTool("count", { inputSchema: { to: z.number() } }, async ({ to }, { _meta, sendNotification }) => {
    const { progressToken } = _meta ?? {};
    for (let progress = 1; progress <= to; progress += 1) {
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: to } });
    }
    return text("counted");
  });
  server.registerTool("talk", {}, async ({ sendNotification }) => {
    await sendNotification({ method: "notifications/message", params: { level: "warning", data: "said" } });
    return text("talked");
  });
  server.registerTool("wait", {}, ({ signal }) => aborted(signal));
  server.registerTool("change", {}, () => {
    server.registerTool(`late-${randomUUID()}`, {}, () => text("late"));
    return text("changed");
  });
  server.registerTool("touch", { inputSchema: { uri: z.string() } }, async ({ uri }) => {
    await server.server.sendResourceUpdated({ uri });
    return text("touched");
  });
}

function aborted(signal) {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(text("aborted"))));
}

function askingTools(server) {
  const inner = server.server;
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  server.registerTool("ask", {}, async () => {
    const { content } = await inner.elicitInput({ message: "Who are you?", requestedSchema });
    return text(`Hello ${content?.name}`);
  });
  server.registerTool("think", {}, async () => {
    const messages = [{ role: "user", content: { type: "text", text: "Capital of France?" } }];
    const { content } = await inner.createMessage({ messages, maxTokens: 10 });
    return text(content.text);
  });
  server.registerTool("folders", {}, async () => text((await inner.listRoots()).roots.map(({ uri }) => uri).join()));
}

function offers(server) {
  const note = (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `Note at ${uri.href}` }] });
  server.registerResource("text", "test://text", { mimeType: "text/plain" }, note);
  const complete = { id: (typed) => ["1", "12", "2"].filter((id) => id.startsWith(typed)) };
  server.registerResource("notes", new ResourceTemplate("test://notes/{id}", { list: undefined, complete }), {}, note);
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  const language = completable(z.string(), (typed) => ["python", "pascal"].filter((name) => name.startsWith(typed)));
  server.registerPrompt("review", { argsSchema: { code: z.string(), language } }, ({ code }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Review ${code}` } }],
  }));
}

/** Sessions by Streamable HTTP (streams, or JSON), no sessions, and the older transport. */
export async function listen(mode) {
  const transports = new Map();
  const handlers = {
    http: inSession(transports, false),
    "http-json": inSession(transports, true),
    "http-alone": alone,
  };
  const handler = mode === "sse" ? oldWay(transports) : handlers[mode];
  const open = await listening(createServer((request, response) => void handler(request, response)));
  return { ...open, url: `${open.origin}${mode === "sse" ? "/sse" : "/mcp"}` };
}

function inSession(transports, enableJsonResponse) {
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    if (id !== undefined) {
      const known = transports.get(id);
      return known === undefined ? response.writeHead(404).end() : known.handleRequest(request, response);
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse,
      onsessioninitialized: (opened) => transports.set(opened, transport),
    });
    await newServer().connect(transport);
    return transport.handleRequest(request, response);
  };
}

async function alone(request, response) {
  if (request.method !== "POST") return response.writeHead(405).end();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await newServer().connect(transport);
  return transport.handleRequest(request, response);
}

function oldWay(transports) {
  return async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (request.method === "GET" && url.pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      return newServer().connect(transport);
    }
    const known = transports.get(url.searchParams.get("sessionId"));
    if (request.method !== "POST" || known === undefined) return response.writeHead(404).end();
    return known.handlePostMessage(request, response);
  };
}

if (process.argv[1] === import.meta.filename) await newServer().connect(new StdioServerTransport());
