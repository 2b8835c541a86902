// A server on the official SDK's second generation with all that it has: over stdio, in sessions, and request by request.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import {
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  McpServer,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { listening, text } from "./listening.mjs";

const NAME = z.object({ name: z.string() });
const NOTHING = z.object({});

/** `revisions`: the only ones it admits to. `news`: who else tells of changes, where servers live for one request. */
function newServer({ revisions, news } = {}) {
  const server = new McpServer(
    { name: "sdk-v2", version: "2.4.0" },
    {
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
      instructions: "Be brief.",
      ...(revisions === undefined ? {} : { supportedProtocolVersions: revisions }),
    },
  );
  plainTools(server);
  workingTools(server, news);
  askingTools(server);
  offers(server);
  return server;
}

function plainTools(server) {
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text: said }) => text(said));
  const sum = { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) };
  server.registerTool("add", sum, ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }));
  server.registerTool("fails", { inputSchema: NOTHING }, () => {
    throw new Error("as it always does");
  });
}

function workingTools(server, news) {
  server.registerTool("count", { inputSchema: z.object({ to: z.number() }) }, async ({ to }, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    for (let progress = 1; progress <= to; progress += 1) {
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: to } });
    }
    return text("counted");
  });
  server.registerTool("talk", { inputSchema: NOTHING }, async (_given, { mcpReq }) => {
    await mcpReq.log("warning", "said");
    return text("talked");
  });
  server.registerTool("wait", { inputSchema: NOTHING }, (_given, { mcpReq }) => {
    return new Promise((resolve) => mcpReq.signal.addEventListener("abort", () => resolve(text("aborted"))));
  });
  server.registerTool("change", { inputSchema: NOTHING }, () => {
    if (news === undefined) server.sendToolListChanged();
    else news().toolsChanged();
    return text("changed");
  });
  server.registerTool("touch", { inputSchema: z.object({ uri: z.string() }) }, async ({ uri }) => {
    if (news === undefined) await server.server.sendResourceUpdated({ uri });
    else news().resourceUpdated(uri);
    return text("touched");
  });
}

function askingTools(server) {
  server.registerTool("ask", { inputSchema: NOTHING }, (_given, { mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "who", NAME);
    if (answer !== undefined) return text(`Hello ${answer.name}`);
    const who = inputRequired.elicit({ message: "Who are you?", requestedSchema: NAME });
    return inputRequired({ inputRequests: { who } });
  });
  server.registerTool("think", { inputSchema: NOTHING }, (_given, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.thought;
    if (answer !== undefined) return text(answer.content.text);
    const messages = [{ role: "user", content: { type: "text", text: "Capital of France?" } }];
    return inputRequired({ inputRequests: { thought: inputRequired.createMessage({ messages, maxTokens: 10 }) } });
  });
  server.registerTool("folders", { inputSchema: NOTHING }, (_given, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.folders;
    if (answer !== undefined) return text(answer.roots.map(({ uri }) => uri).join());
    return inputRequired({ inputRequests: { folders: inputRequired.listRoots() } });
  });
}

function offers(server) {
  const note = (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `Note at ${uri.href}` }] });
  server.registerResource("text", "test://text", { mimeType: "text/plain" }, note);
  const complete = { id: (typed) => ["1", "12", "2"].filter((id) => id.startsWith(typed)) };
  server.registerResource("notes", new ResourceTemplate("test://notes/{id}", { list: undefined, complete }), {}, note);
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
  const language = completable(z.string(), (typed) => ["python", "pascal"].filter((name) => name.startsWith(typed)));
  const argsSchema = z.object({ code: z.string(), language });
  server.registerPrompt("review", { argsSchema }, ({ code }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Review ${code}` } }],
  }));
}

/** Sessions by Streamable HTTP (streams, or JSON), or no sessions in either era. */
export async function listen(mode, revisions) {
  const handle = mode === "http-alone" ? alone(revisions) : inSession(mode === "http-json", revisions);
  const { origin, close } = await listening(
    createServer(getRequestListener((request) => handle(request), { overrideGlobalObjects: false })),
  );
  return { url: `${origin}/mcp`, close };
}

function alone(revisions) {
  const handler = createMcpHandler(() => newServer({ revisions, news: () => handler.notify }), {
    legacy: revisions === undefined ? "stateless" : "reject",
  });
  return handler.fetch;
}

function inSession(enableJsonResponse, revisions) {
  const transports = new Map();
  return async (request) => {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) return transports.get(id)?.handleRequest(request) ?? new Response(null, { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse,
      onsessioninitialized: (opened) => transports.set(opened, transport),
    });
    await newServer({ revisions }).connect(transport);
    return transport.handleRequest(request);
  };
}

if (process.argv[1] === import.meta.filename) serveStdio(() => newServer());
