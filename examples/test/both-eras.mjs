// One conversation for every HTTP example: the same calls in 2025-11-25 and 2026-07-28, answered in JSON and as a stream.
import assert from "node:assert/strict";

const TYPES = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const COUNT = { name: "count", arguments: { to: 2 } };

/** Throws at the first wrong answer. `ask` is `fetch`, or anything that takes a Request and gives a Response. */
export async function checkBothEras(url, { ask = fetch, sessions = true } = {}) {
  const post = async (message, headers = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return read(await ask(new Request(url, { method: "POST", headers: { ...TYPES, ...headers }, body })));
  };
  await checkHandshake(post, sessions);
  await checkStateless(post);
  await checkDoor(url, ask, post, sessions);
}

async function checkHandshake(post, sessions) {
  const protocolVersion = "2025-11-25";
  const clientInfo = { name: "check", version: "1.0.0" };
  const opened = await post({ id: 1, method: "initialize", params: { protocolVersion, capabilities: {}, clientInfo } });
  assert.equal(opened.messages[0].result.protocolVersion, protocolVersion);
  const session = opened.headers.get("mcp-session-id");
  assert.equal(session !== null, sessions);
  const headers = { "mcp-protocol-version": protocolVersion, ...(sessions ? { "mcp-session-id": session } : {}) };
  assert.equal((await post({ method: "notifications/initialized" }, headers)).status, 202);
  assertCounted(await post({ id: 2, method: "tools/call", params: COUNT }, headers));
  const _meta = { progressToken: "p" };
  assertStreamed(await post({ id: 3, method: "tools/call", params: { ...COUNT, _meta } }, headers));
  if (sessions) assert.equal((await post({ id: 4, method: "ping" }, { "mcp-session-id": "no-such" })).status, 404);
}

async function checkStateless(post) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "count" };
  const call = (_meta, more = {}) =>
    post({ id: 5, method: "tools/call", params: { ...COUNT, _meta: { ...meta, ..._meta } } }, { ...headers, ...more });
  assertCounted(await call({}));
  assertStreamed(await call({ progressToken: "p" }));
  const mismatch = await call({}, { "mcp-name": "delete_everything" });
  assert.deepEqual([mismatch.status, mismatch.messages[0].error.code], [400, -32020]);
}

/** What does not belong here is turned away: web pages nobody named, other paths, and DELETE where nothing is kept. */
async function checkDoor(url, ask, post, sessions) {
  const page = await post({ id: 6, method: "ping" }, { origin: "https://evil.example" });
  assert.equal(page.status, 403);
  assert.equal((await ask(new Request(new URL("/elsewhere", url)))).status, 404);
  if (!sessions) assert.equal((await ask(new Request(url, { method: "DELETE" }))).status, 405);
}

function assertCounted({ status, type, messages }) {
  assert.deepEqual([status, type], [200, "application/json"]);
  assert.equal(messages[0].result.content[0].text, "Counted to 2");
}

/** Progress comes before the answer, so the answer is a stream. */
function assertStreamed({ status, type, messages }) {
  assert.deepEqual([status, type], [200, "text/event-stream"]);
  assert.deepEqual(
    messages.map(({ method, params, result }) => [method, params?.progress, result?.content[0].text]),
    [
      ["notifications/progress", 1, undefined],
      ["notifications/progress", 2, undefined],
      [undefined, undefined, "Counted to 2"],
    ],
  );
}

async function read(reply) {
  const type = reply.headers.get("content-type")?.split(";")[0];
  const text = await reply.text();
  const lines = type === "text/event-stream" ? text.split("\n").filter((line) => /^data: ?\{/.test(line)) : [];
  const json = type === "application/json" ? [text] : lines.map((line) => line.slice("data:".length));
  return { status: reply.status, headers: reply.headers, type, messages: json.map((each) => JSON.parse(each)) };
}
