// Serves MCP over a TCP socket and talks to it: exits 0 only when every answer is right.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { Server, serve } from "@secure-local/mcp/server";
import { socketTransport } from "./transport.mjs";

const server = new Server({ name: "over-tcp", version: "1.0.0" });
server.tool("add", {
  description: "Adds two numbers",
  input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  run: ({ a, b }) => a + b,
});

const listener = createServer((socket) => serve(server, socketTransport(socket)));
await once(listener.listen(0, "127.0.0.1"), "listening");
const socket = connect(listener.address().port, "127.0.0.1");
const lines = createInterface({ input: socket })[Symbol.asyncIterator]();

const clientInfo = { name: "check", version: "1.0.0" };
const opened = await ask(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
assert.equal(opened.result.serverInfo.name, "over-tcp");
const sum = await ask(2, "tools/call", { name: "add", arguments: { a: 2, b: 3 } });
assert.equal(sum.result.content[0].text, "5");

// A line without end is not kept until memory is full.
const endless = connect(listener.address().port, "127.0.0.1").on("error", () => undefined);
const noise = setInterval(() => endless.write(" ".repeat(1_000_000)), 1);
await new Promise((resolve) => endless.on("close", resolve));
clearInterval(noise);

socket.end();
await once(socket, "close");
listener.close();
console.log("over-tcp: every answer was right");

async function ask(id, method, params) {
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const { value } = await lines.next();
  return JSON.parse(value);
}
