// What a client may take for an answer decides what it is promised: no stream for those who read none, and only streams for those who ask for them.
import { describe, expect, it } from "vitest";
import { Server } from "../../src/server/server.js";
import {
  call,
  gate,
  JSON_TYPES,
  type Json,
  modern,
  modernHeaders,
  post,
  send,
  session,
  start,
  testServer,
} from "./http-fixture.js";

const JSON_ONLY = { accept: "application/json" };
const STREAMS_ONLY = { accept: "text/event-stream" };

function asked(url: string, message: Json, extra: Record<string, string> = {}): ReturnType<typeof post> {
  return post(url, message, { ...modernHeaders(message), ...extra });
}

describe("an endpoint or a client without streams", () => {
  it.each([
    ["an endpoint that answers in JSON", "json", {}],
    ["a client that reads nothing else", "auto", JSON_ONLY],
    ["a client that reads nothing else, of streams", "sse", JSON_ONLY],
  ] as const)(
    "%s declares nothing that comes unasked, and answers a listen at once",
    async (_name, answers, accept) => {
      const { url } = await start(testServer(), { answers });
      const told = JSON.parse((await asked(url, modern("server/discover"), accept)).text) as { result: Json };
      expect(told.result["capabilities"]).toEqual({ tools: {}, resources: {}, prompts: {} });
      const listening = modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
      const reply = await asked(url, listening, accept);
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([404, { id: 1, error: { code: -32601 } }]);
    },
  );

  it("leaves everybody else what they had", async () => {
    const { url } = await start();
    const told = JSON.parse((await asked(url, modern("server/discover"))).text) as { result: Json };
    expect(told.result["capabilities"]).toMatchObject({ tools: { listChanged: true }, resources: { subscribe: true } });
  });

  it.each(["auto", "json"] as const)("hears at once that nobody can be asked (%s)", async (answers) => {
    const { url } = await start(testServer(), { answers });
    const opened = await session(url, "2025-11-25", { capabilities: { elicitation: {} } });
    const reply = await opened.post(call("ask"), answers === "json" ? {} : JSON_ONLY);
    expect(reply.text).toContain("cannot be asked elicitation/create");
  });
});

describe("a client that reads only streams", () => {
  it("gets its answers in streams, in sessions and without", async () => {
    const { url } = await start();
    const replies = [
      await asked(url, modern("tools/call", { name: "echo", arguments: { text: "x" } }), STREAMS_ONLY),
      await (await session(url)).post(call("echo", { text: "x" }), STREAMS_ONLY),
      await (await session(url)).post(call("ask", {}), STREAMS_ONLY),
    ];
    for (const reply of replies) {
      expect(reply.headers["content-type"]).toBe("text/event-stream");
      expect(reply.text).toMatch(/^(?:id: .*\n)?data: \{"jsonrpc"/m);
    }
  });

  it.each(["*/*", "text/event-stream, */*", "application/*, text/event-stream", "application/json, text/event-stream"])(
    "is not who also takes JSON (%s)",
    async (accept) => {
      const { url } = await start();
      const reply = await asked(url, modern("tools/call", { name: "echo", arguments: { text: "x" } }), { accept });
      expect(reply.headers["content-type"]).toBe("application/json");
    },
  );
});

describe("the POST of a cancelled request", () => {
  it.each([
    ["2025-03-26", JSON_TYPES.accept, "text/event-stream"],
    ["2025-06-18", JSON_TYPES.accept, "text/event-stream"],
    ["2025-11-25", JSON_TYPES.accept, "text/event-stream"],
    ["2025-11-25", "application/json", "application/json"],
  ])("of %s is answered as a request (%s)", async (revision, accept, type) => {
    const begun = gate();
    const server = new Server({ name: "t", version: "1" });
    server.tool("slow", {
      run: async (_, ctx) => {
        begun.open();
        await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      },
    });
    const { url } = await start(server);
    const opened = await session(url, revision);
    const reply = send(url, {
      headers: { ...JSON_TYPES, ...opened.headers, accept },
      body: JSON.stringify(revision === "2025-03-26" ? [call("slow", {}, "c")] : call("slow", {}, "c")),
    });
    await begun.opened;
    const notice = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c" } };
    expect((await opened.post(notice)).status).toBe(202);
    const { status, headers, text } = await reply;
    expect([status, headers["content-type"]]).toEqual([200, type]);
    if (type === "application/json") expect(JSON.parse(text)).toMatchObject({ error: { code: -32800 } });
    else expect(text).not.toContain("data:");
  });
});
