// One server with every feature of the protocol. Run it over stdio: node examples/everything/server.mjs
// or over HTTP, where it prints its URL: node examples/everything/server.mjs --http
import { fileURLToPath } from "node:url";
import { serveHttp } from "@secure-local/mcp/http";
import { Server, image, resource } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";
import { registerAskingTools } from "./asking.mjs";
import { registerSqlTool } from "./sql.mjs";
import { PIXEL, registerPlainTools } from "./tools.mjs";
import { registerWorkingTools } from "./working.mjs";

const LANGUAGES = ["python", "pytorch", "pyside", "javascript", "typescript", "rust", "go", "java", "ruby", "perl"];
const NOTES = new Map([
  ["1", "Buy milk"],
  ["2", "Write the transcript before the handler"],
]);

/** Makes the server; tests connect it in memory. */
export function everythingServer(options = {}) {
  const server = new Server({
    name: "everything",
    title: "Everything",
    version: "1.0.0",
    description: "Every feature of the protocol in one server",
    websiteUrl: "https://example.com/",
    icons: [{ src: `data:image/png;base64,${PIXEL}`, mimeType: "image/png", sizes: ["any"] }],
    instructions: "Try the tools: each shows one feature.",
    report: (level, message, details) => process.stderr.write(`[${level}] ${message} ${details?.error ?? ""}\n`),
    ...options,
  });
  registerPlainTools(server);
  registerAskingTools(server);
  registerWorkingTools(server);
  registerSqlTool(server);
  registerResources(server);
  registerPrompts(server);
  server.method("example.org/reverse", ({ text }) => ({ text: [...String(text)].reverse().join("") }));
  return server;
}

function registerResources(server) {
  server.resource("everything://text", {
    name: "text",
    title: "A text",
    description: "A short text",
    mimeType: "text/plain",
    size: 21,
    annotations: { audience: ["user", "assistant"], priority: 0.7, lastModified: "2025-05-03T14:30:00Z" },
    read: () => "Hello from a resource",
  });
  server.resource("everything://blob", {
    name: "blob",
    mimeType: "application/octet-stream",
    read: () => new Uint8Array([0, 1, 2, 255]),
  });
  server.resource("everything://missing", { name: "missing", read: () => undefined });
  server.resourceTemplate("everything://notes/{id}", {
    name: "note",
    title: "A note",
    description: "A note by its number",
    mimeType: "text/plain",
    complete: { id: [...NOTES.keys()] },
    read: (_uri, { id }) => NOTES.get(id),
  });
}

function registerPrompts(server) {
  server.prompt("greeting", { description: "Says hello", run: () => "Say hello." });
  server.prompt("code_review", {
    title: "Code review",
    description: "Asks for a review of some code",
    arguments: {
      code: { description: "The code", required: true },
      language: { description: "Its language", complete: LANGUAGES },
    },
    run: ({ code, language = "some language" }) => [
      { role: "user", content: `Please review this code in ${language}:\n${code}` },
      { role: "assistant", content: "I will look at names first." },
    ],
  });
  server.prompt("illustrated", {
    description: "A prompt with an image and an embedded resource",
    run: () => ({
      description: "Look at these",
      messages: [
        { role: "user", content: image(PIXEL, "image/png") },
        { role: "user", content: resource("everything://text", "Hello from a resource") },
      ],
    }),
  });
}

// Small pages, so that every client shows that it walks them.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = everythingServer({ limits: { pageSize: 5 } });
  if (process.argv[2] === "--http") process.stderr.write(`${(await serveHttp(server)).url}\n`);
  else await serveStdio(server);
}
