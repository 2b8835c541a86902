// A Hono app with MCP as one of its routes.
import { toFetch } from "@secure-local/mcp/fetch";
import { Server } from "@secure-local/mcp/server";
import { Hono } from "hono";

const server = new Server({ name: "counter", version: "1.0.0" });
server.tool("count", {
  description: "Counts from 1 to a number of at most 10",
  input: {
    type: "object",
    properties: { to: { type: "integer", minimum: 1, maximum: 10 } },
    required: ["to"],
  },
  async run({ to }, ctx) {
    for (let at = 1; at <= to; at++) await ctx.progress(at, to);
    return `Counted to ${to}`;
  },
});

export const mcp = toFetch(server);
export const app = new Hono();
app.get("/", (c) => c.text("MCP is at /mcp"));
app.all("/mcp", (c) => mcp(c.req.raw));
