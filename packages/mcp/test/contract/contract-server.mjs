// The server every transport of the contract serves: the everything example, and tools that show what happens inside.
import { fileURLToPath } from "node:url";
import { serveStdio } from "@secure-local/mcp/stdio";
import { everythingServer } from "../../../../examples/everything/server.mjs";

export function contractServer() {
  const server = everythingServer({ report: () => undefined });
  let started = 0;
  let aborted = 0;
  server.tool("hang", {
    run: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        started++;
        ctx.signal.addEventListener("abort", () => {
          aborted++;
          reject(ctx.signal.reason);
        });
      }),
  });
  server.tool("hung", { run: () => ({ started, aborted }) });
  server.tool("later", {
    input: {
      type: "object",
      properties: { turns: { type: "integer" }, text: { type: "string" } },
      required: ["turns", "text"],
    },
    async run({ turns, text }) {
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      return text;
    },
  });
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serveStdio(contractServer());
