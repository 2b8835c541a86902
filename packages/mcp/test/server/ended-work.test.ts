// The work of a caller who may not call any more ends, and nobody who has the name later goes on with it.
import { describe, expect, it } from "vitest";
import type { Server } from "@secure-local/mcp/server";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { MemoryPeer } from "../../src/serve/connect-in-memory.js";
import { connectTasks, DIRECTED, newServer, REQUESTED } from "../tasks/task-peer.js";

const NAME = { message: "Who?", schema: { name: { type: "string" } } } as const;
const ADA = { action: "accept", content: { name: "Ada" } };

/** A server with a task that runs until it is ended, and with handlers that ask. */
function working(): { readonly server: Server; readonly ended: string[] } {
  const server = newServer();
  const ended: string[] = [];
  server.tool("slow", {
    task: "optional",
    run: (_args, ctx) =>
      new Promise((_, reject) => {
        ctx.signal.addEventListener("abort", () => {
          ended.push("slow");
          reject(ctx.signal.reason);
        });
      }),
  });
  server.tool("quick", { task: "required", run: () => "hers" });
  for (const replay of [false, true])
    server.tool(replay ? "ask_again" : "ask", {
      replay,
      async run(_args, ctx) {
        const { content } = await ctx.elicit(NAME).catch((error: unknown) => {
          ended.push("ask");
          throw error;
        });
        return `for ${String(content?.name)}`;
      },
    });
  return { server, ended };
}

const called = (peer: MemoryPeer, name: string, more: JsonObject = {}): Promise<JsonObject> =>
  peer.request("tools/call", { name, arguments: {}, ...more });

async function begunBy(server: Server, principal: string) {
  const peer = await connectTasks(server, DIRECTED, { principal });
  const task = (await called(peer, "slow"))["taskId"] as string;
  const done = (await called(peer, "quick"))["taskId"] as string;
  const states = await Promise.all(
    ["ask", "ask_again"].map(async (name) => [name, (await called(peer, name))["requestState"] as string] as const),
  );
  const answered = (name: string, requestState: string, by: MemoryPeer = peer): Promise<string> =>
    called(by, name, { requestState, inputResponses: { "ask-1": ADA } }).then(
      (answer) => JSON.stringify(answer),
      (error: Error) => error.message,
    );
  const known = (taskId: string, by: MemoryPeer = peer): Promise<string> =>
    by.request("tasks/get", { taskId }).then(
      ({ status }) => String(status),
      (error: Error) => error.message,
    );
  return { task, done, states, answered, known };
}

describe("Server.endWorkOf", () => {
  it("cancels and forgets the tasks of the one caller, and refuses what was asked of them, and nobody else's", async () => {
    const { server, ended } = working();
    const [ada, ben] = [await begunBy(server, "ada"), await begunBy(server, "ben")];
    expect(await server.endWorkOf("ada")).toEqual({ tasks: 1, questions: 2 });
    expect(ended.toSorted()).toEqual(["ask", "ask", "slow"]);

    const again = await connectTasks(server, DIRECTED, { principal: "ada" });
    for (const taskId of [ada.task, ada.done]) expect(await ada.known(taskId, again)).toContain("no such task");
    for (const [name, state] of ada.states) expect(await ada.answered(name, state, again)).toContain("was ended");
    const list = await connectTasks(server, REQUESTED, { principal: "ada" });
    expect((await list.request("tasks/list"))["tasks"]).toEqual([]);

    expect(await ben.known(ben.task)).toBe("working");
    expect(await ben.known(ben.done)).toMatch(/working|completed/);
    for (const [name, state] of ben.states) expect(await ben.answered(name, state)).toContain("for Ada");
    await server.endTasks();
  });

  it("is no end of what whoever has the name begins later", async () => {
    const { server } = working();
    await server.endWorkOf("ada");
    await new Promise((resolve) => setTimeout(resolve, 5));
    const ada = await begunBy(server, "ada");
    expect(await ada.known(ada.task)).toBe("working");
    for (const [name, state] of ada.states) expect(await ada.answered(name, state)).toContain("for Ada");
    await server.endTasks();
  });
});
