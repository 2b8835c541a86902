// A request whose server ended before it had answered may have been served: its error says so, over every transport, and no other does.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { LocalError } from "../../src/jsonrpc/errors.js";
import { connect } from "../../src/serve/connect-node.js";
import { toNodeHandler } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A server whose tool never ends. */
function endless(): { readonly server: Server; readonly begun: Promise<void> } {
  let began = (): void => undefined;
  const begun = new Promise<void>((resolve) => (began = resolve));
  const server = new Server({ name: "endless", version: "1", report: false });
  server.tool("pay", { run: () => (began(), new Promise<never>(() => undefined)) });
  return { server, begun };
}

interface Way {
  readonly client: Client;
  readonly begun: Promise<void>;
  end(): unknown;
}

const PROGRAM = `process.stdin.on("data", (chunk) => {
  for (const line of String(chunk).split("\\n").filter(Boolean)) {
    const { id, method } = JSON.parse(line);
    if (method === "tools/call") process.exit(3);
    const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } };
    const said = method === "initialize" ? { result } : { error: { code: -32601, message: "no" } };
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...said }) + "\\n");
  }
});`;

async function overHttp(path: string, revision: string): Promise<Way> {
  const { server, begun } = endless();
  const http = createServer((request, response) => void handler(request, response));
  const handler = toNodeHandler(server, { sse: true });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const client = await connect(`http://127.0.0.1:${port}/${path}`, { revision, reconnect: false, verdicts: false });
  closing.push(() => client.close());
  return { client, begun, end: () => (http.close(), http.closeAllConnections()) };
}

const WAYS: Record<string, () => Promise<Way>> = {
  "a process": async () => {
    const target = { command: process.execPath, args: ["-e", PROGRAM] };
    const client = await connect(target, { revision: "2025-11-25", reconnect: false });
    closing.push(() => client.close());
    return { client, begun: Promise.resolve(), end: () => undefined };
  },
  "HTTP with SSE": () => overHttp("sse", "2024-11-05"),
  "HTTP with sessions": () => overHttp("mcp", "2025-11-25"),
  "HTTP without sessions": () => overHttp("mcp", "2026-07-28"),
  memory: async () => {
    const { server, begun } = endless();
    const client = await connect(server, { revision: "2025-11-25" });
    return { client, begun, end: () => client.close() };
  },
};

it.each(Object.keys(WAYS))("over %s", async (way) => {
  const { client, begun, end } = await (WAYS[way] as (typeof WAYS)[string])();
  const called = client.call("pay").catch((error: unknown) => error as LocalError);
  await begun;
  await end();
  const { message } = (await called) as LocalError;
  expect(message).toMatch(/may have been served/);
  if (way.startsWith("HTTP with")) return;
  const late = (await client.call("pay").catch((error: unknown) => error)) as LocalError;
  expect(late.message).toMatch(/^tools\/call was not sent/);
});
