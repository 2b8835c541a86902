// One of many processes: node server.mjs PORT. Where Redis is and the key they share come from the environment.
import { serveHttp } from "@secure-local/mcp/http";
import { redisCluster } from "@secure-local/mcp/redis";
import { Server } from "@secure-local/mcp/server";

const { REDIS_URL = "redis://127.0.0.1:6379", MCP_KEY, MCP_PREFIX, MCP_ADDRESS, MCP_HOSTS = "" } = process.env;
const port = Number(process.argv[2] ?? 3001);

const server = new Server({ name: "many", version: "1.0.0" });
server.tool("where", { description: "Says which process answers", run: () => `process ${process.pid}` });
server.tool("length", {
  description: "Counts the characters of a text",
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  run: ({ text }) => String(text.length),
});
server.tool("confirm", {
  description: "Asks, and says what was answered",
  async run(_, ctx) {
    const { action } = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    return `${action}, says process ${process.pid}`;
  },
});
server.resource("many://news", { name: "news", read: () => `from process ${process.pid}` });

const address = MCP_ADDRESS === undefined ? {} : { address: MCP_ADDRESS };
const prefix = MCP_PREFIX === undefined ? {} : { prefix: MCP_PREFIX };
try {
  const serving = await serveHttp(server, {
    port,
    sse: true,
    ...(MCP_HOSTS === "" ? {} : { allowedHosts: MCP_HOSTS.split(",") }),
    ...(MCP_ADDRESS === undefined ? {} : { host: "0.0.0.0" }),
    share: redisCluster(REDIS_URL, { key: MCP_KEY ?? [], ...address, ...prefix }),
  });
  console.log(serving.url);
} catch (error) {
  // What is wrong with Redis, the options or the port is one sentence; what is not known is shown whole.
  console.error(typeof error.code === "string" ? error.message : error);
  process.exitCode = 2;
}
