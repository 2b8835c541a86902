// The floor: the least a careful person writes by hand in bare Node to serve the bench's tools, answers included.
import { ADD, ECHO, FILLER_SCHEMA, fillerDescription, fillerNames } from "./tool-set.mjs";

const tools = [
  ECHO,
  ADD,
  ...fillerNames().map((name) => ({ name, description: fillerDescription(name), inputSchema: FILLER_SCHEMA })),
];

/** Serves standard input; `flush` is called with every answer line, `endOfChunk` after each chunk that was read. */
export function serve(flush, endOfChunk) {
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf("\n"); at !== -1; at = chunk.indexOf("\n", from)) {
      const line = rest + chunk.slice(from, at);
      rest = "";
      from = at + 1;
      const answer = answerLine(line);
      if (answer !== undefined) flush(`${JSON.stringify(answer)}\n`);
    }
    rest += chunk.slice(from);
    endOfChunk();
  });
}

function answerLine(line) {
  try {
    return answerTo(JSON.parse(line));
  } catch {
    return failure(null, -32700, "Parse error: the line is not JSON");
  }
}

/** The answer to a parsed message; undefined where none is due. */
export function answerTo(message) {
  if (!isRequest(message)) return failure(null, -32600, "Invalid request");
  if (message.id === undefined) return undefined; // a notification
  const { id, params } = message;
  switch (message.method) {
    case "initialize":
      return initialize(id, params);
    case "ping":
      return success(id, {});
    case "tools/list":
      return success(id, { tools });
    case "tools/call":
      return callTool(id, params);
    default:
      return failure(id, -32601, `Unknown method: ${message.method}`);
  }
}

function isRequest(message) {
  if (typeof message !== "object" || message === null || message.jsonrpc !== "2.0") return false;
  if (typeof message.method !== "string") return false;
  if (message.params !== undefined && !isObject(message.params)) return false;
  return message.id === undefined || typeof message.id === "string" || Number.isInteger(message.id);
}

function initialize(id, params) {
  if (typeof params?.protocolVersion !== "string" || !isObject(params.clientInfo) || !isObject(params.capabilities)) {
    return failure(id, -32602, "initialize needs protocolVersion, capabilities and clientInfo");
  }
  return success(id, {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "bare-node", version: "1.0.0" },
  });
}

function callTool(id, params) {
  if (typeof params?.name !== "string") return failure(id, -32602, "tools/call needs a name");
  const given = params.arguments ?? {};
  if (!isObject(given)) return failure(id, -32602, "arguments must be an object");
  switch (params.name) {
    case "echo":
      if (typeof given.text !== "string") return toolError(id, "text must be a string");
      return success(id, { content: [{ type: "text", text: given.text }] });
    case "add":
      if (typeof given.a !== "number" || typeof given.b !== "number") return toolError(id, "a and b must be numbers");
      return success(id, { content: [{ type: "text", text: String(given.a + given.b) }] });
    default:
      return failure(id, -32602, `Unknown tool: ${params.name}`);
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function success(id, result) {
  return { jsonrpc: "2.0", id, result };
}

function failure(id, code, message) {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function toolError(id, text) {
  return success(id, { content: [{ type: "text", text }], isError: true });
}
