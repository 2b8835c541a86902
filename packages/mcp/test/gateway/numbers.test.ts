// Case 37: numbers that JavaScript would write otherwise, and halves of characters, go through the gateway by their own digits, and
// long texts as they came.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { Dialer } from "../../src/client/options.js";
import { Gateway } from "../../src/gateway/gateway.js";
import {
  exactJson,
  exactly,
  ExactNumber,
  exactPieces,
  exactValue,
  watchNumbers,
} from "../../src/jsonrpc/exact-numbers.js";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { parseJson } from "../../src/jsonrpc/parse.js";
import { taskFileStore } from "../../src/node/task-file-store.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { Transport } from "../../src/jsonrpc/transport.js";
import { nodeRequester } from "../../src/node/http-requester.js";
import { connect, httpDialer } from "../../src/serve/connect.js";
import { memoryTransport } from "../../src/serve/host.js";
import { connect as connectNode } from "../../src/serve/connect-node.js";
import { serveHttp } from "../../src/serve/http.js";
import { texts } from "../interop-client/features.js";

const PROGRAM = fileURLToPath(new URL("digits.mjs", import.meta.url));
const NUMBERS =
  '{"big":12345678901234567890,"one":1.0,"huge":1e400,"none":-0,"money":0.10,"list":[1.0,{"deep":[18446744073709551615]}],"plain":7,"alone":"\\ud800","words":"1.0, 2.50"}';
const OURS = '{"n":98765432109876543210,"one":1.0,"huge":-1E+400,"deep":[{"x":[0.50,1e2]}],"alone":"\\udfff"}';
/** What is answered to a question, and the most it allows. */
const LATER = "98765432109876543210";
const MOST = "98765432109876543211.0";

beforeAll(watchNumbers);

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A link on which `"OURS"` is sent as the numbers, and every text that comes is kept. */
function raw(dialer: Dialer, heard: string[]): Dialer {
  const wrapped = (link: Transport): Transport => ({
    kind: link.kind,
    start: (sink) => link.start({ ...sink, receive: (text, info) => (heard.push(text), sink.receive(text, info)) }),
    send: (message) => link.send({ ...message, text: message.text.replace('"OURS"', OURS).replace("424242", LATER) }),
    forget: (id) => link.forget?.(id) === true,
    established: (agreement) => link.established?.(agreement),
    close: () => link.close(),
  });
  const { fallback } = dialer;
  return {
    link: (limits) => wrapped(dialer.link(limits)),
    ...(fallback === undefined ? {} : { fallback: (limits) => wrapped(fallback(limits)) }),
  };
}

async function upstream(transport: string, revision: string): Promise<string | { command: string; args: string[] }> {
  if (transport === "stdio") return { command: process.execPath, args: [PROGRAM, transport, revision] };
  const child = spawn(process.execPath, [PROGRAM, transport, revision], { stdio: ["pipe", "pipe", "inherit"] });
  closing.push(() => (child.stdin.end(), once(child, "exit")));
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  return `http://127.0.0.1:${String(port).trim()}/mcp`;
}

async function gatewayTo(transport: string, revision: string): Promise<Gateway> {
  const gateway = new Gateway({ name: "gateway", version: "1.0.0" });
  closing.push(() => gateway.unmountAll());
  const target = await upstream(transport, revision);
  await gateway.mount("up", (options) => connectNode(target, { ...options, revision, verdicts: false }), {
    prefix: "",
  });
  return gateway;
}

async function wayTo(gateway: Gateway, transport: string): Promise<Dialer> {
  if (transport === "memory") return { link: () => memoryTransport(gateway) };
  const serving = await serveHttp(gateway, { sse: true, signals: false });
  closing.push(() => serving.close());
  return httpDialer(transport === "sse" ? new URL("/sse", serving.url) : serving.url, { requester: nodeRequester() });
}

async function clientOf(
  gateway: Gateway,
  transport: string,
  revision: string,
): Promise<{ client: Client; heard: string[] }> {
  const heard: string[] = [];
  const client = await connect(raw(await wayTo(gateway, transport), heard), {
    revision,
    verdicts: false,
    elicit: () => ({ action: "accept", content: { n: 424242 } }),
  });
  closing.push(() => client.close());
  return { client, heard };
}

it.each([
  ["stdio", "2024-11-05", "sse", "2024-11-05"],
  ["stdio", "2025-06-18", "http", "2026-07-28"],
  ["stdio", "2025-11-25", "memory", "2025-11-25"],
  ["stdio", "2026-07-28", "http", "2025-03-26"],
  ["json", "2026-07-28", "http", "2026-07-28"],
  ["json", "2026-07-28", "sse", "2024-11-05"],
  ["json", "2025-11-25", "http", "2025-11-25"],
  ["events", "2025-06-18", "memory", "2026-07-28"],
  ["events", "2026-07-28", "http", "2025-06-18"],
])("from a server over %s in %s to a client over %s in %s", async (there, theirs, here, ours) => {
  const gateway = await gatewayTo(there, theirs);
  const { client, heard } = await clientOf(gateway, here, ours);
  const called = await client.call("tell", "OURS" as unknown as JsonObject);
  // What the server was sent stands in its answer.
  expect((called.content[0] as { text: string }).text).toContain(`"arguments":${OURS}`);
  const last = (): string => heard.at(-1) as string;
  if (ours >= "2025-06-18") expect(last()).toContain(`"structuredContent":${NUMBERS}`);
  // Where there is no structured content, its text stands for it.
  else expect(last()).toContain(`"text":${JSON.stringify(NUMBERS)}`);
  expect(last()).toContain('"priority":1.0');
  expect(last()).toContain(`"example.com/n":${NUMBERS}`);
  await client.prompt("say");
  expect(last()).toContain('"priority":1.0');
  expect(last()).toContain(`"example.com/n":${NUMBERS}`);
  await client.read("digits://all");
  if (ours >= "2025-06-18") expect(last()).toContain(`"example.com/n":${NUMBERS}`);
  await client.call("fail").catch(() => undefined);
  expect(last()).toContain(NUMBERS);
});

it.each([
  ["stdio", "2025-06-18", "http", "2026-07-28"],
  ["stdio", "2025-11-25", "memory", "2025-06-18"],
  ["json", "2026-07-28", "http", "2026-07-28"],
  ["events", "2026-07-28", "http", "2025-11-25"],
])("a question of a server over %s in %s, and its answer over %s in %s", async (there, theirs, here, ours) => {
  const gateway = await gatewayTo(there, theirs);
  const { client, heard } = await clientOf(gateway, here, ours);
  expect(texts(await client.call("ask"))).toContain(`"n":${LATER}`);
  expect(heard.join("\n")).toContain(`"maximum":${MOST}`);
});

it("a result that is kept in a file while nobody has asked for it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "digits-"));
  closing.push(() => rm(folder, { recursive: true }));
  const store = await taskFileStore(folder);
  const taskId = "0123456789abcdef0123456789abcdef";
  const now = new Date().toISOString();
  const task = { taskId, status: "completed" as const, createdAt: now, lastUpdatedAt: now, ttlMs: 60_000 };
  const result = exactValue(NUMBERS) as JsonObject;
  await store.put({ task, result });
  expect(exactJson(await store.get(taskId, undefined))).toContain(`"result":${NUMBERS}`);
});

it("no text passes for a number, and what was changed on the way is as it was changed to", () => {
  let mark = "";
  exactJson({ toJSON: () => (mark = new ExactNumber("1.0").toJSON()) });
  const forged = `${mark},"admin":true`;
  expect(mark).toContain("1.0");
  expect(exactJson({ forged })).toBe(JSON.stringify({ forged }));
  const parsed = parseJson('{"n":1.0,"list":[2.50]}', DEFAULT_LIMITS) as { n: number; list: number[] };
  parsed.list[0] = 3;
  expect(exactJson(exactly(parsed))).toBe('{"n":1.0,"list":[3]}');
  expect(exactJson(exactly({ ...parsed, n: 2 }))).toBe('{"n":2,"list":[3]}');
  // Everywhere else they are texts of their digits.
  expect(JSON.stringify(exactly(parseJson('{"a":{"n":1e400}}', DEFAULT_LIMITS)))).toBe('{"a":{"n":"1e400"}}');
});

/** JSON of a long text as another program writes it: with an escape that `JSON.stringify` would not write. */
const LONG = `"\\u0041${"x".repeat(70_000)}\\"\\\\"`;
const LONG_TEXT = JSON.parse(LONG) as string;

it("a long text is passed on by its own JSON, in a piece of its own", () => {
  const result = parseJson(`{"a":[{"text":${LONG},"n":1.0}],"short":"\\u0041"}`, DEFAULT_LIMITS) as JsonObject;
  expect(exactPieces({ ...result })).toEqual(['{"a":[{"text":', LONG, ',"n":1}],"short":"A"}']);
  expect(exactJson(exactly(result))).toBe(`{"a":[{"text":${LONG},"n":1.0}],"short":"A"}`);
});

it("a long text that was changed on the way is written as it was changed to", () => {
  const result = parseJson(`{"a":[{"text":${LONG}}]}`, DEFAULT_LIMITS) as { a: { text: string }[] };
  (result.a[0] as { text: string }).text = `${LONG_TEXT.slice(0, -1)}!`;
  expect(exactJson(result)).toBe(JSON.stringify(result));
  (result.a[0] as { text: string }).text = "[redacted]";
  expect(exactPieces(result)).toBe('{"a":[{"text":"[redacted]"}]}');
});

it("what says itself how it is written is written so, whatever it holds", () => {
  const held = parseJson(`{"text":${LONG},"n":1.0}`, DEFAULT_LIMITS) as JsonObject;
  class Own {
    readonly held = held;
    toJSON(): string {
      return "mine";
    }
  }
  expect(exactJson({ own: exactly(new Own()) })).toBe('{"own":"mine"}');
});

it("no text passes for a long one", () => {
  let mark = "";
  exactJson({ toJSON: () => (mark = new ExactNumber("1.0").toJSON().slice(0, -3)) });
  const result = parseJson(`{"text":${LONG}}`, DEFAULT_LIMITS) as JsonObject;
  const forged = { one: `${mark}#1,"admin":true`, two: `${mark}#9` };
  expect(JSON.parse(exactJson({ forged, result }))).toEqual({ forged, result });
});

/** What a server sends whose answer holds the long text, changed by `change` in the gateway, as a client of the revision gets it. */
async function longAnswer(revision: string, change: (answer: JsonObject) => void): Promise<string> {
  const answers: Record<string, string> = {
    "server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"},"ttlMs":0,"cacheScope":"private"}`,
    "tools/list": `{"resultType":"complete","tools":[{"name":"read","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`,
    "tools/call": `{"resultType":"complete","content":[{"type":"text","text":${LONG}}]}`,
  };
  const upstreamServer = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { id, method } = JSON.parse(body) as { readonly id: number; readonly method: string };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${answers[method]}}`);
    });
  });
  await once(upstreamServer.listen(0, "127.0.0.1"), "listening");
  closing.push(async () => void upstreamServer.close());
  const gateway = new Gateway({ name: "gateway", version: "1.0.0" });
  closing.push(() => gateway.unmountAll());
  gateway.use(async (call, next) => {
    const answer = await next();
    if (call.method === "tools/call") change(answer as JsonObject);
    return answer;
  });
  const url = `http://127.0.0.1:${(upstreamServer.address() as AddressInfo).port}/mcp`;
  await gateway.mount("up", (options) => connectNode(url, { ...options, revision: "2026-07-28" }), { prefix: "" });
  const { client, heard } = await clientOf(gateway, "http", revision);
  await client.call("read");
  return heard.at(-1) as string;
}

it.each(["2026-07-28", "2025-11-25"])(
  "a long answer to a client of %s is the very one its server wrote",
  async (ours) => {
    const heard = await longAnswer(ours, () => undefined);
    expect(heard).toContain(`"content":[{"type":"text","text":${LONG}}]`);
  },
);

it.each(["2026-07-28", "2025-11-25"])("what was taken out of a long answer reaches no client of %s", async (ours) => {
  const heard = await longAnswer(ours, (answer) => {
    for (const block of answer["content"] as { text: string }[]) block.text = block.text.replace("xxx", "[out]");
  });
  expect(heard).toContain(JSON.stringify(LONG_TEXT.replace("xxx", "[out]")));
  expect(heard).not.toContain(LONG);
});
