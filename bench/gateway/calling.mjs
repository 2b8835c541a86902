// How the gateway's bench calls what it measures: over HTTP in the form of either era, over pipes, and how it compares processes.
import { Agent, request } from "node:http";
import { cpuNanoseconds } from "../measure/process-stats.mjs";

export const [STATELESS, SESSION] = ["2026-07-28", "2025-11-25"];
export const IN_FLIGHT = 16;
export const CLIENT = { name: "bench", version: "1.0.0" };

/** What every request without a session says of its caller; `capabilities`: what that can be asked. */
export const metaOf = (capabilities = {}) => ({
  "io.modelcontextprotocol/protocolVersion": STATELESS,
  "io.modelcontextprotocol/clientInfo": CLIENT,
  "io.modelcontextprotocol/clientCapabilities": capabilities,
});

/** Asks over kept connections; `era` says in which form. Resolves to the text of the answer. */
export function asker(url, { era, session, name = "read", method = "tools/call" }) {
  const send = sender(url, { era, session, name, method });
  return () => send();
}

/** The same, with members added to the params; `capabilities`: what the caller can be asked. */
export function sender(url, { era, session, name = "read", method = "tools/call", capabilities = {} }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const meta = metaOf(capabilities);
  const named = method === "tools/call" ? { name, arguments: { path: "notes/plan.txt", count: 3 } } : {};
  const params = era === "stateless" ? { ...named, _meta: meta } : named;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": era === "stateless" ? STATELESS : SESSION,
    ...(era === "stateless"
      ? { "mcp-method": method, ...(method === "tools/call" ? { "mcp-name": name } : {}) }
      : { "mcp-session-id": session ?? "bench-session" }),
  };
  let ids = 0;
  return (more = {}) =>
    post(url, { agent, headers, message: { jsonrpc: "2.0", id: ++ids, method, params: { ...params, ...more } } });
}

export const ASKABLE = { elicitation: { form: {} } };

/** A call that is asked something: sent, and sent again with the answer. `park` leaves the second out. */
export function parker(url, name, park = false) {
  const send = sender(url, { era: "stateless", name, capabilities: ASKABLE });
  return async () => {
    const { result } = JSON.parse((await send()).text);
    if (result?.resultType !== "input_required") throw new Error(`nothing was asked: ${JSON.stringify(result)}`);
    if (park) return undefined;
    const keys = Object.keys(result.inputRequests);
    const answers = keys.map((key) => [key, { action: "accept", content: { name: "Ada" } }]);
    return send({ inputResponses: Object.fromEntries(answers), requestState: result.requestState });
  };
}

export function post(url, { agent, headers, message }) {
  const text = JSON.stringify(message);
  return new Promise((resolve, reject) => {
    const options = { agent, method: "POST", headers: { ...headers, "content-length": Buffer.byteLength(text) } };
    const outgoing = request(url, options, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () =>
        resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end(text);
  });
}

/** Opens a session of 2025-11-25 and gives its id. */
export async function openSession(url) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: SESSION, capabilities: {}, clientInfo: CLIENT };
  const opened = await post(url, { headers, message: { jsonrpc: "2.0", id: 0, method: "initialize", params } });
  const session = opened.headers["mcp-session-id"];
  const more = { ...headers, "mcp-session-id": session, "mcp-protocol-version": SESSION };
  await post(url, { headers: more, message: { jsonrpc: "2.0", method: "notifications/initialized" } });
  return session;
}

/** Asks over pipes; in a session it is opened first, and the asker comes once it is open. */
export function pipeAsker({ child }, era = "stateless") {
  const waiting = new Map();
  let [rest, ids] = ["", 0];
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const { id } = JSON.parse(line);
      waiting.get(id)?.({ text: line });
      waiting.delete(id);
    }
  });
  const told = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const sent = (method, params) =>
    new Promise((resolve) => {
      const id = ++ids;
      waiting.set(id, resolve);
      told({ id, method, params });
    });
  const meta = era === "stateless" ? { _meta: metaOf() } : {};
  const ask = () => sent("tools/call", { name: "read", arguments: { path: "notes/plan.txt", count: 3 }, ...meta });
  if (era === "stateless") return ask;
  const ended = new Promise((_, reject) => {
    child.once("exit", () => reject(new Error(`ended: ${child.said().slice(0, 300)}`)));
  });
  // Only while it opens is the end of it told here.
  ended.catch(() => undefined);
  return Promise.race([opened(sent, told).then(() => ask), ended]);
}

/** The handshake of sessions, over what sends one message. */
async function opened(sent, told, revision = SESSION) {
  await sent("initialize", { protocolVersion: revision, capabilities: {}, clientInfo: CLIENT });
  told({ method: "notifications/initialized" });
}

/** Asks over the two connections of HTTP with SSE, in a session that is open when the asker comes. */
export async function sseAsker(url, name, revision) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const waiting = new Map();
  let ids = 0;
  const stream = await new Promise((resolve, reject) => {
    const outgoing = request(url, { headers: { accept: "text/event-stream" } }, resolve);
    outgoing.on("error", reject).end();
  });
  if (stream.statusCode !== 200) throw new Error(`the stream has status ${stream.statusCode}`);
  let rest = "";
  const endpoint = await new Promise((resolve) => {
    stream.setEncoding("utf8").on("data", (chunk) => {
      const events = (rest + chunk).replaceAll("\r\n", "\n").split("\n\n");
      rest = events.pop();
      for (const event of events) {
        const data = /^data: ?(.*)$/m.exec(event)?.[1];
        if (/^event: ?endpoint$/m.test(event)) resolve(new URL(data, url));
        else if (data !== undefined) answered(data);
      }
    });
  });
  const answered = (text) => {
    const { id } = JSON.parse(text);
    waiting.get(id)?.({ text });
    waiting.delete(id);
  };
  const told = async (message) => {
    const headers = { "content-type": "application/json" };
    const { status } = await post(endpoint, { agent, headers, message: { jsonrpc: "2.0", ...message } });
    if (status !== 202) throw new Error(`a message was answered with status ${status}`);
  };
  const sent = async (method, params) => {
    const id = ++ids;
    const answer = new Promise((resolve) => waiting.set(id, resolve));
    await told({ id, method, params });
    return answer;
  };
  await opened(sent, told, revision);
  return () => sent("tools/call", { name, arguments: { path: "notes/plan.txt", count: 3 } });
}

/** Calls with so many in flight; every answer must be a result. */
export async function run(ask, calls, inFlight) {
  let left = calls;
  const lane = async () => {
    while (left-- > 0) {
      const { text } = await ask();
      if (!text.includes('"result"') || text.includes('"isError":true'))
        throw new Error(`an answer is no result: ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

/** Calls after which V8 compiles nothing more of what a call runs, on either side: what it compiles is counted as well. */
export const WARM = 10_000;

/** Microseconds of each process for a call: the median of rounds taken in turns. */
export async function compare(sides, { calls, rounds, warm = WARM, inFlight = IN_FLIGHT }) {
  const figures = sides.map(() => []);
  for (const { ask } of sides) await run(ask, Math.max(warm, Math.ceil(calls / 2)), inFlight);
  for (let round = 0; round < rounds; round++) {
    for (const [at, { pid, ask }] of sides.entries()) {
      const before = cpuNanoseconds(pid);
      await run(ask, calls, inFlight);
      figures[at].push((cpuNanoseconds(pid) - before) / calls / 1_000);
    }
  }
  return figures.map(median);
}

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
