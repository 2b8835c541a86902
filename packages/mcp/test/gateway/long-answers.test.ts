// Long texts of an answer that is relayed, which are passed on by the JSON they came with: whole for each who reads, or keeps, the answer.
import { request } from "node:http";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeAll, expect, it, onTestFinished } from "vitest";
import { Client } from "../../src/client/client.js";
import type { Call } from "../../src/endpoint/call.js";
import type { Codec } from "../../src/era/codec.js";
import { Sent, writtenOnce } from "../../src/gateway/long-answers.js";
import { KNOWN_REVISIONS } from "../../src/client/versions.js";
import type { ClientMiddleware } from "../../src/client/options.js";
import { exactPieces, watchNumbers } from "../../src/jsonrpc/exact-numbers.js";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { parseJson } from "../../src/jsonrpc/parse.js";
import { Server } from "../../src/server/server.js";
import { open, Stage } from "./stage.js";

const LONG = "long ".repeat(20_000);
const BLOCK = { type: "text", text: LONG };

beforeAll(watchNumbers);

const stage = new Stage();
afterEach(() => stage.close());

function read(text: string): JsonObject {
  return parseJson(text, DEFAULT_LIMITS) as JsonObject;
}

const written = (value: unknown): string => [exactPieces(value)].flat().join("");

const THRICE = [1, 2, 3].map(() => ({ content: [BLOCK] }));

/** Calls the tool three times: the first answer of all is handled as every other, since what is asked of a client is loaded with it. */
async function thrice(url: string): Promise<void> {
  for (let times = 0; times < 3; times++) {
    const { result } = await stage.post(url, "tools/call", { name: "read", arguments: {} });
    expect(result).toMatchObject({ content: [BLOCK] });
  }
}

it("a long text is written as often as somebody likes", () => {
  const value = read(JSON.stringify({ list: [BLOCK] }));
  for (let times = 0; times < 3; times++) expect(written(value)).toBe(JSON.stringify({ list: [BLOCK] }));
  expect(value).toEqual({ list: [BLOCK] });
});

it("what middleware keeps of a long answer is whole after it was sent", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const gateway = stage.gateway();
  const kept: unknown[] = [];
  gateway.use(async (call, next) => {
    const answer = await next();
    if (call.method === "tools/call") kept.push(answer);
    return answer;
  });
  await gateway.mount("up", open(up.url), { prefix: "" });
  await thrice(await stage.serve(gateway));
  expect(kept).toMatchObject(THRICE);
});

it("what middleware of the client keeps of a long answer is whole, and serves later calls", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const gateway = stage.gateway();
  const kept: JsonObject[] = [];
  const keeps: ClientMiddleware = async (request, next) => {
    if (request.method !== "tools/call") return next();
    // The last one serves all that come later.
    if (kept.length < 3) kept.push(await next());
    return kept.at(-1) as JsonObject;
  };
  await gateway.mount("up", open(up.url, { middleware: [keeps] }), { prefix: "" });
  const url = await stage.serve(gateway);
  for (let times = 0; times < 2; times++) await thrice(url);
  expect(kept).toMatchObject(THRICE);
});

it("what somebody keeps who has put a function of their own in place of a client's is whole", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const client = await stage.client(up.url);
  const kept: unknown[] = [];
  const call = client.call.bind(client) as (...given: readonly unknown[]) => Promise<never>;
  Object.assign(client, {
    call: async (...given: readonly unknown[]) => {
      const result = await call(...given);
      kept.push(result);
      return result;
    },
  });
  const gateway = stage.gateway();
  await gateway.mount("up", client, { prefix: "" });
  await thrice(await stage.serve(gateway));
  expect(kept).toMatchObject(THRICE);
});

/** The call once more, with yes to all that it was asked. */
function retryOf(params: JsonObject, { result = {} }: { readonly result?: JsonObject }): JsonObject {
  const answer = { action: "accept", content: { sure: true } };
  const keys = Object.keys(result["inputRequests"] as JsonObject);
  const inputResponses = Object.fromEntries(keys.map((key) => [key, answer]));
  return { ...params, inputResponses, requestState: result["requestState"] };
}

it("a retry that comes twice gets the same long answer", async () => {
  const upstream = new Server({ name: "up", version: "1" });
  upstream.tool("ask", {
    run: async (_args, context) => {
      await context.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      return LONG;
    },
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(await stage.serve(upstream), { revision: "2025-11-25" }), { prefix: "" });
  const url = await stage.serve(gateway);
  const params = { name: "ask", arguments: {} };
  const retry = retryOf(params, await stage.post(url, "tools/call", params));
  for (let times = 0; times < 2; times++) {
    const again = await stage.post(url, "tools/call", retry);
    expect(again.result).toMatchObject({ content: [BLOCK] });
  }
});

it("a retry that comes twice, of a call that its mount asked something before, gets the same long answer", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), {
    prefix: "",
    before: async ({ context }) =>
      void (await context.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } })),
  });
  const url = await stage.serve(gateway);
  const params = { name: "read", arguments: {} };
  for (let call = 0; call < 2; call++) {
    const retry = retryOf(params, await stage.post(url, "tools/call", params));
    for (let times = 0; times < 3; times++) {
      const again = await stage.post(url, "tools/call", retry);
      expect(again.result).toMatchObject({ content: [BLOCK] });
    }
  }
});

it("middleware of the client that is taken out while a call is in it is given the whole answer", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const kept: unknown[] = [];
  const middleware: ClientMiddleware[] = [
    async (request, next) => {
      if (request.method !== "tools/call") return next();
      const all = middleware.splice(0);
      const answer = await next();
      middleware.push(...all);
      kept.push(answer);
      return answer;
    },
  ];
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url, { middleware }), { prefix: "" });
  await thrice(await stage.serve(gateway));
  expect(kept).toMatchObject(THRICE);
});

it("what somebody keeps who is another function each time that a client is asked for one is whole", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const client = await stage.client(up.url);
  const own = client.call;
  const kept: unknown[] = [];
  const traced = async (...given: Parameters<Client["call"]>): Promise<unknown> => {
    const result = await own.apply(client, given);
    kept.push(result);
    return result;
  };
  let times = 0;
  Object.defineProperty(client, "call", { get: () => (times++ % 2 === 0 ? own : traced) });
  const gateway = stage.gateway();
  await gateway.mount("up", client, { prefix: "" });
  const url = await stage.serve(gateway);
  for (let more = 0; more < 2; more++) await thrice(url);
  expect(kept).toMatchObject(THRICE);
});

it("what is written once is refused the second time, and never empty", () => {
  const pieces = ["{", LONG, "}"];
  const codec = { resultPieces: () => pieces } as unknown as Codec;
  const answer = writtenOnce(
    { record: {} } as Call,
    { result: { content: [BLOCK] } },
    { name: "gateway", version: "1" },
  );
  expect(answer.textFor(codec)).toBe(pieces);
  expect(() => answer.textFor(codec)).toThrow("A long answer is written once");
});

it("a long answer whose content somebody changed on its way is refused, and never empty", () => {
  const sent = new Sent();
  const message = { jsonrpc: "2.0" as const, id: 1, result: { content: [BLOCK], a: 1 } as JsonObject };
  sent.take(message);
  expect(message.result).toMatchObject({ content: [{ type: "text", text: "" }] });
  expect(() => sent.whole({ ...message.result, content: [] })).toThrow("changed on its way");
});

it("a list that is written with a long text in it is written as JSON.stringify writes it", () => {
  const value = read(JSON.stringify({ list: [BLOCK, "b", "c", { d: [LONG, 1] }] })) as { list: unknown[] };
  const { list } = value;
  Object.assign(list, { trace: "mine" });
  Reflect.deleteProperty(list, 1);
  list.push(undefined, () => 1);
  expect(written(value)).toBe(JSON.stringify(value));
});

it.each(["2025-11-25", "2026-07-28"])(
  "a task's long result is whole however often it is fetched, from a server of %s",
  async (revision) => {
    const upstream = new Server({ name: "up", version: "1" });
    upstream.tool("make", { task: "optional", run: () => LONG });
    upstream.tool("plain", { run: () => LONG });
    const gateway = stage.gateway();
    await gateway.mount("up", open(await stage.serve(upstream), { revision }), { prefix: "" });
    const client = await stage.client(await stage.serve(gateway), { revision: "2025-11-25" });
    await client.call("plain");
    for (let task = 0; task < 2; task++) {
      const { id: taskId = "" } = await client.callTask("make");
      for (let times = 0; times < 3; times++) {
        const result = await client.request("tasks/result", { taskId });
        expect(result).toMatchObject({ content: [BLOCK] });
      }
    }
  },
);

it("what somebody keeps who has put a function in place of that of all clients is whole", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const kept: unknown[] = [];
  const { call } = Client.prototype;
  Client.prototype.call = async function (this: Client, ...given: Parameters<Client["call"]>) {
    const result = await call.apply(this, given);
    kept.push(result);
    return result;
  } as Client["call"];
  onTestFinished(() => void (Client.prototype.call = call));
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), { prefix: "" });
  await thrice(await stage.serve(gateway));
  expect(kept).toMatchObject(THRICE);
});

const SHORT = { type: "text", text: "short" };
const DATA = Buffer.from(LONG).toString("base64");
const CONTENTS: Readonly<Record<string, readonly JsonObject[]>> = {
  "one text": [BLOCK],
  "texts with what JSON escapes": [{ type: "text", text: 'a "quoted" line\n\t\\ é 😀 \u2028'.repeat(9_000) }],
  "long and short ones, with members of their own": [
    SHORT,
    { ...BLOCK, annotations: { priority: 1 }, _meta: { "x.example/a": 1 } },
    SHORT,
    BLOCK,
  ],
  "an image and a sound": [
    { type: "image", data: DATA, mimeType: "image/png" },
    { type: "audio", data: DATA, mimeType: "audio/wav" },
  ],
  "a resource beside it": [{ type: "resource", resource: { uri: "x:a", text: LONG } }, BLOCK],
  "a link beside it": [{ type: "resource_link", uri: "x:a", name: "a" }, BLOCK],
};
const AROUND: Readonly<Record<string, JsonObject>> = {
  nothing: {},
  "an error": { isError: true },
  "structured content": { structuredContent: { a: [1, { long: LONG }] } },
  "members of vendors": { _meta: { "x.example/a": 1 }, "x.example/b": { c: [] } },
};

it.each(Object.keys(CONTENTS).flatMap((what) => Object.keys(AROUND).map((around) => ({ what, around }))))(
  "$what, with $around, comes whole, three times",
  async ({ what, around }) => {
    const result = { ...AROUND[around], content: CONTENTS[what] };
    const up = await stage.strange({ "tools/call": () => result });
    const gateway = stage.gateway();
    await gateway.mount("up", open(up.url), { prefix: "" });
    const url = await stage.serve(gateway);
    for (let times = 0; times < 3; times++) {
      const relayed = await stage.post(url, "tools/call", { name: "read", arguments: {} });
      expect(relayed.result).toMatchObject(result);
    }
  },
);

const DATES = KNOWN_REVISIONS.map(({ date }) => date);

it.each(DATES.flatMap((below) => DATES.map((above) => ({ below, above }))))(
  "a long text of a server of $below comes whole to a client of $above",
  async ({ below, above }) => {
    const upstream = new Server({ name: "up", version: "1" });
    upstream.tool("read", { run: () => LONG });
    const gateway = stage.gateway();
    await gateway.mount("up", open(await stage.serve(upstream), { revision: below }), { prefix: "" });
    const client = await stage.client(await stage.serve(gateway), { revision: above });
    for (let times = 0; times < 3; times++) expect(await client.call("read")).toMatchObject({ content: [BLOCK] });
  },
);

it("a resource without a member for it, beside a long text, is given one", async () => {
  const flat = { type: "resource", uri: "x:a", text: "short" };
  const up = await stage.strange({ "tools/call": () => ({ content: [flat, BLOCK] }) });
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), { prefix: "" });
  const url = await stage.serve(gateway);
  for (let times = 0; times < 3; times++) {
    const { result } = await stage.post(url, "tools/call", { name: "read", arguments: {} });
    expect(result).toMatchObject({ content: [{ type: "resource", resource: { uri: "x:a", text: "short" } }, BLOCK] });
  }
});

it("numbers beside a long text keep their digits", async () => {
  const url = await stage.listen((request, response) => {
    request.setEncoding("utf8").on("data", (text: string) => {
      const { id, method } = JSON.parse(text) as { readonly id: number; readonly method: string };
      const tool = { name: "read", inputSchema: { type: "object" } };
      const results: Readonly<Record<string, string>> = {
        "server/discover":
          '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}',
        "tools/list": JSON.stringify({ tools: [tool], ttlMs: 0, cacheScope: "private" }),
        "tools/call": `{"content":[{"type":"text","text":"${LONG}","size":1.0}],"own":12345678901234567890}`,
      };
      const result = results[method]?.replace("{", '{"resultType":"complete",');
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    });
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(url), { prefix: "" });
  const served = await stage.serve(gateway);
  for (let times = 0; times < 3; times++) {
    const text = await told(served);
    expect(text).toContain('"size":1.0');
    expect(text).toContain('"own":12345678901234567890');
    expect(text).toContain(`"${LONG}"`);
  }
});

/** The answer to a call of the tool, as it is written. */
function told(url: string): Promise<string> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "read", _meta: meta } });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "read",
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("end", () => resolve(text));
    });
    sent.on("error", reject).end(body);
  });
}

it("a long answer that has been written is garbage for the next small collection", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (how?: { readonly type: "minor" }) => void;
  const old = (): number =>
    getHeapSpaceStatistics().find((space) => space.space_name === "large_object_space")?.space_used_size ?? 0;
  const content = [{ type: "text", text: "long ".repeat(200_000) }];
  const up = await stage.strange({
    "tools/call": () => {
      // By now all that waits for the answer is there: what survives two collections is old.
      for (let times = 0; times < 2; times++) collect({ type: "minor" });
      return { content };
    },
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), { prefix: "" });
  const url = await stage.serve(gateway);
  for (let times = 0; times < 5; times++) await told(url);
  collect();
  const before = old();
  for (let times = 0; times < 20; times++) {
    await told(url);
    collect({ type: "minor" });
  }
  expect(old() - before).toBeLessThan(5_000_000);
});
