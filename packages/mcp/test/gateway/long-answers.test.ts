// Long texts of an answer that is relayed go with its writing, and only where nobody else reads the answer.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeAll, expect, it } from "vitest";
import { exactPieces, watchNumbers, writtenOnce } from "../../src/jsonrpc/exact-numbers.js";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { parseJson } from "../../src/jsonrpc/parse.js";
import { nodeRequester } from "../../src/node/http-requester.js";
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

it("a text that is written once is whole in what is written, and then gone; numbers beside it stay", () => {
  const text = JSON.stringify({ list: [BLOCK, { n: 7 }] }).replace("7", "1.0");
  const value = read(text);
  writtenOnce(value);
  expect(written(value)).toContain(JSON.stringify(LONG));
  expect(value).toEqual({ list: [{ type: "text", text: "" }, { n: 1 }] });
  expect(written(value)).toBe('{"list":[{"type":"text","text":""},{"n":1}]}');
});

it("a text of which nobody said so is written as often as somebody likes", () => {
  const value = read(JSON.stringify({ list: [BLOCK] }));
  for (let times = 0; times < 3; times++) expect(written(value)).toBe(JSON.stringify({ list: [BLOCK] }));
  expect(value).toEqual({ list: [BLOCK] });
});

it("what could not be written keeps its text", () => {
  const value = read(JSON.stringify({ list: [BLOCK] }));
  writtenOnce(value);
  const failing = { ...value, other: { toJSON: () => JSON.parse("no JSON") as unknown } };
  expect(() => exactPieces(failing)).toThrow(SyntaxError);
  expect(written(value)).toBe(JSON.stringify({ list: [BLOCK] }));
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
  const { result } = await stage.post(await stage.serve(gateway), "tools/call", { name: "read", arguments: {} });
  expect(result).toMatchObject({ content: [BLOCK] });
  expect(kept).toMatchObject([{ content: [BLOCK] }]);
});

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
  const { result = {} } = await stage.post(url, "tools/call", params);
  const answer = { action: "accept", content: { sure: true } };
  const keys = Object.keys(result["inputRequests"] as JsonObject);
  const inputResponses = Object.fromEntries(keys.map((key) => [key, answer]));
  const retry = { ...params, inputResponses, requestState: result["requestState"] };
  for (let times = 0; times < 2; times++) {
    const again = await stage.post(url, "tools/call", retry);
    expect(again.result).toMatchObject({ content: [BLOCK] });
  }
});

it.each(["2025-11-25", "2026-07-28"])(
  "a task's long result is whole however often it is fetched, from a server of %s",
  async (revision) => {
    const upstream = new Server({ name: "up", version: "1" });
    upstream.tool("make", { task: "optional", run: () => LONG });
    const gateway = stage.gateway();
    await gateway.mount("up", open(await stage.serve(upstream), { revision }), { prefix: "" });
    const client = await stage.client(await stage.serve(gateway), { revision: "2025-11-25" });
    const { id: taskId = "" } = await client.callTask("make");
    for (let times = 0; times < 3; times++) {
      const result = await client.request("tasks/result", { taskId });
      expect(result).toMatchObject({ content: [BLOCK] });
    }
  },
);

const MEGABYTE = "x".repeat(1_000_000);
const ANSWERS = 24;

function collector(): (options?: object) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as (options?: object) => void;
}

/** Megabytes more in use after `each` was done so many times, with nothing but collections of young objects. */
async function keptBy(each: (at: number) => Promise<void> | void): Promise<number> {
  const collect = collector();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < ANSWERS; at++) {
    await each(at);
    for (let times = 0; times < 2; times++) collect({ type: "minor" });
  }
  return (process.memoryUsage().heapUsed - before) / 1_000_000;
}

/** Objects that are old by the time something is put into them, as the promises of a call are. */
function old(): { value: unknown }[] {
  const all = Array.from({ length: ANSWERS }, () => ({ value: undefined }));
  collector()();
  return all;
}

it("a long text goes with a collection of young objects, though what waited for it is old", async () => {
  const waiting = old();
  const kept = await keptBy((at) => {
    const answer = read(JSON.stringify({ content: [{ type: "text", text: MEGABYTE }] }));
    writtenOnce(answer);
    (waiting[at] as { value: unknown }).value = answer;
    if (written(answer).length !== MEGABYTE.length + 39) throw new Error("not whole");
  });
  expect(kept).toBeLessThan(ANSWERS / 4);
});

it("a long body that is handed over goes so as well", async () => {
  const body = JSON.stringify(MEGABYTE);
  const url = await stage.listen((_request, response) => void response.end(body));
  const requester = nodeRequester();
  stage.later(async () => requester.close());
  const promises: unknown[] = [];
  const kept = await keptBy(async () => {
    const reply = await requester.request({ method: "GET", url, headers: {} });
    let length = 0;
    const over = reply.textTo?.(2 * MEGABYTE.length, (text) => void (length = text.length));
    promises.push(over);
    // The reply is still on its way: by the time it is there, the promise is old.
    collector()();
    await over;
    expect(length).toBe(body.length);
  });
  expect(promises).toHaveLength(ANSWERS);
  expect(kept).toBeLessThan(ANSWERS / 4);
});
