// One task, two wires: it does not matter in which revision it was begun, looked at, answered or fetched.
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { connectTasks, DIRECTED, latch, newServer, RELATED, REQUESTED, untilStatus } from "./task-peer.js";

const NAME = { message: "Who?", schema: { name: { type: "string" } } } as const;
const ADA = { action: "accept", content: { name: "Ada" } };
const DONE = { content: [{ type: "text", text: '{"name":"Ada"}' }], isError: false };

function greeter(): ReturnType<typeof newServer> {
  const server = newServer();
  server.tool("greet", {
    task: "required",
    run: async (_args, ctx) => JSON.stringify((await ctx.elicit(NAME)).content),
  });
  return server;
}

describe("a task", () => {
  it("begun by a stateless request is asked and fetched by a session", async () => {
    const server = greeter();
    const directed = await connectTasks(server, DIRECTED);
    const requested = await connectTasks(server, REQUESTED, { answer: { "elicitation/create": () => ADA } });
    const { taskId } = (await directed.request("tools/call", { name: "greet", arguments: {} })) as { taskId: string };
    const result = await requested.request("tasks/result", { taskId });
    expect(result).toEqual({ ...DONE, _meta: { [RELATED]: { taskId } } });
    expect(await untilStatus(directed, taskId, "completed")).toMatchObject({ result: DONE });
  });

  it("begun by a session is answered by a stateless request, and the session's question is withdrawn", async () => {
    const server = greeter();
    const directed = await connectTasks(server, DIRECTED);
    const silent = latch<JsonObject>();
    const requested = await connectTasks(server, REQUESTED, { answer: { "elicitation/create": () => silent.promise } });
    const created = await requested.request("tools/call", { name: "greet", arguments: {}, task: {} });
    const { taskId } = created["task"] as { taskId: string };
    const result = requested.request("tasks/result", { taskId });
    const question = await requested.next((message) => message["method"] === "elicitation/create");
    const { inputRequests } = await untilStatus(directed, taskId, "input_required");
    const [key] = Object.keys(inputRequests as object) as [string];
    await directed.request("tasks/update", { taskId, inputResponses: { [key]: ADA } });
    expect(await result).toMatchObject(DONE);
    const withdrawn = requested.messages.find((message) => message["method"] === "notifications/cancelled");
    expect(withdrawn?.["params"]).toMatchObject({ requestId: question.id });
  });
});
