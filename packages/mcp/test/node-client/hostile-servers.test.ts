// A client beside servers that misbehave over stdio: each call ends with an answer or an error that names the fault.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { connect } from "../../src/serve/connect-node.js";
import { gone } from "./child-fixture.js";

/** Serves the handshake as it should be, then runs `body` for every other request. */
function server(body: string): { command: string; args: string[]; closeTimeouts: object } {
  const script = `
    const lines = require("node:readline").createInterface({ input: process.stdin });
    const write = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
    const result = { content: [{ type: "text", text: "fine" }] };
    const serverInfo = { name: "hostile", version: "1.0.0" };
    lines.on("line", (line) => {
      const { id, method, params, error } = JSON.parse(line);
      const answer = (result) => write({ id, result });
      const { protocolVersion } = params ?? {};
      if (method === "initialize") answer({ protocolVersion, capabilities: { tools: {} }, serverInfo });
      else if (method === "server/discover") write({ id, error: { code: -32601, message: "Method not found" } });
      else if (id !== undefined) { ${body} }
    });`;
  return { command: process.execPath, args: ["-e", script], closeTimeouts: { inputEndMs: 50, terminateMs: 50 } };
}

/** What a call comes to: its text, or the code of its error and what that says. */
function outcomeOf(client: Client, tool = "x"): Promise<string> {
  return client.call(tool).then(
    ({ content }) => JSON.stringify(content),
    (error: unknown) => `${(error as { code: string }).code}: ${(error as Error).message}`,
  );
}

/** The same for the only call to a server. */
async function called(body: string, timeoutMs = 10_000): Promise<string> {
  const client = await connect(server(body), { timeoutMs, reconnect: false });
  return outcomeOf(client).finally(() => client.close());
}

const HUGE = `"x".repeat(17e6)`;

/** After these the server goes on, and so must the client. */
const GOING_ON: readonly (readonly [string, string, RegExp])[] = [
  ["answers twice", `answer(result); answer(result);`, /"fine"/],
  [
    "answers for others first",
    `write({ id: "nobody", result: {} }); write({ id: id + 1, result: {} }); answer(result);`,
    /"fine"/,
  ],
  ["prints noise around its answer", `console.log("noise"); answer(result); console.log("{noise");`, /"fine"/],
  [
    "answers too much",
    `answer({ content: [], a: ${HUGE} })`,
    /^INVALID_RESPONSE: .*longer than 16777216 bytes \(it has 17000\d\d\d\)\. Ask for less, or raise limits\.messageBytes\.$/,
  ],
  [
    "answers with too many members",
    `answer({ content: [], rows: Array.from({ length: 30000 }, () => ({ a: 0, b: 0, c: 0, d: 0, e: 0, f: 0, g: 0 })) })`,
    /^INVALID_RESPONSE: .*more than 200000 object members \(it has 210005\)\. Ask for less, or raise limits\.members\.$/,
  ],
  [
    "answers with too many values",
    `answer({ content: [], rows: Array(1100000).fill(0) })`,
    /^INVALID_RESPONSE: .*more than 1000000 values \(it has 11000\d\d\)\. Ask for less, or raise limits\.values\.$/,
  ],
  ["answers with as much as real servers do", `answer({ content: [], a: "x".repeat(15e6) })`, /^\[\]$/],
  [
    "lists as much as real servers do",
    `answer({ content: [], rows: Array.from({ length: 47000 }, () => ({ a: 0, b: 0, c: 0, d: 0 })) })`,
    /^\[\]$/,
  ],
  [
    "answers too much, its id last",
    `console.log('{"jsonrpc":"2.0","result":{"a":"' + ${HUGE} + '"},"id":' + id + "}")`,
    /^INVALID_RESPONSE: .*longer/,
  ],
  [
    "answers too deep",
    `console.log('{"jsonrpc":"2.0","id":' + id + ',"result":{"a":' + "[".repeat(1e6) + "]".repeat(1e6) + "}}")`,
    /^INVALID_RESPONSE: .*nested deeper than 64 levels \(it has 1000002\)\. Ask for less, or raise limits\.depth\.$/,
  ],
  [
    "answers what is not UTF-8",
    `process.stdout.write(Buffer.from('{"jsonrpc":"2.0","id":' + id + ',"result":{"a":"\\xff"}}\\n', "latin1"))`,
    /^INVALID_RESPONSE: .*UTF-8/,
  ],
  [
    "asks too much",
    `if (error) write({ id: globalThis.first, result: { content: [{ type: "text", text: error.message }] } }); else { globalThis.first = id; write({ id: "q", method: "ping", params: { a: ${HUGE} } }); }`,
    /"Message refused: it is longer/,
  ],
];

describe("a call to a server that", () => {
  const bodies = GOING_ON.map(([name, body]) => `${JSON.stringify(name)}: () => { ${body} }`);
  let client: Client;
  beforeAll(async () => {
    // What is no call is an answer to a question of the last one.
    const body = `globalThis.called = params?.name ?? globalThis.called; ({ ${bodies.join()} })[globalThis.called]();`;
    client = await connect(server(body), { timeoutMs: 10_000, reconnect: false });
  });
  afterAll(() => client.close());

  it.each(GOING_ON)("%s", async (name, _body, outcome) => {
    expect(await outcomeOf(client, name)).toMatch(outcome);
  });

  it.each([
    [
      "ends in the middle of its answer",
      `process.stdout.write('{"jsonrpc":"2.0","id":' + id, () => process.exit(0))`,
      /^EXITED: .*exited with status 0/,
    ],
    ["crashes", `console.error("out of luck"); process.exit(9)`, /^EXITED: .*exited with status 9[^]*out of luck$/],
    [
      "floods its output instead",
      `const more = () => { while (process.stdout.write("y\\n".repeat(30000))); process.stdout.once("drain", more); }; more();`,
      /^LIMIT: .*floods its standard output/,
    ],
  ])("%s", async (_name, body, outcome) => {
    expect(await called(body)).toMatch(outcome);
  });

  it("never answers, ends in time, with the last lines of its standard error", async () => {
    expect(await called(`console.error("thinking")`, 300)).toMatch(/^TIMEOUT: .*within 300 ms[^]*thinking$/);
  });

  it("ignores every request to end is answered, and leaves no process", async () => {
    const stay = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1e9);`;
    const start = `require("node:child_process").spawn("sleep", ["1000"], { detached: true, stdio: "ignore" }).pid`;
    const text = await called(`${stay} answer({ content: [{ type: "text", text: [process.pid, ${start}].join() }] })`);
    const pids = /"(\d+),(\d+)"/.exec(text)?.slice(1) ?? [];
    expect(pids).toHaveLength(2);
    await gone(...pids.map(Number));
  });
});
