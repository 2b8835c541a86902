// Tasks as sessions of 2025-11-25 ask for them: created by the call, looked at, cancelled, and fetched in one long request.
import { describe, expect, it } from "vitest";
import { inputRequired } from "../../src/server/interactive.js";
import { RpcError } from "../../src/jsonrpc/errors.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { MemoryPeer } from "../../src/serve/connect-in-memory.js";
import type { Server } from "../../src/server/server.js";
import { connectTasks, latch, newServer, refusal, RELATED, REQUESTED, untilStatus } from "./task-peer.js";

const NAME = { message: "Who?", schema: { name: { type: "string" } } } as const;

function call(peer: MemoryPeer, name: string, task: JsonObject = {}, more: JsonObject = {}): Promise<JsonObject> {
  return peer.request("tools/call", { name, arguments: {}, task, ...more });
}

async function create(peer: MemoryPeer, name: string, more: JsonObject = {}): Promise<string> {
  const { task } = (await call(peer, name, {}, more)) as { task: { taskId: string } };
  return task.taskId;
}

/** A server whose tool `slow` ends when it is told to. */
function slowServer(): { server: Server; gate: ReturnType<typeof latch<unknown>>; aborted: () => boolean } {
  const server = newServer();
  const gate = latch<unknown>();
  let signal: AbortSignal | undefined;
  server.tool("slow", {
    task: "optional",
    run: (_args, ctx) => ((signal = ctx.signal), gate.promise as Promise<string>),
  });
  return { server, gate, aborted: () => signal?.aborted === true };
}

describe("capabilities", () => {
  it("declares tasks once a tool can be one, and never in another revision", async () => {
    const { server } = slowServer();
    const peer = await connectTasks(server, REQUESTED);
    const [opened] = peer.messages;
    const { capabilities } = (opened as JsonObject)["result"] as { capabilities: JsonObject };
    expect(capabilities["tasks"]).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    expect(capabilities).not.toHaveProperty("extensions");
    const { tools } = await peer.request("tools/list");
    expect(tools).toMatchObject([{ name: "slow", execution: { taskSupport: "optional" } }]);
  });

  it("has no methods of tasks and ignores params.task without such a tool", async () => {
    const server = newServer();
    server.tool("plain", { run: () => "plain" });
    const peer = await connectTasks(server, REQUESTED);
    expect(peer.messages[0]?.["result"]).not.toHaveProperty("capabilities.tasks");
    expect(await call(peer, "plain")).toMatchObject({ content: [{ text: "plain" }] });
    expect(await refusal(peer.request("tasks/get", { taskId: "x" }))).toMatchObject({ code: -32601 });
  });

  it("keeps the methods of tasks while there are some, though the tool is gone", async () => {
    const server = newServer();
    const tool = server.tool("gone", { task: "optional", run: () => "still here" });
    const peer = await connectTasks(server, REQUESTED);
    const taskId = await create(peer, "gone");
    tool.remove();
    expect(await peer.request("tasks/result", { taskId })).toMatchObject({ content: [{ text: "still here" }] });
  });

  it("lists tasks only for callers with a name", async () => {
    const { server, gate } = slowServer();
    const ann = await connectTasks(server, REQUESTED, { principal: "ann" });
    const bob = await connectTasks(server, REQUESTED, { principal: "bob" });
    const nobody = await connectTasks(server, REQUESTED);
    expect(ann.messages[0]).toHaveProperty("result.capabilities.tasks.list", {});
    const ids = [await create(ann, "slow"), await create(ann, "slow")];
    const { tasks } = (await ann.request("tasks/list")) as { tasks: { taskId: string }[] };
    expect(tasks.map(({ taskId }) => taskId)).toEqual(ids.sort());
    expect(await bob.request("tasks/list")).toEqual({ tasks: [] });
    expect(await refusal(nobody.request("tasks/list"))).toMatchObject({ code: -32601 });
    gate.resolve("done");
  });
});

describe("creation", () => {
  it("answers at once with a task that works, and later with exactly what the call gave (M56)", async () => {
    const { server, gate } = slowServer();
    const peer = await connectTasks(server, REQUESTED);
    const created = (await call(peer, "slow", { ttl: 60_000 })) as { task: JsonObject };
    expect(created.task).toMatchObject({ status: "working", ttl: 60_000, pollInterval: 1_000 });
    const { taskId } = created.task as { taskId: string };
    expect(taskId).toMatch(/^[\w-]{43}$/);
    expect(await peer.request("tasks/get", { taskId })).toMatchObject({ taskId, status: "working" });
    const result = peer.request("tasks/result", { taskId });
    gate.resolve("done");
    expect(await result).toEqual({
      content: [{ type: "text", text: "done" }],
      isError: false,
      _meta: { [RELATED]: { taskId } },
    });
    const ended = await peer.request("tasks/get", { taskId });
    expect(ended).toMatchObject({ status: "completed", createdAt: created.task["createdAt"] });
    expect(ended).not.toHaveProperty("result");
    expect(await peer.request("tasks/result", { taskId })).toEqual(await result);
  });

  it("is a plain call without params.task, and -32601 where the tool and the call do not agree (M56)", async () => {
    const server = newServer();
    server.tool("may", { task: "optional", run: () => "may" });
    server.tool("must", { task: "required", run: () => "must" });
    server.tool("never", { run: () => "never" });
    const peer = await connectTasks(server, REQUESTED);
    expect(await peer.request("tools/call", { name: "may" })).toMatchObject({ content: [{ text: "may" }] });
    expect(await refusal(peer.request("tools/call", { name: "must" }))).toMatchObject({ code: -32601 });
    expect(await refusal(call(peer, "never"))).toMatchObject({ code: -32601 });
    expect(await refusal(call(peer, "unknown"))).toMatchObject({ code: -32602 });
    expect(await refusal(peer.request("tools/call", { name: "may", task: 1 }))).toMatchObject({ code: -32602 });
    expect(await refusal(call(peer, "may", { ttl: "long" }))).toMatchObject({
      code: -32602,
      data: { path: "/task/ttl" },
    });
  });

  it("runs tools that must be tasks in line for revisions without any", async () => {
    const server = newServer();
    server.tool("must", { task: "required", run: () => "must" });
    const { connect } = await import("../support/connect.js");
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18"]) {
      const peer = await connect(server, { revision });
      expect(await call(peer, "must")).toMatchObject({ content: [{ text: "must" }] });
      const { tools } = (await peer.request("tools/list")) as { tools: JsonObject[] };
      expect(tools[0]).not.toHaveProperty("execution");
      expect(await refusal(peer.request("tasks/get", { taskId: "x" }))).toMatchObject({ code: -32601 });
    }
  });

  it("refuses in the answer what a middleware refuses, and creates nothing", async () => {
    const { server } = slowServer();
    server.use((seen, next) => {
      if (seen.method === "tools/call") throw new RpcError(-32001, "Not today");
      return next();
    });
    const peer = await connectTasks(server, REQUESTED, { principal: "ann" });
    expect(await refusal(call(peer, "slow"))).toMatchObject({ code: -32001 });
    expect(await peer.request("tasks/list")).toEqual({ tasks: [] });
  });

  it("begins with a tool that comes late, and disturbs no call that is in service then", async () => {
    const server = newServer();
    const [reached, hold] = [latch(), latch()];
    const seen: string[] = [];
    server.tool("plain", { run: () => "plain" });
    server.use(async ({ method }, next) => {
      if (method !== "tools/call") return next();
      seen.push("outer");
      reached.resolve();
      await hold.promise;
      return next();
    });
    server.use(({ method }, next) => {
      if (method === "tools/call") seen.push("inner");
      return next();
    });
    const peer = await connectTasks(server, REQUESTED);
    const inService = peer.request("tools/call", { name: "plain" });
    await reached.promise;
    server.tool("late", { task: "optional", run: () => "late" });
    hold.resolve();
    expect(await inService).toMatchObject({ content: [{ text: "plain" }] });
    expect(seen).toEqual(["outer", "inner"]);
    expect(await call(peer, "late")).toHaveProperty("task.status", "working");
  });

  it("passes the result of a task through every middleware", async () => {
    const { server, gate } = slowServer();
    server.use(async (seen, next) => {
      const answer = await next();
      return seen.method === "tools/call"
        ? { ...(answer as JsonObject), content: [{ type: "text", text: "clean" }] }
        : answer;
    });
    const peer = await connectTasks(server, REQUESTED);
    const taskId = await create(peer, "slow");
    gate.resolve("dirty");
    expect(await peer.request("tasks/result", { taskId })).toMatchObject({ content: [{ text: "clean" }] });
  });
});

describe("ends", () => {
  it("fails for a result that is an error, and for an error; tasks/result gives either as it is", async () => {
    const server = newServer();
    server.tool("tells", { task: "optional", run: (_args, ctx) => ctx.fail("broken") });
    server.tool("throws", {
      task: "optional",
      run: () => {
        throw new RpcError(-32050, "no", { why: 1 });
      },
    });
    const peer = await connectTasks(server, REQUESTED);
    const told = await create(peer, "tells");
    expect(await peer.request("tasks/result", { taskId: told })).toMatchObject({ isError: true });
    expect(await peer.request("tasks/get", { taskId: told })).toMatchObject({ status: "failed" });
    const thrown = await create(peer, "throws");
    const error = await refusal(peer.request("tasks/result", { taskId: thrown }));
    expect(error).toMatchObject({ code: -32050, message: "no", data: { why: 1 } });
    expect(await peer.request("tasks/get", { taskId: thrown })).toMatchObject({
      status: "failed",
      statusMessage: "no",
    });
  });

  it("cancels at once and for good, and refuses to cancel what has ended (M56)", async () => {
    const { server, gate, aborted } = slowServer();
    const peer = await connectTasks(server, REQUESTED);
    const taskId = await create(peer, "slow");
    const result = refusal(peer.request("tasks/result", { taskId }));
    expect(await peer.request("tasks/cancel", { taskId })).toMatchObject({ taskId, status: "cancelled" });
    expect(aborted()).toBe(true);
    expect((await result).message).toContain("cancelled");
    gate.resolve("too late");
    expect(await peer.request("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
    expect(await refusal(peer.request("tasks/cancel", { taskId }))).toMatchObject({ code: -32602 });
  });

  it("counts handlers that do not care about their cancellation", async () => {
    const server = newServer({ limits: { runningTasks: 1 } });
    const gate = latch<string>();
    server.tool("stubborn", { task: "optional", run: () => gate.promise });
    const peer = await connectTasks(server, REQUESTED);
    await peer.request("tasks/cancel", { taskId: await create(peer, "stubborn") });
    expect(await refusal(call(peer, "stubborn"))).toMatchObject({ code: -32603, data: { limit: 1 } });
    gate.resolve("at last");
    await new Promise((resolve) => setTimeout(resolve));
    expect(await call(peer, "stubborn")).toHaveProperty("task.status", "working");
  });

  it("lives as long as was asked for, within reason", async () => {
    const { server, gate } = slowServer();
    const peer = await connectTasks(server, REQUESTED);
    const ttls = [0, 5_000, 10 ** 12, null, undefined].map(async (ttl) => {
      const { task } = (await call(peer, "slow", ttl === undefined ? {} : { ttl })) as { task: JsonObject };
      return task["ttl"];
    });
    expect(await Promise.all(ttls)).toEqual([1_000, 5_000, 86_400_000, 900_000, 900_000]);
    gate.resolve("done");
  });

  it("does not cancel the task with the request it came with, nor with one that waits for it", async () => {
    const { server, gate } = slowServer();
    const peer = await connectTasks(server, REQUESTED);
    const taskId = await create(peer, "slow");
    peer.request("tasks/result", { taskId }).catch(() => undefined);
    peer.notify("notifications/cancelled", { requestId: 2 });
    peer.notify("notifications/cancelled", { requestId: 3 });
    gate.resolve("done");
    expect(await peer.request("tasks/result", { taskId })).toMatchObject({ content: [{ text: "done" }] });
  });

  it("knows nothing of a task to anybody but its principal", async () => {
    const { server, gate } = slowServer();
    const ann = await connectTasks(server, REQUESTED, { principal: "ann" });
    const taskId = await create(ann, "slow");
    const unknown = await refusal(ann.request("tasks/get", { taskId: "unknown" }));
    for (const principal of ["bob", ""]) {
      const peer = await connectTasks(server, REQUESTED, { principal });
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
        const { code, message, data } = await refusal(peer.request(method, { taskId }));
        expect({ code, message, data }).toEqual({ code: unknown.code, message: unknown.message, data: unknown.data });
      }
    }
    gate.resolve("done");
    expect(unknown.code).toBe(-32602);
  });
});

describe("while it runs", () => {
  it("asks on the stream of tasks/result, marked with the task", async () => {
    const server = newServer();
    server.tool("greet", {
      task: "required",
      async run(_args, ctx) {
        const { content } = await ctx.elicit(NAME);
        const { content: said } = await ctx.sample({ messages: [], maxTokens: 5 });
        return `${content?.name}: ${JSON.stringify(said)}, ${(await ctx.roots()).length}`;
      },
    });
    const metas: unknown[] = [];
    const answering = (result: JsonObject) => (params: JsonObject) => (metas.push(params["_meta"]), result);
    const peer = await connectTasks(server, REQUESTED, {
      answer: {
        "elicitation/create": answering({ action: "accept", content: { name: "Ada" } }),
        "sampling/createMessage": answering({ role: "assistant", model: "m", content: { type: "text", text: "hi" } }),
        "roots/list": answering({ roots: [] }),
      },
    });
    const taskId = await create(peer, "greet");
    await untilStatus(peer, taskId, "input_required");
    expect(metas).toEqual([]);
    const result = await peer.request("tasks/result", { taskId });
    expect(result).toMatchObject({ content: [{ text: 'Ada: {"type":"text","text":"hi"}, 0' }] });
    expect(metas).toEqual(Array.from({ length: 3 }, () => ({ [RELATED]: { taskId } })));
  });

  it("asks again on another stream when the first is cancelled", async () => {
    const server = newServer();
    server.tool("greet", {
      task: "required",
      run: async (_args, ctx) => JSON.stringify((await ctx.elicit(NAME)).content),
    });
    const isQuestion = (message: JsonObject): boolean => message["method"] === "elicitation/create";
    const silent = latch<JsonObject>();
    let answers = 0;
    const peer = await connectTasks(server, REQUESTED, {
      answer: {
        "elicitation/create": () => (answers++ === 0 ? silent.promise : { action: "accept", content: { name: "Ada" } }),
      },
    });
    const taskId = await create(peer, "greet");
    peer.request("tasks/result", { taskId }).catch(() => undefined);
    const first = await peer.next(isQuestion);
    peer.notify("notifications/cancelled", { requestId: 3 });
    expect(await peer.request("tasks/result", { taskId })).toMatchObject({ content: [{ text: '{"name":"Ada"}' }] });
    const cancelled = peer.messages.find((message) => message["method"] === "notifications/cancelled");
    expect(cancelled?.["params"]).toMatchObject({ requestId: first.id });
  });

  it("asks again over the connection the client came back with", async () => {
    const server = newServer();
    server.tool("greet", {
      task: "required",
      run: async (_args, ctx) => JSON.stringify((await ctx.elicit(NAME)).content),
    });
    const lost = latch<JsonObject>();
    const first = await connectTasks(server, REQUESTED, { answer: { "elicitation/create": () => lost.promise } });
    const second = await connectTasks(server, REQUESTED, {
      answer: { "elicitation/create": () => ({ action: "accept", content: { name: "Ada" } }) },
    });
    const taskId = await create(first, "greet");
    const waiting = first.request("tasks/result", { taskId });
    await first.next((message) => message["method"] === "elicitation/create");
    expect(await second.request("tasks/result", { taskId })).toMatchObject({ content: [{ text: '{"name":"Ada"}' }] });
    expect(await waiting).toMatchObject({ content: [{ text: '{"name":"Ada"}' }] });
  });

  it("asks by hand on the same stream, and runs the handler again", async () => {
    const server = newServer();
    server.tool("greet", {
      task: "required",
      run: (_args, ctx) =>
        ctx.inputResponses === undefined
          ? inputRequired({ requests: { who: { method: "roots/list" } }, state: 7 })
          : `${JSON.stringify(ctx.inputResponses)} ${String(ctx.state)}`,
    });
    const peer = await connectTasks(server, REQUESTED, { answer: { "roots/list": () => ({ roots: [] }) } });
    const taskId = await create(peer, "greet");
    const result = await peer.request("tasks/result", { taskId });
    expect(result).toMatchObject({ content: [{ text: '{"who":{"roots":[]}} 7' }] });
  });

  it("keeps the progress token until the end, and tells of every status (M40)", async () => {
    const server = newServer();
    const gate = latch();
    server.tool("slow", {
      task: "optional",
      async run(_args, ctx) {
        await gate.promise;
        await ctx.progress(1, 2);
        await ctx.log("warning", "half");
        return "done";
      },
    });
    const peer = await connectTasks(server, REQUESTED);
    const taskId = await create(peer, "slow", { _meta: { progressToken: "p" } });
    gate.resolve();
    await peer.request("tasks/result", { taskId });
    await peer.request("ping");
    const of = (method: string): unknown[] =>
      peer.messages.filter((message) => message["method"] === method).map((message) => message["params"]);
    const _meta = { [RELATED]: { taskId } };
    expect(of("notifications/progress")).toEqual([{ progressToken: "p", progress: 1, total: 2, _meta }]);
    expect(of("notifications/message")).toEqual([{ level: "warning", data: "half", _meta }]);
    expect(of("notifications/tasks/status")).toMatchObject([{ taskId, status: "completed" }]);
  });

  it("sends what middleware makes of its notifications, before it is a task and after", async () => {
    const server = newServer();
    server.use((call, next) => {
      call.cleanNotifications((params) => ({ ...params, data: "cleaned" }));
      return next();
    });
    const gate = latch();
    server.tool("loud", {
      task: "optional",
      async run(_args, ctx) {
        await gate.promise;
        await ctx.log("warning", "raw");
      },
    });
    const peer = await connectTasks(server, REQUESTED);
    const taskId = await create(peer, "loud");
    const whole = peer.request("tools/call", { name: "loud" });
    gate.resolve();
    await Promise.all([whole, peer.request("tasks/result", { taskId }), peer.request("ping")]);
    const logged = peer.messages.filter(({ method }) => method === "notifications/message");
    expect(logged.map(({ params }) => (params as JsonObject)["data"])).toEqual(["cleaned", "cleaned"]);
  });
});
