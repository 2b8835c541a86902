// A server on tmcp with all that it has: over stdio, Streamable HTTP, and the older transport.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { HttpTransport } from "@tmcp/transport-http";
import { SseTransport } from "@tmcp/transport-sse";
import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";
import { JsonSchemaAdapter } from "tmcp/adapter";
import { z } from "zod";
import { listening, text } from "./listening.mjs";

class ZodAdapter extends JsonSchemaAdapter {
  async toJsonSchema(schema) {
    return z.toJSONSchema(schema);
  }
}

function newServer() {
  const server = new McpServer(
    { name: "tmcp", version: "1.20.0", description: "A server on tmcp" },
    {
      adapter: new ZodAdapter(),
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
      },
      instructions: "Be brief.",
    },
  );
  plainTools(server);
  workingTools(server);
  askingTools(server);
  offers(server);
  return server;
}

function plainTools(server) {
  const echo = { name: "echo", description: "Says it again", schema: z.object({ text: z.string() }) };
  server.tool(echo, async ({ text: said }) => text(said));
  const add = {
    name: "add",
    description: "Adds",
    schema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
  };
  server.tool(add, async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }));
  server.tool({ name: "fails", description: "Fails" }, async () => ({ ...text("as it always does"), isError: true }));
}

function workingTools(server) {
  server.tool({ name: "count", description: "Counts", schema: z.object({ to: z.number() }) }, async ({ to }) => {
    for (let at = 1; at <= to; at += 1) server.progress(at, to);
    return text("counted");
  });
  server.tool({ name: "talk", description: "Logs" }, async () => {
    server.log("warning", "said");
    return text("talked");
  });
  server.tool({ name: "change", description: "Changes the list" }, async () => {
    server.changed("tools");
    return text("changed");
  });
  server.tool(
    { name: "touch", description: "Changes a resource", schema: z.object({ uri: z.string() }) },
    async ({ uri }) => {
      server.changed("resource", uri);
      return text("touched");
    },
  );
}

function askingTools(server) {
  server.tool({ name: "ask", description: "Asks the person", replayable: true }, async () => {
    const { content } = await server.elicitation("Who are you?", z.object({ name: z.string() }));
    return text(`Hello ${content?.name}`);
  });
  server.tool({ name: "think", description: "Asks the model", replayable: true }, async () => {
    const messages = [{ role: "user", content: { type: "text", text: "Capital of France?" } }];
    const { content } = await server.message({ messages, maxTokens: 10 });
    return text(content.text);
  });
  server.tool({ name: "folders", description: "Asks for folders", replayable: true }, async () => {
    await server.refreshRoots();
    return text(server.roots.map(({ uri }) => uri).join());
  });
}

function offers(server) {
  const note = async (uri) => ({ contents: [{ uri, mimeType: "text/plain", text: `Note at ${uri}` }] });
  server.resource({ name: "text", description: "A text", uri: "test://text" }, note);
  const ids = (typed) => ({ completion: { values: ["1", "12", "2"].filter((id) => id.startsWith(typed)) } });
  server.template({ name: "notes", description: "Notes", uri: "test://notes/{id}", complete: { id: ids } }, note);
  const review = {
    name: "review",
    description: "Asks for a review",
    schema: z.object({ code: z.string(), language: z.string() }),
    complete: {
      language: (typed) => ({ completion: { values: ["python", "pascal"].filter((name) => name.startsWith(typed)) } }),
    },
  };
  server.prompt(review, async ({ code }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Review ${code}` } }],
  }));
}

/** `http` or `sse`. */
export async function listen(mode) {
  const transport =
    mode === "sse" ? new SseTransport(newServer(), { path: "/sse" }) : new HttpTransport(newServer(), { path: "/mcp" });
  const handle = async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 });
  const { origin, close } = await listening(createServer(getRequestListener(handle, { overrideGlobalObjects: false })));
  return { url: `${origin}${mode === "sse" ? "/sse" : "/mcp"}`, close };
}

if (process.argv[1] === import.meta.filename) new StdioTransport(newServer()).listen();
