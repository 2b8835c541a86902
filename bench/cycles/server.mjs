// A server of the handshake era in a few lines, so that what is measured is the client. With --grandchild it starts a
// process in a session of its own, and forgets it.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

if (process.argv.includes("--grandchild")) {
  spawn("sleep", ["600"], { detached: true, stdio: "ignore" }).unref();
}

const RESULTS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "cycles", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = RESULTS[method]?.(params);
  const answer = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});
