// The server every transport of the contract serves: the everything example, and tools that show what happens inside.
import { fileURLToPath } from "node:url";
import { serveStdio } from "@secure-local/mcp/stdio";
import { everythingServer } from "../../../../examples/everything/server.mjs";

/** `counts`: of calls that hang, where several processes serve as one. */
export function contractServer(counts = { started: 0, aborted: 0 }) {
  const server = everythingServer({ report: () => undefined });
  server.tool("hang", {
    run: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        counts.started++;
        ctx.signal.addEventListener("abort", () => {
          counts.aborted++;
          reject(ctx.signal.reason);
        });
      }),
  });
  server.tool("hung", { run: () => ({ ...counts }) });
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
