// A server on fastmcp with all that it has. Run it where fastmcp is installed: it needs a newer Node than this library.
import { FastMCP } from "fastmcp";
import { z } from "zod";

const server = new FastMCP({ name: "fastmcp", version: "1.0.0", instructions: "Be brief." });
const nothing = z.object({});
const starting = (...words) => ({
  complete: async (typed) => ({ values: words.filter((word) => word.startsWith(typed)) }),
});

server.addTool({ name: "echo", parameters: z.object({ text: z.string() }), execute: async ({ text }) => text });
server.addTool({
  name: "add",
  parameters: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  execute: async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
    structuredContent: { sum: a + b },
  }),
});
server.addTool({
  name: "fails",
  parameters: nothing,
  execute: async () => {
    throw new Error("as it always does");
  },
});
server.addTool({
  name: "count",
  parameters: z.object({ to: z.number() }),
  async execute({ to }, { reportProgress }) {
    for (let progress = 1; progress <= to; progress += 1) await reportProgress({ progress, total: to });
    return "counted";
  },
});
server.addResource({
  uri: "test://text",
  name: "text",
  mimeType: "text/plain",
  load: async () => ({ text: "Note at test://text" }),
});
server.addResourceTemplate({
  uriTemplate: "test://notes/{id}",
  name: "notes",
  mimeType: "text/plain",
  arguments: [{ name: "id", ...starting("1", "12", "2") }],
  load: async ({ id }) => ({ text: `Note at test://notes/${id}` }),
});
server.addPrompt({
  name: "review",
  arguments: [
    { name: "code", required: true },
    { name: "language", ...starting("python", "pascal") },
  ],
  load: async ({ code }) => `Review ${code}`,
});

const mode = process.argv[2];
const httpStream = { port: 0, host: "127.0.0.1", stateless: mode === "alone" };
await server.start(mode === "stdio" ? { transportType: "stdio" } : { transportType: "httpStream", httpStream });
