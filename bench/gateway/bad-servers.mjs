// Twenty servers that are good until a line on standard input turns them bad, each in its own way. Writes their URLs by kind.
import { createServer } from "node:http";

const SESSION = "2025-11-25";
const TEXT = { type: "text", text: "a note of some length, as tools give them" };
const TOOLS = [{ name: "read", description: "Reads a note.", inputSchema: { type: "object" } }];
const HUGE = 5_000_000;
const LATE_MS = 5_000;
let bad = false;
let calls = 0;

const ANSWERS = {
  initialize: () => ({
    protocolVersion: SESSION,
    capabilities: { tools: {} },
    serverInfo: { name: "turns", version: "1" },
  }),
  "tools/list": () => ({ tools: TOOLS }),
  "tools/call": () => ({ content: [TEXT] }),
  ping: () => ({}),
};

function good({ id, method }, response) {
  const result = ANSWERS[method]?.();
  const said = result === undefined ? { error: { code: -32601, message: `no ${method}` } } : { result };
  const session = method === "initialize" ? { "mcp-session-id": `s${++calls}` } : {};
  response.writeHead(200, { "content-type": "application/json", ...session });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}

const json = (response, text, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(text);
const answer = (id, result) => JSON.stringify({ jsonrpc: "2.0", id, result });
const events = (response) => response.writeHead(200, { "content-type": "text/event-stream" });

/** What each does with a request once it is bad. */
const KINDS = {
  silent: () => undefined,
  late: (message, response) => setTimeout(() => good(message, response), LATE_MS),
  "resets the connection": (_message, response) => response.socket.resetAndDestroy(),
  "ends the connection": (_message, response) => response.socket.end(),
  500: (_message, response) => json(response, "{}", 500),
  404: (_message, response) => json(response, "", 404),
  401: (_message, response) => response.writeHead(401, { "www-authenticate": "Bearer" }).end(),
  429: (_message, response) => response.writeHead(429, { "retry-after": "3600" }).end(),
  redirects: (_message, response) => response.writeHead(307, { location: "http://127.0.0.1:1/mcp" }).end(),
  HTML: (_message, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Hello</p>"),
  "half a message": (_message, response) => json(response, '{"jsonrpc":"2.0","id":1,"resu'),
  "another id": (_message, response) => json(response, answer("nobody", { content: [TEXT] })),
  "a name twice": ({ id }, response) =>
    json(response, `{"jsonrpc":"2.0","id":${id},"id":${id},"result":{"content":[]}}`),
  "10,000 deep": ({ id }, response) =>
    json(response, answer(id, 0).replace(":0}", `:${"[".repeat(10_000)}${"]".repeat(10_000)}}`)),
  huge: ({ id }, response) => json(response, answer(id, { content: [{ type: "text", text: "x".repeat(HUGE) }] })),
  "a wrong answer": ({ id }, response) => json(response, answer(id, { content: "none" })),
  "an event stream without an end": (_message, response) => {
    events(response);
    const timer = setInterval(() => response.write(": still here\n\n"), 100);
    response.on("close", () => clearInterval(timer));
  },
  "floods with messages": (message, response) => {
    events(response);
    const note = JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    for (let at = 0; at < 1_000; at++) response.write(`data: ${note}\n\n`);
    response.end(`data: ${answer(message.id, { content: [TEXT] })}\n\n`);
  },
  "asks without leave": (message, response) => {
    events(response);
    const params = { messages: [], maxTokens: 1 };
    response.write(
      `data: ${JSON.stringify({ jsonrpc: "2.0", id: "q", method: "sampling/createMessage", params })}\n\n`,
    );
    response.end(`data: ${answer(message.id, { content: [TEXT] })}\n\n`);
  },
  flaps: (message, response) => (++calls % 2 === 0 ? good(message, response) : response.socket.resetAndDestroy()),
};

const urls = {};
for (const [kind, serve] of Object.entries(KINDS)) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message = JSON.parse(Buffer.concat(chunks).toString());
      if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
      if (bad) serve(message, response);
      else good(message, response);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  urls[kind] = `http://127.0.0.1:${server.address().port}/mcp`;
}
process.stdout.write(`${JSON.stringify({ urls })}\n`);
process.stdin.on("data", () => (bad = true)).on("end", () => process.exit());
