// The bench server on tmcp, behind the same adapter to node:http as the others that want web requests.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import { JsonSchemaAdapter } from "tmcp/adapter";
import { z } from "zod";
import { ADD, ECHO, FILLER_TEXTS, fillerDescription, fillerNames } from "../../stdio/servers/tool-set.mjs";
import { listen } from "./serving.mjs";

class ZodAdapter extends JsonSchemaAdapter {
  async toJsonSchema(schema) {
    return z.toJSONSchema(schema);
  }
}

const server = new McpServer(
  { name: "tmcp", version: "1.0.0", description: "The bench server" },
  { adapter: new ZodAdapter(), capabilities: { tools: { listChanged: true } } },
);
const text = (said) => ({ content: [{ type: "text", text: said }] });
server.tool(
  { name: "echo", description: ECHO.description, schema: z.object({ text: z.string() }) },
  async ({ text: given }) => text(given),
);
server.tool(
  { name: "add", description: ADD.description, schema: z.object({ a: z.number(), b: z.number() }) },
  async ({ a, b }) => text(String(a + b)),
);
const schema = z.object({
  query: z.string().min(1).describe(FILLER_TEXTS.query),
  limit: z.number().min(1).max(100).describe(FILLER_TEXTS.limit).optional(),
  fresh: z.boolean().describe(FILLER_TEXTS.fresh).optional(),
});
for (const name of fillerNames()) {
  server.tool({ name, description: fillerDescription(name), schema }, async () => ({ content: [] }));
}
const transport = new HttpTransport(server, { path: "/mcp" });
const handle = async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 });
await listen(createServer(getRequestListener(handle, { overrideGlobalObjects: false })));
