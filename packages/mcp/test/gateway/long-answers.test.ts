// Long texts of an answer that is relayed, which are passed on by the JSON they came with: whole for each who reads, or keeps, the answer.
import { afterEach, beforeAll, expect, it } from "vitest";
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
  const { result } = await stage.post(await stage.serve(gateway), "tools/call", { name: "read", arguments: {} });
  expect(result).toMatchObject({ content: [BLOCK] });
  expect(kept).toMatchObject([{ content: [BLOCK] }]);
});

it("what middleware of the client keeps of a long answer is whole, and serves later calls", async () => {
  const up = await stage.strange({ "tools/call": () => ({ content: [BLOCK] }) });
  const gateway = stage.gateway();
  let kept: JsonObject | undefined;
  const keeps: ClientMiddleware = async (request, next) =>
    request.method === "tools/call" ? (kept ??= await next()) : next();
  await gateway.mount("up", open(up.url, { middleware: [keeps] }), { prefix: "" });
  const url = await stage.serve(gateway);
  for (let times = 0; times < 3; times++) {
    const { result } = await stage.post(url, "tools/call", { name: "read", arguments: {} });
    expect(result).toMatchObject({ content: [BLOCK] });
  }
  expect(kept).toMatchObject({ content: [BLOCK] });
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
