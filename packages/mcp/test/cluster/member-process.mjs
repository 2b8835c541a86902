// One process of a server that shares over Redis: its address on the first line, what its tools did on the others.
import { appendFileSync } from "node:fs";
import { shareOver } from "@secure-local/mcp/cluster";
import { redisStores } from "@secure-local/mcp/redis";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";

const [url, prefix, node, key, effects] = process.argv.slice(2);
// A clock of its own, so many milliseconds off.
const clock = Date.now;
Date.now = () => clock() + Number(process.env.CLOCK_MS ?? 0);
const server = new Server({ name: "member", version: "1.0.0", report: false });
const did = (what) => appendFileSync(effects, `${what}\n`);
const id = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };

server.tool("echo", { input: { type: "object", properties: { text: { type: "string" } } }, run: ({ text }) => text });
server.tool("node", { run: () => node });
server.tool("once", {
  input: id,
  run: ({ id: which }) => {
    did(which);
    return which;
  },
});
server.tool("ask", {
  input: id,
  async run({ id: which }, ctx) {
    const { action } = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    did(which);
    return action;
  },
});
server.tool("ask-again", {
  input: id,
  replay: true,
  async run({ id: which }, ctx) {
    const { action } = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    did(which);
    return action;
  },
});
server.tool("long", { run: () => "é🙂".repeat(700_000) });
server.tool("hang", {
  input: id,
  run: ({ id: which }) => {
    did(which);
    return new Promise(() => undefined);
  },
});
server.tool("job", {
  task: "optional",
  run: (_, ctx) =>
    new Promise((resolve, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("cancelled")))),
});
server.tool("tell", {
  // So many events, each once the one before it is sent; or all at once.
  input: {
    type: "object",
    properties: {
      id: { type: "string" },
      count: { type: "integer" },
      then: { enum: ["end", "hang"] },
      at: { enum: ["once"] },
    },
    required: ["id", "count", "then"],
  },
  async run({ id: which, count, then, at }, ctx) {
    did(which);
    for (let n = 1; n <= count; n++) {
      const sent = ctx.log("info", `${which} ${n}`);
      if (at !== "once") await sent;
    }
    return then === "end" ? "told" : new Promise(() => undefined);
  },
});
server.tool("tell-on-change", {
  input: id,
  async run({ id: which }, ctx) {
    await ctx.log("info", "begun");
    await new Promise((resolve) => process.once("message", resolve));
    return which;
  },
});
server.resource("test://a", { name: "a", read: () => "A" });

const stores = redisStores(url, { key, prefix });
// The way others reach it by, where that is another than its own.
if (process.env.RELAY_VIA) {
  const beat = stores.beat.bind(stores);
  stores.beat = (name, address) => {
    process.send({ relay: Number(new URL(address).port) });
    return beat(name, `tcp://127.0.0.1:${process.env.RELAY_VIA}`);
  };
}
const serving = await serveHttp(server, {
  sse: true,
  authenticate: (head) => head.header("x-who") ?? "nobody",
  rate: process.env.RATE ? JSON.parse(process.env.RATE) : undefined,
  sessions: process.env.SESSIONS ? JSON.parse(process.env.SESSIONS) : true,
  share: shareOver(stores, { key, node }),
});
console.log(new URL(serving.url).port);
process.on("message", (message) => message === "changed" && server.resourceUpdated("test://a"));
