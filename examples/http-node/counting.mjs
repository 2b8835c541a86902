// What is served: one tool, which reports progress to those who ask for it.
import { Server } from "@secure-local/mcp/server";

export function countingServer() {
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
  return server;
}
