// The server whose walk is measured: one tool that asks nothing.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const server = new Server({ name: "walk", version: "1.0.0" });
server.tool("greet", {
  description: "Greet someone by name",
  input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  run: ({ name }) => `Hello, ${name}!`,
});
await serveStdio(server);
