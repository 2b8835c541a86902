// Tasks as the extension of 2026-07-28 has them: the server decides, the client looks, answers and cancels.
import { describe, expect, it } from "vitest";
import { RpcError } from "../../src/jsonrpc/errors.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { MemoryPeer } from "../../src/serve/connect-in-memory.js";
import { inputRequired } from "../../src/server/interactive.js";
import type { Server } from "../../src/server/server.js";
import { connectTasks, DIRECTED, EXTENSION, latch, newServer, refusal, untilStatus } from "./task-peer.js";

const NAME = { message: "Who?", schema: { name: { type: "string" } } } as const;
const ADA = { action: "accept", content: { name: "Ada" } };

function call(peer: MemoryPeer, name: string, more: JsonObject = {}): Promise<JsonObject> {
  return peer.request("tools/call", { name, arguments: {}, ...more });
}

async function create(peer: MemoryPeer, name: string, more?: JsonObject): Promise<string> {
  const created = await call(peer, name, more);
  expect(created["resultType"]).toBe("task");
  return created["taskId"] as string;
}

function slowServer(): { server: Server; gate: ReturnType<typeof latch<unknown>> } {
  const server = newServer();
  const gate = latch<unknown>();
  server.tool("slow", {
    task: "optional",
    run: (_args, ctx) => {
      ctx.signal.addEventListener("abort", () => gate.reject(ctx.signal.reason));
      return gate.promise;
    },
  });
  return { server, gate };
}

describe("declaration", () => {
  it("is an extension and no capability of its own", async () => {
    const peer = await connectTasks(slowServer().server, DIRECTED);
    const { capabilities } = (await peer.request("server/discover")) as { capabilities: JsonObject };
    expect(capabilities["extensions"]).toEqual({ [EXTENSION]: {} });
    expect(capabilities).not.toHaveProperty("tasks");
    const { tools } = (await peer.request("tools/list")) as { tools: JsonObject[] };
    expect(tools[0]).not.toHaveProperty("execution");
  });

  it("is asked of every request: -32021 names the extension (M57)", async () => {
    const { server, gate } = slowServer();
    server.tool("must", { task: "required", run: () => "must" });
    const able = await connectTasks(server, DIRECTED);
    const taskId = await create(able, "slow");
    const plain = await connectTasks(server, DIRECTED, { capabilities: {} });
    const requests: [string, JsonObject][] = [
      ["tasks/get", { taskId }],
      ["tasks/update", { taskId, inputResponses: {} }],
      ["tasks/cancel", { taskId }],
      ["tools/call", { name: "must", arguments: {} }],
      ["subscriptions/listen", { notifications: { taskIds: [taskId] } }],
    ];
    for (const [method, params] of requests) {
      const data = { requiredCapabilities: { extensions: { [EXTENSION]: {} } } };
      expect(await refusal(plain.request(method, params)), method).toMatchObject({ code: -32021, data });
    }
    const inLine = call(plain, "slow");
    gate.resolve("done");
    expect(await inLine).toMatchObject({ resultType: "complete", content: [{ text: "done" }] });
  });

  it("knows no tasks/list and no tasks/result, and ignores params.task", async () => {
    const { server, gate } = slowServer();
    server.tool("never", { run: () => "never" });
    const peer = await connectTasks(server, DIRECTED);
    for (const method of ["tasks/list", "tasks/result"]) {
      expect(await refusal(peer.request(method, { taskId: "x" }))).toMatchObject({ code: -32601 });
    }
    expect(await call(peer, "never", { task: { ttl: 1 } })).toMatchObject({ resultType: "complete" });
    expect(await call(peer, "slow", { task: { ttl: 1 } })).toMatchObject({ resultType: "task", ttlMs: 900_000 });
    gate.resolve("done");
  });
});

describe("a task", () => {
  it("is flat at its creation, found at once, and holds its result at its end (M57)", async () => {
    const { server, gate } = slowServer();
    const peer = await connectTasks(server, DIRECTED);
    const created = await call(peer, "slow");
    expect(created).toMatchObject({ resultType: "task", status: "working", pollIntervalMs: 1_000 });
    const { taskId } = created as { taskId: string };
    expect(await peer.request("tasks/get", { taskId })).toMatchObject({ resultType: "complete", status: "working" });
    gate.resolve("done");
    const { result } = await untilStatus(peer, taskId, "completed");
    expect(result).toEqual({ content: [{ type: "text", text: "done" }], isError: false });
  });

  it("is not made of an optional call that is done at once, and is made of a required one", async () => {
    const server = newServer();
    server.tool("may", { task: "optional", run: () => "may" });
    server.tool("must", { task: "required", run: (_args, ctx) => ctx.fail("must") });
    const peer = await connectTasks(server, DIRECTED);
    expect(await call(peer, "may")).toMatchObject({ resultType: "complete", content: [{ text: "may" }] });
    const taskId = await create(peer, "must");
    expect(await untilStatus(peer, taskId, "completed")).toMatchObject({ result: { isError: true } });
  });

  it("fails only with a JSON-RPC error, and says nothing of an exception (M57)", async () => {
    const server = newServer({ report: () => undefined });
    server.tool("refuses", {
      task: "required",
      run: () => {
        throw new RpcError(-32602, "no such job", { job: 1 });
      },
    });
    server.tool("breaks", {
      task: "required",
      run: () => {
        throw new Error("secret");
      },
    });
    const peer = await connectTasks(server, DIRECTED);
    const failed = await untilStatus(peer, await create(peer, "refuses"), "failed");
    expect(failed).toMatchObject({ statusMessage: "no such job", error: { code: -32602, message: "no such job" } });
    const broken = await untilStatus(peer, await create(peer, "breaks"), "completed");
    expect(JSON.stringify(broken)).not.toContain("secret");
  });

  it("ends cancelled when its handler heeds the signal, and completed when it succeeds all the same", async () => {
    const { server } = slowServer();
    const stubborn = latch<string>();
    server.tool("stubborn", { task: "optional", run: () => stubborn.promise });
    const peer = await connectTasks(server, DIRECTED);
    const slow = await create(peer, "slow");
    expect(Object.keys(await peer.request("tasks/cancel", { taskId: slow }))).toEqual(["resultType", "_meta"]);
    await untilStatus(peer, slow, "cancelled");
    await peer.request("tasks/cancel", { taskId: slow });
    const taskId = await create(peer, "stubborn");
    await peer.request("tasks/cancel", { taskId });
    expect(await peer.request("tasks/get", { taskId })).toMatchObject({ status: "working" });
    stubborn.resolve("done");
    await untilStatus(peer, taskId, "completed");
  });

  it("belongs to its principal, and unknown ids are -32602", async () => {
    const { server, gate } = slowServer();
    const ann = await connectTasks(server, DIRECTED, { principal: "ann" });
    const bob = await connectTasks(server, DIRECTED, { principal: "bob" });
    const taskId = await create(ann, "slow");
    for (const [method, more] of [["tasks/get"], ["tasks/update", { inputResponses: {} }], ["tasks/cancel"]] as const) {
      const foreign = await refusal(bob.request(method, { taskId, ...more }));
      const unknown = await refusal(ann.request(method, { taskId: "unknown", ...more }));
      expect([foreign.code, foreign.message]).toEqual([-32602, unknown.message]);
    }
    gate.resolve("done");
  });

  it("reports neither progress nor log messages", async () => {
    const server = newServer();
    const gate = latch();
    server.tool("slow", {
      task: "required",
      async run(_args, ctx) {
        await gate.promise;
        await ctx.progress(1);
        await ctx.log("error", "loud");
        return "done";
      },
    });
    const peer = await connectTasks(server, DIRECTED, { logLevel: "debug" });
    const taskId = await create(peer, "slow", { _meta: { progressToken: "p" } });
    gate.resolve();
    await untilStatus(peer, taskId, "completed");
    expect(peer.messages.filter((message) => "method" in message)).toEqual([]);
  });
});

describe("questions", () => {
  it("are shown all at once, answered one by one, and never under the same key again", async () => {
    const server = newServer();
    server.tool("form", {
      task: "required",
      async run(_args, ctx) {
        const [a, b] = await Promise.all([ctx.elicit(NAME), ctx.elicit(NAME)]);
        const c = await ctx.elicit(NAME);
        return [a, b, c].map(({ content }) => content?.name).join();
      },
    });
    const peer = await connectTasks(server, DIRECTED);
    const taskId = await create(peer, "form");
    const asked = async (): Promise<string[]> =>
      Object.keys((await untilStatus(peer, taskId, "input_required"))["inputRequests"] as object);
    const update = (inputResponses: JsonObject): Promise<JsonObject> =>
      peer.request("tasks/update", { taskId, inputResponses });
    const [first, second] = (await asked()) as [string, string];
    expect(await refusal(update({ [first]: { action: "maybe" }, [second]: ADA }))).toMatchObject({ code: -32602 });
    expect(await asked()).toEqual([first, second]);
    expect(Object.keys(await update({ [first]: ADA, stranger: ADA }))).toEqual(["resultType", "_meta"]);
    expect(await asked()).toEqual([second]);
    await update({ [second]: ADA, [first]: ADA });
    const [third] = (await asked()) as [string];
    expect([first, second]).not.toContain(third);
    await update({ [third]: ADA });
    expect(await untilStatus(peer, taskId, "completed")).toMatchObject({
      result: { content: [{ text: "Ada,Ada,Ada" }] },
    });
    await update({ [third]: ADA });
  });

  it("are refused to a handler that goes on after its task was cancelled", async () => {
    const server = newServer();
    const tried = latch<unknown>();
    server.tool("form", {
      task: "required",
      async run(_args, ctx) {
        await ctx.elicit(NAME).catch(() => undefined);
        await ctx.elicit(NAME).catch(tried.resolve);
        return "done all the same";
      },
    });
    const peer = await connectTasks(server, DIRECTED);
    const taskId = await create(peer, "form");
    await untilStatus(peer, taskId, "input_required");
    await peer.request("tasks/cancel", { taskId });
    expect(await tried.promise).toMatchObject({ code: "EXPIRED" });
    await untilStatus(peer, taskId, "completed");
  });

  it("end with the task that is cancelled", async () => {
    const server = newServer();
    server.tool("form", { task: "required", run: async (_args, ctx) => JSON.stringify(await ctx.elicit(NAME)) });
    const peer = await connectTasks(server, DIRECTED);
    const taskId = await create(peer, "form");
    await untilStatus(peer, taskId, "input_required");
    await peer.request("tasks/cancel", { taskId });
    await untilStatus(peer, taskId, "cancelled");
  });

  it("asked by hand at the beginning come before the task, later ones in it", async () => {
    const server = newServer();
    const told = latch();
    server.tool("form", {
      task: "required",
      async run(_args, ctx) {
        if (ctx.inputResponses === undefined) {
          return inputRequired({ requests: { who: { method: "roots/list" } }, state: { round: 1 } });
        }
        await told.promise;
        if ("who" in ctx.inputResponses)
          return inputRequired({ requests: { more: { method: "roots/list" } }, state: 2 });
        return `${Object.keys(ctx.inputResponses).join()} ${String(ctx.state)}`;
      },
    });
    const peer = await connectTasks(server, DIRECTED);
    const { resultType, requestState, inputRequests, ...rest } = await call(peer, "form");
    expect([resultType, Object.keys(inputRequests as object), Object.keys(rest)]).toEqual([
      "input_required",
      ["who"],
      ["_meta"],
    ]);
    const taskId = await create(peer, "form", { requestState, inputResponses: { who: { roots: [] } } });
    told.resolve();
    const { inputRequests: asked } = await untilStatus(peer, taskId, "input_required");
    const [key] = Object.keys(asked as object) as [string];
    await peer.request("tasks/update", { taskId, inputResponses: { [key]: { roots: [] } } });
    expect(await untilStatus(peer, taskId, "completed")).toMatchObject({ result: { content: [{ text: "more 2" }] } });
    const forged = call(peer, "form", { requestState: `${String(requestState)}x`, inputResponses: {} });
    expect(await refusal(forged)).toMatchObject({ code: -32602 });
  });

  it("go on with a handler parked before the client declared the extension", async () => {
    const server = newServer();
    server.tool("form", {
      task: "optional",
      run: async (_args, ctx) => JSON.stringify((await ctx.elicit(NAME)).content),
    });
    const plain = await connectTasks(server, DIRECTED, { capabilities: { elicitation: {} } });
    const able = await connectTasks(server, DIRECTED);
    const { requestState, inputRequests } = await call(plain, "form");
    const [key] = Object.keys(inputRequests as object) as [string];
    const answer = await call(able, "form", { requestState, inputResponses: { [key]: ADA } });
    expect(answer).toMatchObject({ resultType: "complete", content: [{ text: '{"name":"Ada"}' }] });
  });
});

describe("listening", () => {
  it("tells how a task is, and every change, as tasks/get would", async () => {
    const server = newServer();
    const gate = latch();
    server.tool("form", {
      task: "required",
      async run(_args, ctx) {
        await gate.promise;
        return JSON.stringify((await ctx.elicit(NAME)).content);
      },
    });
    const peer = await connectTasks(server, DIRECTED);
    const taskId = await create(peer, "form");
    peer.request("subscriptions/listen", { notifications: { taskIds: [taskId, "unknown"] } }).catch(() => undefined);
    const next = (method: string): Promise<JsonObject> =>
      peer.next((message) => message["method"] === method).then((message) => message["params"] as JsonObject);
    expect(await next("notifications/subscriptions/acknowledged")).toMatchObject({
      notifications: { taskIds: [taskId] },
    });
    expect(await next("notifications/tasks")).toMatchObject({ taskId, status: "working" });
    gate.resolve();
    const { inputRequests } = await next("notifications/tasks");
    const [key] = Object.keys(inputRequests as object) as [string];
    await peer.request("tasks/update", { taskId, inputResponses: { [key]: ADA } });
    expect(await next("notifications/tasks")).toMatchObject({ status: "working" });
    const { _meta: _m, ...last } = await next("notifications/tasks");
    const { _meta, resultType, ...got } = await peer.request("tasks/get", { taskId });
    expect(last).toEqual(got);
    expect(last).toMatchObject({ status: "completed", result: { content: [{ text: '{"name":"Ada"}' }] } });
  });
});
