// The handler that asks, over HTTP in the stateless revision: two POSTs, the second with the answer. Prints the files that
// one warm round of both enters.
import { coverage } from "./coverage.mjs";
import { toFetch } from "@secure-local/mcp/fetch";
import { Server } from "@secure-local/mcp/server";

const REVISION = "2026-07-28";
const server = new Server({ name: "walk", version: "1.0.0" });
server.tool("greet", {
  description: "Greet someone by name",
  async run(_, ctx) {
    const ok = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    return ok.action === "accept" ? "Hello!" : ctx.fail("Nobody was greeted.");
  },
});
const serve = toFetch(server);

async function post(more) {
  const prefix = "io.modelcontextprotocol/";
  const _meta = {
    [`${prefix}protocolVersion`]: REVISION,
    [`${prefix}clientInfo`]: { name: "walk", version: "1" },
    [`${prefix}clientCapabilities`]: { elicitation: { form: {} } },
  };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": REVISION,
    "mcp-method": "tools/call",
    "mcp-name": "greet",
  };
  const params = { name: "greet", arguments: {}, _meta, ...more };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const response = await serve(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
  const { result, error } = await response.json();
  if (error) throw new Error(JSON.stringify(error));
  return result;
}

async function round() {
  const { requestState, inputRequests } = await post({});
  const [key] = Object.keys(inputRequests);
  const inputResponses = { [key]: { action: "accept", content: { sure: true } } };
  const result = await post({ requestState, inputResponses });
  if (result.resultType !== "complete") throw new Error(JSON.stringify(result));
}

for (let rounds = 0; rounds < 3; rounds += 1) await round();
coverage();
await round();
process.stdout.write(JSON.stringify(coverage()), () => process.exit(0));
