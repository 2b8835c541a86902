// A server over stdio of the handshake era that asks and logs during a call, which says nowhere which call it is about.
import { createInterface } from "node:readline";

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const requestedSchema = { type: "object", properties: { who: { type: "string" } } };
/** Calls of `wait`, which end when `ask` has its answer. */
const waiting = [];
let asking;

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    for (const each of [asking, ...waiting.splice(0)]) say({ id: each, result: text(result ?? error) });
  } else if (method === "initialize") {
    const capabilities = { tools: {}, logging: {} };
    say({ id, result: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "asking", version: "1" } } });
  } else if (method === "tools/list") say({ id, result: { tools: [] } });
  else if (method === "tools/call" && params.name === "wait") {
    waiting.push(id);
    say({ method: "notifications/progress", params: { progressToken: params._meta.progressToken, progress: 1 } });
  } else if (method === "tools/call") {
    asking = id;
    say({ method: "notifications/message", params: { level: "info", data: "about ask" } });
    say({ id: "q", method: "elicitation/create", params: { message: "Who?", requestedSchema } });
  } else if (id !== undefined) say({ id, result: {} });
});
