// The floor: the least a careful person writes by hand on bare node:http to serve the bench's tools, answers included.
// `--mode json|sse`: sessions, answered in JSON or as a stream of one event; `alone`: no sessions; `modern`: 2026-07-28.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { answerTo } from "../../stdio/servers/bare-node.mjs";
import { listen, mode } from "./serving.mjs";

const MODERN = "2026-07-28";
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const LEGACY = new Set(["2025-03-26", "2025-06-18", "2025-11-25"]);
/** Bytes of the largest body: the same as everybody's. */
const MAX_BODY = 4 * 1024 * 1024;
const sessions = new Map();
const serve = { json: inSession, sse: inSession, alone, modern }[mode];

const server = createServer((request, response) => {
  if (request.url !== "/mcp") return refuse(response, 404, "Not found");
  if (request.headers.host !== ownHost) return refuse(response, 403, "Forbidden");
  if (request.method !== "POST") return refuse(response, 405, "Use POST");
  if (!request.headers["content-type"]?.startsWith("application/json")) return refuse(response, 415, "Send JSON");
  const chunks = [];
  let bytes = 0;
  request.on("data", (chunk) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY) return request.destroy();
    chunks.push(chunk);
  });
  request.on("end", () => {
    const body = (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).toString("utf8");
    let message;
    try {
      message = JSON.parse(body);
    } catch {
      return refuse(response, 400, "Parse error");
    }
    serve(message, request, response);
  });
});
const ownHost = `127.0.0.1:${await listen(server)}`;

function inSession(message, request, response) {
  if (message.method === "initialize") {
    const id = randomUUID();
    sessions.set(id, { opened: Date.now(), version: message.params?.protocolVersion });
    response.setHeader("mcp-session-id", id);
  } else {
    const session = sessions.get(request.headers["mcp-session-id"]);
    if (session === undefined) return refuse(response, 404, "No such session");
    if (!knowsVersion(request)) return refuse(response, 400, "Unsupported version");
  }
  reply(response, answerTo(message));
}

function alone(message, request, response) {
  if (message.method !== "initialize" && !knowsVersion(request)) return refuse(response, 400, "Unsupported version");
  reply(response, answerTo(message));
}

function modern(message, request, response) {
  const { headers } = request;
  if (message.params?._meta?.[VERSION_KEY] !== MODERN) return refuse(response, 400, "No envelope");
  if (headers["mcp-protocol-version"] !== MODERN || headers["mcp-method"] !== message.method) {
    return refuse(response, 400, "Header mismatch");
  }
  if (message.method === "tools/call" && headers["mcp-name"] !== message.params.name) {
    return refuse(response, 400, "Header mismatch");
  }
  const answer = answerTo(message);
  if (answer?.result !== undefined) answer.result.resultType = "complete";
  reply(response, answer);
}

function knowsVersion({ headers }) {
  const version = headers["mcp-protocol-version"];
  return version === undefined || LEGACY.has(version);
}

function reply(response, answer) {
  if (answer === undefined) {
    response.writeHead(202, { "content-length": 0 });
    response.end();
  } else if (mode === "sse") {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
    response.end();
  } else {
    const body = JSON.stringify(answer);
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  }
}

function refuse(response, status, text) {
  response.writeHead(status, { "content-type": "text/plain", "content-length": Buffer.byteLength(text) });
  response.end(text);
}
