// The bench server on the library alone.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";
import { ADD, ECHO, FILLER_SCHEMA, fillerDescription, fillerNames } from "./tool-set.mjs";

const server = new Server({ name: "ours", version: "1.0.0" });
server.tool("echo", { description: ECHO.description, input: ECHO.inputSchema, run: ({ text }) => text });
server.tool("add", { description: ADD.description, input: ADD.inputSchema, run: ({ a, b }) => String(a + b) });
for (const name of fillerNames()) {
  server.tool(name, { description: fillerDescription(name), input: FILLER_SCHEMA, run: () => undefined });
}
await serveStdio(server);
