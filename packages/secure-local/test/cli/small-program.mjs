// A server over stdio that starts as fast as Node does: for tests of what is done with a program, not of the program.
import { createInterface } from "node:readline";

const STATELESS = "2026-07-28";
const HANDSHAKE = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const serverInfo = { name: "small", version: "1.0.0" };
const capabilities = { tools: {}, prompts: {} };
const instructions = "Try the tool.";
const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

const METHODS = {
  initialize: ({ protocolVersion: asked }) => {
    const protocolVersion = HANDSHAKE.includes(asked) ? asked : HANDSHAKE[0];
    return { protocolVersion, capabilities, serverInfo, instructions };
  },
  ping: () => ({}),
  "server/discover": () => ({ supportedVersions: [STATELESS, ...HANDSHAKE], capabilities, instructions }),
  "tools/list": () => ({ tools: [{ name: "echo", description: "Says what it is told", inputSchema }] }),
  "tools/call": ({ arguments: { text } }) => ({ content: [{ type: "text", text }] }),
  "prompts/list": () => ({ prompts: [{ name: "greeting", description: "Greets" }] }),
};

/** What every result of the stateless era says beside its content. */
const STATELESS_RESULT = {
  resultType: "complete",
  ttlMs: 0,
  cacheScope: "private",
  _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const result = METHODS[method]?.(params);
  const stateless = params._meta?.["io.modelcontextprotocol/protocolVersion"] === STATELESS;
  const body =
    result === undefined
      ? { error: { code: -32601, message: "Method not found" } }
      : { result: stateless ? { ...STATELESS_RESULT, ...result } : result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
});
