// One process of the bench `scale`: `node member.mjs REDIS PREFIX NODE KEY`; without Redis it serves alone.
import { redisCluster } from "@secure-local/mcp/redis";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";

const [redis, prefix, node, key, limited] = process.argv.slice(2);
let effects = 0;
const server = new Server({ name: "bench", version: "1.0.0", report: false });
server.tool("echo", {
  input: { type: "object", properties: { text: { type: "string" } } },
  run: ({ text }) => {
    effects++;
    return text;
  },
});
server.tool("ask", {
  async run(_, ctx) {
    const { action } = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    effects++;
    return action;
  },
});
server.tool("count", {
  async run(_, ctx) {
    for (let n = 1; n <= 5; n++) await ctx.progress(n, 5);
    effects++;
    return "counted";
  },
});
const share = redis === "" ? {} : { share: redisCluster(redis, { key, prefix, node }) };
const rate = limited === "limited" ? { rate: { perSecond: 1_000_000, burst: 1_000_000 } } : {};
const serving = await serveHttp(server, { ...share, ...rate });
process.send({ port: Number(new URL(serving.url).port) });
process.on("message", () => process.send({ cpu: process.cpuUsage(), effects, memory: process.memoryUsage().rss }));
