// The server of the memory bench written carelessly: no backpressure either way. It shows that the bench can fail.
import { createInterface } from "node:readline";
import { blob } from "./blob.mjs";
import { heapUsedAfterCollection } from "./heap.mjs";

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (id, value) => write({ id, result: { content: [{ type: "text", text: value }] } });

const TOOLS = {
  echo: (id, given) => text(id, given.text),
  add: (id, given) => text(id, String(given.a + given.b)),
  blob: (id, given) => text(id, blob(given.n)),
  flood(id, given) {
    for (let index = 0; index < given.n; index += 1) {
      write({ method: "notifications/message", params: { level: "warning", data: blob(index) } });
    }
    text(id, "done");
  },
  heap: (id) => text(id, String(heapUsedAfterCollection())),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    const capabilities = { tools: {}, logging: {} };
    write({ id, result: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "naive", version: "1" } } });
  } else if (method === "tools/call") {
    TOOLS[params.name](id, params.arguments);
  } else if (id !== undefined) {
    write({ id, result: {} });
  }
});
