// A worker: one object with a fetch handler, made of nothing but what the web platform has.
import { toFetch } from "@secure-local/mcp/fetch";
import { Server } from "@secure-local/mcp/server";

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

// Workers share no memory, so nothing is kept from one request to the next.
export default { fetch: toFetch(server, { sessions: false }) };
