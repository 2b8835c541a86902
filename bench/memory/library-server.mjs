// The server of the memory bench on the library.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";
import { ADD, ECHO } from "../stdio/servers/tool-set.mjs";
import { blob } from "./blob.mjs";
import { heapUsedAfterCollection } from "./heap.mjs";

const server = new Server({ name: "memory", version: "1.0.0" });
const number = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

server.tool("echo", { description: ECHO.description, input: ECHO.inputSchema, run: ({ text }) => text });
server.tool("add", { description: ADD.description, input: ADD.inputSchema, run: ({ a, b }) => String(a + b) });
server.tool("blob", { description: "Answers one megabyte", input: number, run: ({ n }) => blob(n) });
server.tool("flood", {
  description: "Logs n megabytes, waiting for each to be taken",
  input: number,
  async run({ n }, ctx) {
    for (let index = 0; index < n; index += 1) await ctx.log("warning", blob(index));
    return "done";
  },
});
server.tool("heap", {
  description: "Bytes on the heap",
  input: { type: "object" },
  run: () => String(heapUsedAfterCollection()),
});
await serveStdio(server);
