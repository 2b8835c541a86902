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

describe("a question of a task that nobody waits for any more", () => {
  /** How a handler ends its question, and what becomes of that. */
  const ENDS: Readonly<
    Record<string, (ask: (signal?: AbortSignal) => Promise<unknown>, asked: Promise<unknown>) => unknown>
  > = {
    CANCELLED(ask, asked) {
      const stop = new AbortController();
      void asked.then(() => stop.abort());
      return ask(stop.signal);
    },
    EXPIRED(ask, asked) {
      void ask();
      return asked;
    },
  };

  it.each([DIRECTED, REQUESTED].flatMap((revision) => Object.keys(ENDS).map((code) => ({ revision, code }))))(
    "ends with $code in $revision",
    async ({ revision, code }) => {
      const told: string[] = [];
      const server = newServer({ report: (level, text) => void told.push(`${level}: ${text}`) });
      const [asked, failed] = [latch<unknown>(), latch<unknown>()];
      server.tool("ask", {
        task: "required",
        async run(_args, ctx) {
          const ask = (signal?: AbortSignal): Promise<unknown> => {
            const asking = ctx.elicit(NAME, signal && { signal });
            asking.catch((error: unknown) => failed.resolve(error));
            return asking.catch(() => "gone on");
          };
          await (ENDS[code] as (typeof ENDS)[string])(ask, asked.promise);
          return "done";
        },
      });
      const silent = { "elicitation/create": () => new Promise<never>(() => undefined) };
      const peer = await connectTasks(server, revision, { answer: silent });
      const began = await peer.request("tools/call", {
        name: "ask",
        arguments: {},
        ...(revision === REQUESTED ? { task: {} } : {}),
      });
      const { taskId } = (began["task"] ?? began) as { taskId: string };
      const result = revision === REQUESTED ? peer.request("tasks/result", { taskId }) : undefined;
      await untilStatus(peer, taskId, "input_required");
      if (result !== undefined) await peer.next((message) => message["method"] === "elicitation/create");
      asked.resolve("asked");
      expect(await failed.promise).toMatchObject({ name: "AskError", code });
      await result;
      await untilStatus(peer, taskId, "completed");
      if (result !== undefined) expect(peer.messages.map(({ method }) => method)).toContain("notifications/cancelled");
      const awaited = expect.stringContaining("ended before its client had answered elicitation/create") as string;
      expect(told.filter((line) => line.startsWith("warning"))).toEqual(code === "EXPIRED" ? [awaited] : []);
    },
  );

  it.each([DIRECTED, REQUESTED])("is not asked in %s where its signal is aborted before", async (revision) => {
    const server = newServer({ report: false });
    server.tool("ask", {
      task: "required",
      run: (_args, ctx) =>
        ctx.elicit(NAME, { signal: AbortSignal.abort() }).catch(({ code }: { code: string }) => code),
    });
    const peer = await connectTasks(server, revision);
    const began = await peer.request("tools/call", {
      name: "ask",
      arguments: {},
      ...(revision === REQUESTED ? { task: {} } : {}),
    });
    const { taskId } = (began["task"] ?? began) as { taskId: string };
    await untilStatus(peer, taskId, "completed");
    const seen = JSON.stringify(peer.messages);
    expect(seen).not.toContain("input_required");
    expect(seen).not.toContain("elicitation/create");
  });
});
