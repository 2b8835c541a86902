// The server of the load tests, on the library's public interface alone: tools that wait, stream and flood.
import { subscribe } from "node:diagnostics_channel";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { listening } from "../http/servers/serving.mjs";

const sockets = new Set();
subscribe("net.server.socket", ({ socket }) => {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
});
let running = 0;

const text = { type: "string" };
const count = { type: "integer" };
const server = new Server({ name: "load", version: "1.0.0" });
tool("whisper", { text, hold: { type: "boolean" } }, async (given, ctx) => {
  await (given.hold ? aborted(ctx.signal) : nextTurn());
  return given.text;
});
tool("stream", {}, async (_given, ctx) => {
  await ctx.progress(1);
  await aborted(ctx.signal);
  return "given up";
});
tool("flood", { count, chars: count }, async (given, ctx) => {
  const message = "f".repeat(given.chars);
  for (let n = 1; n <= given.count; n += 1) await ctx.progress(n, given.count, message);
  return "flooded";
});
tool("work", { text, ms: count }, async (given, ctx) => {
  await (given.ms < 0 ? aborted(ctx.signal) : delay(given.ms));
  return given.text;
});

/** Answers what the tests ask beside "memory", which every server of the benches answers. */
process.on("message", (asked) => {
  if (asked !== "load") return;
  const waiting = [...sockets].map((socket) => socket.writableLength);
  process.send({ running, sockets: sockets.size, mostBuffered: Math.max(0, ...waiting) });
});

const { url } = await serveHttp(server, { sessions: { max: 20_000 } });
listening(Number(new URL(url).port));

function tool(name, properties, run) {
  const input = { type: "object", properties };
  const counted = async (given, ctx) => {
    running += 1;
    try {
      return await run(given, ctx);
    } finally {
      running -= 1;
    }
  };
  server.tool(name, { description: `The ${name} of the load tests`, input, run: counted });
}

function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", resolve, { once: true });
  });
}
