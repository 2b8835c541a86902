// Calls the everything server in both eras: exits 0 only when every answer is the one the documents of the protocol print.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { checkSqlOverHttp } from "./check-sql.mjs";

const ENTRY = "Failed to connect to database after 3 retries. Last error: ECONNREFUSED 10.0.1.5:5432";
const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const WEATHER = "Current weather in New York:\nTemperature: 72°F\nConditions: Partly cloudy";
const LOCATION = {
  type: "object",
  properties: { location: { type: "string", description: "City name or zip code" } },
  required: ["location"],
};
const SUMMANDS = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
};
const LOGIN = {
  mode: "form",
  message: "Please provide your GitHub username",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};
const CLASSIFY = {
  messages: [
    {
      role: "user",
      content: { type: "text", text: `Classify this log entry as INFO, WARNING, ERROR, or CRITICAL:\n\n${ENTRY}` },
    },
  ],
  maxTokens: 50,
  modelPreferences: { hints: [{ name: "claude-3-5-haiku" }], speedPriority: 0.8, costPriority: 0.9 },
  systemPrompt: "You are a log classifier. Respond with exactly one word: INFO, WARNING, ERROR, or CRITICAL.",
};
const ANSWERS = {
  "elicitation/create": { action: "accept", content: { name: "octocat" } },
  "sampling/createMessage": {
    role: "assistant",
    content: { type: "text", text: "ERROR" },
    model: "claude-3-5-haiku-20241022",
    stopReason: "end_turn",
  },
};

const child = spawn(process.execPath, [fileURLToPath(new URL("server.mjs", import.meta.url))], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
let lastId = 0;

await check("2026-07-28", stateless);
const clientInfo = { name: "check", version: "1.0.0" };
await ask("initialize", { protocolVersion: "2025-11-25", capabilities: CAPABILITIES, clientInfo });
send({ method: "notifications/initialized" });
await check("2025-11-25", handshake);

child.stdin.end();
await checkSqlOverHttp();
console.log("everything: every answer was the one the documents print, in both eras");

/** `request` resolves with a method's result and the questions it was asked on the way. */
async function check(revision, request) {
  await checkList(request);
  const weather = await call(request, "get_weather", { location: "New York" });
  assert.deepEqual(weather.content, [{ type: "text", text: WEATHER }]);
  assert.equal(weather.isError, false);
  assert.equal(weather.resultType, revision === "2026-07-28" ? "complete" : undefined);

  const data = await call(request, "get_weather_data", { location: "New York" });
  const structured = { temperature: 22.5, conditions: "Partly cloudy", humidity: 65 };
  assert.deepEqual(data.structuredContent, structured);
  assert.deepEqual(JSON.parse(data.content[0].text), structured);

  for (const name of ["calculate_sum", "calculate_sum_draft07"]) {
    assert.equal((await call(request, name, { a: 2, b: 3 })).content[0].text, "5");
    assert.equal((await call(request, name, { a: "2", b: 3 })).isError, true);
  }
  assert.match(
    (await call(request, "get_current_time", {})).content[0].text,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  );

  const region = "europe-west4";
  const desks = await call(request, "execute_sql", { region, query: "select * from orders;" });
  assert.deepEqual(desks.structuredContent, { rows: [{ id: 2, item: "desk" }] });
  assert.equal((await call(request, "execute_sql", { region, query: "DROP TABLE orders" })).isError, true);

  const login = await request("tools/call", { name: "get_weather", arguments: { location: "home" } });
  assert.deepEqual(login.questions, [{ method: "elicitation/create", params: LOGIN }]);
  assert.match(login.result.content[0].text, /home of octocat/);
  const log = await request("tools/call", { name: "classify_log", arguments: { entry: ENTRY } });
  assert.deepEqual(log.questions, [{ method: "sampling/createMessage", params: CLASSIFY }]);
  assert.equal(log.result.structuredContent.level, "ERROR");
}

async function checkList(request) {
  const tools = new Map();
  for (let page = {}; page !== undefined;) {
    const { result } = await request("tools/list", page);
    for (const tool of result.tools) tools.set(tool.name, tool);
    page = result.nextCursor === undefined ? undefined : { cursor: result.nextCursor };
  }
  assert.deepEqual(tools.get("get_weather"), {
    name: "get_weather",
    title: "Weather Information Provider",
    description: "Get current weather information for a location",
    inputSchema: LOCATION,
    icons: [{ src: "https://example.com/weather-icon.png", mimeType: "image/png", sizes: ["48x48"] }],
  });
  const dialect = "http://json-schema.org/draft-07/schema#";
  assert.deepEqual(tools.get("calculate_sum").inputSchema, SUMMANDS);
  assert.deepEqual(tools.get("calculate_sum_draft07").inputSchema, { $schema: dialect, ...SUMMANDS });
  assert.deepEqual(tools.get("get_current_time"), {
    name: "get_current_time",
    description: "Returns the current server time",
    inputSchema: { type: "object", additionalProperties: false },
  });
}

async function call(request, name, args) {
  const { result } = await request("tools/call", { name, arguments: args });
  return result;
}

/** In a session questions are requests on the wire, which come before the answer. */
async function handshake(method, params) {
  const questions = [];
  const id = send({ id: ++lastId, method, params });
  for (;;) {
    const message = await receive();
    if (message.id === id && message.method === undefined) return { result: message.result, questions };
    questions.push({ method: message.method, params: message.params });
    send({ id: message.id, result: ANSWERS[message.method] });
  }
}

/** Without a session every request says who asks, and questions are an answer to be answered by asking again. */
async function stateless(method, params) {
  const questions = [];
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
  };
  for (let round = {}; ;) {
    const result = await ask(method, { ...params, _meta, ...round });
    if (result.resultType !== "input_required") return { result, questions };
    const asked = Object.entries(result.inputRequests);
    questions.push(...asked.map(([, question]) => question));
    const inputResponses = Object.fromEntries(asked.map(([key, { method: kind }]) => [key, ANSWERS[kind]]));
    round = { requestState: result.requestState, inputResponses };
  }
}

async function ask(method, params) {
  send({ id: ++lastId, method, params });
  const { result, error } = await receive();
  assert.equal(error, undefined);
  return result;
}

function send(message) {
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  return message.id;
}

async function receive() {
  const { value } = await lines.next();
  return JSON.parse(value);
}
