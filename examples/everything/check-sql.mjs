// Calls `execute_sql` over HTTP: the header that repeats the region must be there and agree with the arguments.
import assert from "node:assert/strict";
import { serveHttp } from "@secure-local/mcp/http";
import { everythingServer } from "./server.mjs";

const HEADER_MISMATCH = -32020;

/** Throws where an answer is wrong. */
export async function checkSqlOverHttp() {
  const serving = await serveHttp(everythingServer());
  try {
    const listed = await ask(serving.url, "tools/list", {});
    const { inputSchema } = listed.body.result.tools.find(({ name }) => name === "execute_sql");
    assert.equal(inputSchema.properties.region["x-mcp-header"], "Region");

    const west = await query(serving.url, "us-west1", { "mcp-param-region": "us-west1" });
    assert.deepEqual([west.status, west.body.result.structuredContent], [200, { rows: [{ id: 1, item: "lamp" }] }]);
    for (const headers of [{}, { "mcp-param-region": "europe-west4" }]) {
      const refused = await query(serving.url, "us-west1", headers);
      assert.deepEqual([refused.status, refused.body.error.code], [400, HEADER_MISMATCH]);
    }
    const nowhere = await query(serving.url, "moon", { "mcp-param-region": "moon" });
    assert.deepEqual([nowhere.status, nowhere.body.result.isError], [200, true]);
  } finally {
    await serving.close();
  }
}

function query(url, region, headers) {
  const params = { name: "execute_sql", arguments: { region, query: "SELECT * FROM orders" } };
  return ask(url, "tools/call", params, { "mcp-name": "execute_sql", ...headers });
}

async function ask(url, method, params, more = {}) {
  const protocolVersion = "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": protocolVersion,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": protocolVersion,
    "mcp-method": method,
    ...more,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
  const reply = await fetch(url, { method: "POST", headers, body });
  return { status: reply.status, body: await reply.json() };
}
