// The client whose walk is measured, over stdio with a server that is a bare loop; prints the files of one warm call.
import { coverage } from "./coverage.mjs";
import { connect } from "@secure-local/mcp/client/node";

const SERVER = `
  let rest = "";
  process.stdin.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\\n");
    rest = lines.pop();
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) continue;
      const info = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "bare", version: "1" } };
      const result = method === "initialize" ? info : method === "tools/list" ? { tools: [{ name: "greet", inputSchema: { type: "object" } }] } : { content: [] };
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
    }
  });
`;

const client = await connect({ command: process.execPath, args: ["-e", SERVER] }, { revision: "2025-11-25" });
for (let calls = 0; calls < 3; calls += 1) await client.call("greet", {});
coverage();
await client.call("greet", {});
const files = coverage();
await client.close();
process.stdout.write(JSON.stringify(files));
