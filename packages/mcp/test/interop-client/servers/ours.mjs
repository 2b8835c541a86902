// A server on this library with all features of these tests: as a program over stdio, or to connect to in memory.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const TEXT = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const URI = { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] };

/** @param {Partial<import("@secure-local/mcp/server").ServerOptions>} options */
export function newServer(options = {}) {
  const server = new Server({ name: "ours", version: "1.0.0", instructions: "Be brief.", ...options });
  plainTools(server);
  workingTools(server);
  askingTools(server);
  offers(server);
  return server;
}

function plainTools(server) {
  server.tool("echo", { input: TEXT, run: ({ text }) => text });
  const number = { type: "number" };
  server.tool("add", {
    input: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
    output: { type: "object", properties: { sum: number }, required: ["sum"] },
    run: ({ a, b }) => ({ sum: a + b }),
  });
  server.tool("fails", { run: (_given, context) => context.fail("as it always does") });
}

function workingTools(server) {
  server.tool("count", {
    input: { type: "object", properties: { to: { type: "integer" } }, required: ["to"] },
    async run({ to }, context) {
      for (let at = 1; at <= to; at += 1) await context.progress(at, to);
      return "counted";
    },
  });
  server.tool("talk", {
    async run(_given, context) {
      await context.log("warning", "said");
      return "talked";
    },
  });
  server.tool("wait", {
    run: (_given, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted"))),
  });
  let changes = 0;
  server.tool("change", {
    run() {
      server.tool(`late-${(changes += 1)}`, { run: () => "late" });
      return "changed";
    },
  });
  server.tool("touch", {
    input: URI,
    run({ uri }) {
      server.resourceUpdated(uri);
      return "touched";
    },
  });
}

function askingTools(server) {
  server.tool("ask", {
    async run(_given, context) {
      const { content } = await context.elicit({ message: "Who are you?", schema: { name: { type: "string" } } });
      return `Hello ${content?.name}`;
    },
  });
  server.tool("think", {
    async run(_given, context) {
      const messages = [{ role: "user", content: { type: "text", text: "Capital of France?" } }];
      const { content } = await context.sample({ messages, maxTokens: 10 });
      return [content].flat()[0].text;
    },
  });
  server.tool("folders", {
    run: async (_given, context) => (await context.roots()).map(({ uri }) => uri).join(),
  });
}

function offers(server) {
  server.resource("test://text", { name: "text", mimeType: "text/plain", read: () => "Note at test://text" });
  server.resourceTemplate("test://notes/{id}", {
    name: "notes",
    complete: { id: ["1", "12", "2"] },
    read: (uri) => `Note at ${uri}`,
  });
  server.prompt("review", {
    arguments: { code: { required: true }, language: { complete: ["python", "pascal"] } },
    run: ({ code }) => `Review ${code}`,
  });
}

if (process.argv[1] === import.meta.filename) await serveStdio(newServer());
