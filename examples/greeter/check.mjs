// Starts the greeter and greets Ada in the oldest and the newest revision that can ask: exits 0 only when both work.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const child = spawn(process.execPath, [fileURLToPath(new URL("server.mjs", import.meta.url))], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const yes = { action: "accept", content: { sure: true } };

// 2026-07-28: the call is answered with a question, and the retry wakes the very same handler.
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};
const call = { _meta, name: "greet", arguments: { name: "Ada" } };
send({ id: 1, method: "tools/call", params: call });
const { result: asked } = await receive();
const [key] = Object.keys(asked.inputRequests);
send({
  id: 2,
  method: "tools/call",
  params: { ...call, requestState: asked.requestState, inputResponses: { [key]: yes } },
});
assert.equal((await receive()).result.content[0].text, "Hello, Ada!");

// 2025-06-18: the same handler asks with a request on the wire.
const clientInfo = { name: "check", version: "1.0.0" };
send({
  id: 3,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: { elicitation: {} }, clientInfo },
});
await receive();
send({ id: 4, method: "tools/call", params: { name: "greet", arguments: { name: "Ada" } } });
send({ id: (await receive()).id, result: yes });
assert.equal((await receive()).result.content[0].text, "Hello, Ada!");

child.stdin.end();
console.log("greeter: greeted Ada in two eras with one handler");

function send(message) {
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

async function receive() {
  const { value } = await lines.next();
  return JSON.parse(value);
}
