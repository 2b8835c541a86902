// The processes of the gateway's bench, each started with its role: upstreams, floors and our gateway. Each HTTP one writes its URL.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { fdatasyncSync, openSync, write, writeSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { connect as connectTcp, createServer as createTcpServer } from "node:net";
import { connect } from "@secure-local/mcp/client/node";
import { Gateway } from "@secure-local/mcp/gateway";
import { serveHttp } from "@secure-local/mcp/http";
import { RpcError } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const REVISIONS = { stateless: "2026-07-28", session: "2025-11-25" };
const TEXT = { type: "text", text: "a note of some length, as tools give them" };

/** A line of a program, as tools give them: JSON escapes its quotes and its end. */
const LINE = '    const name = read("a file of some length");\n';

/** What a bare server answers, in the form of either era; `bytes` makes its results longer, of `lines` or of one letter. */
function answerer({ era, revision = REVISIONS.session, tools = 1, bytes = 0, lines = false }) {
  const part = lines ? LINE : "x";
  const content = [bytes === 0 ? TEXT : { type: "text", text: part.repeat(bytes / part.length) }];
  const result = (more) => (era === "stateless" ? { resultType: "complete", ...more } : more);
  const kept = era === "stateless" ? { ttlMs: 0, cacheScope: "private" } : {};
  const listed = Array.from({ length: tools }, (_, at) => ({
    name: at === 0 ? "read" : `tool_${at}`,
    description: `Does what tool ${at} does, with some words about it.`,
    inputSchema: { type: "object", properties: { path: { type: "string" }, count: { type: "number" } } },
  }));
  const serverInfo = { name: "bare", version: "1.0.0" };
  const answers = {
    "tools/call": () => result({ content }),
    "tools/list": () => result({ tools: listed, ...kept }),
    ...(era === "stateless"
      ? {
          "server/discover": () =>
            result({ supportedVersions: [REVISIONS.stateless], capabilities: { tools: {} }, serverInfo, ...kept }),
        }
      : {
          initialize: () => ({ protocolVersion: revision, capabilities: { tools: {} }, serverInfo }),
        }),
  };
  return ({ id, method }) => {
    const answer = answers[method];
    const said = answer === undefined ? { error: { code: -32601, message: `no ${method}` } } : { result: answer() };
    return JSON.stringify({ jsonrpc: "2.0", id, ...said });
  };
}

async function bodyOf(incoming) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function listening(server) {
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => say(`http://127.0.0.1:${server.address().port}/mcp`));
}

const say = (url) => process.stdout.write(`${JSON.stringify({ url })}\n`);

/**
 * A bare Node server over HTTP; `sse` answers calls in an event stream, as servers of sessions may, `asks` puts a question there first
 * and answers once that is answered. Without sessions the question is the answer, and the call comes again.
 */
function upstreamHttp(options) {
  const answer = answerer(options);
  const asked = new Map();
  let questions = 0;
  listening(
    createServer(async (incoming, response) => {
      if (incoming.method !== "POST") return void response.writeHead(405).end();
      const message = JSON.parse((await bodyOf(incoming)).toString());
      if (message.method === undefined) {
        const open = asked.get(message.id);
        if (message.error !== undefined) process.stderr.write(`asked in vain: ${message.error.message}\n`);
        asked.delete(message.id);
        response.writeHead(202).end();
        return void open?.();
      }
      if (message.id === undefined) return void response.writeHead(202).end();
      const text = answer(message);
      if (options.asks && message.method === "tools/call") {
        const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
        const params = { message: "Your name?", requestedSchema };
        if (options.era === "stateless") {
          const inputRequests = { q: { method: "elicitation/create", params: { mode: "form", ...params } } };
          const result = { resultType: "input_required", inputRequests, requestState: "so far" };
          const asking = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
          response.writeHead(200, { "content-type": "application/json" });
          return void response.end(message.params.inputResponses === undefined ? asking : text);
        }
        const id = `q${++questions}`;
        const question = { jsonrpc: "2.0", id, method: "elicitation/create", params };
        asked.set(id, () => response.end(`event: message\ndata: ${text}\n\n`));
        response.writeHead(200, { "content-type": "text/event-stream" });
        return void response.write(`event: message\ndata: ${JSON.stringify(question)}\n\n`);
      }
      if (options.sse && message.method === "tools/call") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        return void response.end(`event: message\ndata: ${text}\n\n`);
      }
      const session = message.method === "initialize" ? { "mcp-session-id": "bench-session" } : {};
      response.writeHead(200, { "content-type": "application/json", ...session }).end(text);
    }),
  );
}

function upstreamStdio(options) {
  process.stdin.once("end", () => process.exit());
  const answer = answerer(options);
  eachLine(process.stdin, (message) => {
    if (message.id !== undefined) process.stdout.write(`${answer(message)}\n`);
  });
}

function eachLine(stream, take) {
  let rest = "";
  stream.setEncoding("utf8").on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  });
}

/** F1: bytes from one TCP connection to another, and nothing is known of what they are. */
function floorTcp({ url }) {
  const { hostname, port } = new URL(url);
  listening(
    createTcpServer((caller) => {
      const server = connectTcp({ host: hostname, port: Number(port) });
      for (const [from, to] of [
        [caller, server],
        [server, caller],
      ])
        from.on("error", () => to.destroy()).pipe(to);
    }),
  );
}

/**
 * F2: the body is piped, nothing is read. F2p: an answer is read whole and parsed, as who checks it has to, and its own bytes go on with
 * another id. F3: everything is parsed once, its id and the tool's name are changed, and it is written again. F3s: the same, and a call
 * and its answer each wait until a line about them is on the disk.
 */
function floorHttp({ url, rename, parse, log }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const noted = log === undefined ? undefined : syncedLog(log);
  let ids = 0;
  listening(
    createServer(async (incoming, response) => {
      const { host: _, connection: __, "content-length": length, ...headers } = incoming.headers;
      const send = (sent, take) =>
        request(url, { agent, method: incoming.method, headers: { ...headers, "content-length": sent } }, take);
      if (!rename) {
        const outgoing = send(length, async (answer) => {
          if (parse) return spliced(await bodyOf(answer), answer, response);
          response.writeHead(answer.statusCode, answer.headers);
          answer.pipe(response);
        });
        return void incoming.pipe(outgoing);
      }
      const message = JSON.parse((await bodyOf(incoming)).toString());
      const { id } = message;
      if (id !== undefined) message.id = ++ids;
      if (message.params?.name !== undefined) {
        message.params.name = message.params.name.replace("up__", "");
        if (headers["mcp-name"] !== undefined) headers["mcp-name"] = message.params.name;
      }
      const text = JSON.stringify(message);
      const { name: tool, arguments: args } = message.params ?? {};
      await noted?.({ at: Date.now(), id, tool, args, outcome: "allowed" });
      const outgoing = send(Buffer.byteLength(text), async (answer) => {
        const body = (await bodyOf(answer)).toString();
        const told = body === "" ? "" : JSON.stringify({ ...JSON.parse(body), id });
        await noted?.({ at: Date.now(), id, tool, status: answer.statusCode, bytes: told.length });
        const { "transfer-encoding": ___, ...back } = answer.headers;
        response.writeHead(answer.statusCode, { ...back, "content-length": Buffer.byteLength(told) }).end(told);
      });
      outgoing.end(text);
    }),
  );
}

/** Resolves once a line is on the disk: those of one turn are written and synced together, each with the hash of the one before. */
function syncedLog(path) {
  const fd = openSync(path, "a", 0o600);
  let [lines, before, waiting] = ["", "", []];
  const flush = () => {
    writeSync(fd, lines);
    fdatasyncSync(fd);
    const written = waiting;
    [lines, waiting] = ["", []];
    for (const goOn of written) goOn();
  };
  return (record) => {
    if (waiting.length === 0) setImmediate(flush);
    const line = JSON.stringify({ ...record, before });
    before = createHash("sha256").update(line).digest("hex");
    lines += `${line}\n`;
    return new Promise((resolve) => waiting.push(resolve));
  };
}

const BEFORE_RESULT = ',"result":';

/** Sends the bytes of an answer on, behind a head with an id of its own; the upstreams here write the result last. */
function spliced(body, answer, response) {
  const { id } = JSON.parse(body.toString());
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)}${BEFORE_RESULT}`);
  const result = body.subarray(body.indexOf(BEFORE_RESULT) + BEFORE_RESULT.length);
  const { "transfer-encoding": _, ...headers } = answer.headers;
  response.writeHead(answer.statusCode, { ...headers, "content-length": head.length + result.length });
  response.write(head);
  response.end(result);
}

/** F4: HTTP in front, a child's pipes behind, an id map between. */
function floorStdio({ command }) {
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  let ids = 0;
  eachLine(child.stdout, (message) => {
    const { id, response } = waiting.get(message.id);
    waiting.delete(message.id);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ...message, id }));
  });
  listening(
    createServer(async (incoming, response) => {
      const message = JSON.parse((await bodyOf(incoming)).toString());
      if (message.id !== undefined) waiting.set(++ids, { id: message.id, response });
      else response.writeHead(202).end();
      child.stdin.write(`${JSON.stringify({ ...message, id: message.id === undefined ? undefined : ids })}\n`);
    }),
  );
}

/** F4 the other way: a pipe in front, HTTP behind. */
function floorPipe({ url }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  let ids = 0;
  eachLine(process.stdin, (message) => {
    const { id } = message;
    const text = JSON.stringify({ ...message, id: ++ids });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "content-length": Buffer.byteLength(text),
      "mcp-protocol-version": REVISIONS.stateless,
      "mcp-method": message.method,
      ...(message.params?.name === undefined ? {} : { "mcp-name": message.params.name }),
    };
    const outgoing = request(url, { agent, method: "POST", headers }, async (answer) => {
      const body = JSON.parse((await bodyOf(answer)).toString());
      process.stdout.write(`${JSON.stringify({ ...body, id })}\n`);
    });
    outgoing.end(text);
  });
}

/** F3 with HTTP and SSE in front: a stream that answers come on, and a place for messages; behind it HTTP. */
function floorSse({ url }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  let [stream, ids] = [undefined, 0];
  listening(
    createServer(async (incoming, response) => {
      if (incoming.method === "GET") {
        stream = response.writeHead(200, { "content-type": "text/event-stream" });
        return void stream.write("event: endpoint\ndata: /messages\n\n");
      }
      const message = JSON.parse((await bodyOf(incoming)).toString());
      response.writeHead(202).end();
      const { id } = message;
      if (id !== undefined) message.id = ++ids;
      if (message.params?.name !== undefined) message.params.name = message.params.name.replace("up__", "");
      const text = JSON.stringify(message);
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
      const outgoing = request(url, { agent, method: "POST", headers }, async (answer) => {
        const body = (await bodyOf(answer)).toString();
        if (body !== "") stream.write(`event: message\ndata: ${JSON.stringify({ ...JSON.parse(body), id })}\n\n`);
      });
      outgoing.end(text);
    }),
  );
}

/** Merging by hand: each list asked for and parsed, names put before, one text written. */
function floorMerge({ urls }) {
  const agent = new Agent({ keepAlive: true });
  const listOf = (url, text) =>
    new Promise((resolve) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
      const outgoing = request(url, { agent, method: "POST", headers }, async (answer) =>
        resolve(JSON.parse((await bodyOf(answer)).toString()).result.tools),
      );
      outgoing.end(text);
    });
  listening(
    createServer(async (incoming, response) => {
      const text = (await bodyOf(incoming)).toString();
      const lists = await Promise.all(urls.map((url) => listOf(url, text)));
      const tools = lists.flatMap((list, at) => list.map((tool) => ({ ...tool, name: `up${at}__${tool.name}` })));
      const result = { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" };
      const told = JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result });
      response.writeHead(200, { "content-type": "application/json" }).end(told);
    }),
  );
}

/** Parked calls in all: more than are measured. */
const MOST_PARKED = 20_000;

/** One rule of a policy, which every call of a tool is held against, and its log: a line a call, written together and not synced. */
function underOneRule(gateway, { allowed, log }) {
  const rule = new RegExp(`^${allowed.replaceAll("*", ".*")}$`);
  const fd = openSync(log, "a", 0o600);
  let lines = "";
  const flush = () => {
    write(fd, lines, () => undefined);
    lines = "";
  };
  gateway.use(async (call, next) => {
    if (call.method !== "tools/call") return next();
    const tool = call.params.name;
    const isAllowed = rule.test(tool);
    if (lines === "") setImmediate(flush);
    lines += `${JSON.stringify({ at: Date.now(), tool, outcome: isAllowed ? "allowed" : "denied" })}\n`;
    if (!isAllowed) throw new RpcError(-32602, `Denied: ${tool}`);
    return next();
  });
}

/**
 * Our gateway: what stands behind it, under which prefix, and what it is served over. `parks`: a call that is asked something waits here
 * for its answers, as one does that is judged once, before it.
 */
async function ours({ urls = [], command, prefix, revision, stdio, sse, rule, parks }) {
  const gateway = new Gateway({ name: "bench", version: "1.0.0", limits: { pageSize: 2_000, parked: MOST_PARKED } });
  if (rule !== undefined) underOneRule(gateway, rule);
  const pinned = revision === undefined ? {} : { revision };
  for (const [at, url] of urls.entries()) {
    const named = { ...(prefix === undefined ? {} : { prefix }), ...(parks ? { before: () => undefined } : {}) };
    const name = urls.length === 1 ? "up" : `up${at}`;
    await gateway.mount(name, (options) => connect(url, { ...options, ...pinned }), named);
  }
  if (command !== undefined) {
    const [program, ...args] = command;
    await gateway.mount("up", (options) => connect({ command: program, args }, { ...options, ...pinned }), { prefix });
  }
  if (stdio) return void (await serveStdio(gateway));
  say((await serveHttp(gateway, { port: 0, ...(sse ? { sse } : {}) })).url);
  // What is left of it all once nobody holds it: asked for with any line, where the process was started with --expose-gc.
  process.stdin.on("data", () => {
    globalThis.gc?.();
    globalThis.gc?.();
    process.stdout.write(`${JSON.stringify({ heap: process.memoryUsage().heapUsed })}\n`);
  });
}

const ROLES = {
  "upstream-http": upstreamHttp,
  "upstream-stdio": upstreamStdio,
  "floor-tcp": floorTcp,
  "floor-http": floorHttp,
  "floor-stdio": floorStdio,
  "floor-pipe": floorPipe,
  "floor-sse": floorSse,
  "floor-merge": floorMerge,
  ours,
};
const [role, options = "{}"] = process.argv.slice(2);
await ROLES[role](JSON.parse(options));
