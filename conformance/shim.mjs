// Streamable HTTP in front of a stdio server, just enough for the suite: node conformance/shim.mjs COMMAND [ARGS...]
//
// A session gets a process of its own; requests of the stateless era share one. Messages pass unchanged, every answer is a
// stream, and nothing is checked: what the suite finds wrong behind this is the stdio server's.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { announce } from "./fixture/announce.mjs";
import { StdioPeer } from "./shim/stdio-peer.mjs";

const [command, ...args] = process.argv.slice(2);
const sessions = new Map();
const stateless = new StdioPeer(command, args);

const http = createServer((request, response) => {
  serve(request, response).catch((error) => response.writeHead(500).end(String(error)));
});
http.listen(0, "127.0.0.1", () => announce(`http://localhost:${http.address().port}/mcp`));

async function serve(request, response) {
  const id = request.headers["mcp-session-id"];
  const session = sessions.get(id);
  if (id !== undefined && session === undefined) return response.writeHead(404).end();
  if (request.method === "DELETE" && session !== undefined) {
    sessions.delete(id);
    session.close();
    return response.writeHead(200).end();
  }
  if (request.method !== "POST") return response.writeHead(405).end();
  const message = JSON.parse(await read(request));
  if (message.method === undefined || message.id === undefined) {
    (session ?? stateless).send(message);
    return response.writeHead(202).end();
  }
  if (session === undefined && message.method === "initialize") return open(message, response);
  return stream(session ?? stateless, message, response);
}

function open(message, response) {
  const id = randomUUID();
  const peer = new StdioPeer(command, args);
  sessions.set(id, peer);
  response.setHeader("mcp-session-id", id);
  stream(peer, message, response);
}

/** Streams what belongs to the request, until its answer. A client that hangs up has cancelled. */
function stream(peer, message, response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" }).flushHeaders();
  const exchange = peer.request(message, (text, last) => {
    response.write(`data: ${text}\n\n`);
    if (last) response.end();
  });
  response.on("close", () => exchange.abandon());
}

async function read(request) {
  let text = "";
  for await (const part of request.setEncoding("utf8")) text += part;
  return text;
}
