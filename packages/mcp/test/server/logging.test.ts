import { describe, expect, it } from "vitest";
import { type LoggingLevel, Server, type ServerOptions } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";
import { envelope, handshake, type Message, serveStub, turns } from "../support/stub-transport.js";

const LEVELS: readonly LoggingLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

function chatty(options: Partial<ServerOptions> = {}): Server {
  const server = new Server({ name: "s", version: "1", ...options });
  server.tool("chatter", {
    async run(_args, ctx) {
      for (const level of LEVELS) await ctx.log(level, level);
      return "said";
    },
  });
  return server;
}

const logs = (messages: readonly Message[]): Message[] =>
  messages.filter((each) => each["method"] === "notifications/message").map((each) => each["params"] as Message);

describe("log messages", () => {
  it.each(LEVELS)("from %s on reach a session that asked for them", async (level) => {
    const peer = await connect(chatty(), { revision: "2025-03-26" });
    await peer.request("logging/setLevel", { level });
    await peer.request("tools/call", { name: "chatter" });
    expect(logs(peer.messages).map((each) => each["data"])).toEqual(LEVELS.slice(LEVELS.indexOf(level)));
  });

  it.each(LEVELS)("from %s on reach the one request that asked for them, and no other (M41)", async (logLevel) => {
    const peer = await connect(chatty(), { logLevel });
    await peer.request("tools/call", { name: "chatter" });
    expect(logs(peer.messages).map((each) => each["data"])).toEqual(LEVELS.slice(LEVELS.indexOf(logLevel)));
    const silent = await connect(chatty());
    await silent.request("tools/call", { name: "chatter" });
    expect(logs(silent.messages)).toEqual([]);
  });

  it("are not sent at all by a server that does not declare them", async () => {
    const server = chatty({ capabilities: { logging: false } });
    const session = await connect(server, { revision: "2025-11-25" });
    const peer = await connect(server, { logLevel: "debug" });
    for (const each of [session, peer]) await each.request("tools/call", { name: "chatter" });
    server.log("emergency", "silence");
    await turns();
    expect([...logs(session.messages), ...logs(peer.messages)]).toEqual([]);
    await expect(session.request("logging/setLevel", { level: "info" })).rejects.toMatchObject({ code: -32601 });
  });

  it("of a level nobody knows are the author's mistake", async () => {
    const reports: unknown[] = [];
    const server = chatty({ report: (_level, _message, details) => reports.push(details?.["error"]) });
    server.tool("loud", { run: async (_args, ctx) => ctx.log("loud" as LoggingLevel, "x") });
    await (await connect(server)).request("tools/call", { name: "loud" });
    expect(reports).toMatchObject([{ code: "BAD_LEVEL" }]);
  });
});

describe("unsolicited log messages", () => {
  it("reach sessions whose level admits them, and nobody else", async () => {
    const server = chatty();
    const [one, two, three] = [
      await connect(server, { revision: "2025-11-25" }),
      await connect(server, { revision: "2024-11-05" }),
      await connect(server, { logLevel: "debug" }),
    ];
    await two.request("logging/setLevel", { level: "error" });
    server.log("warning", { disk: "full" }, "disk");
    server.log("debug", "details");
    await turns();
    expect(logs(one.messages)).toEqual([{ level: "warning", logger: "disk", data: { disk: "full" } }]);
    expect([...logs(two.messages), ...logs(three.messages)]).toEqual([]);
  });

  it("to a reader that is behind are bounded; how many were left out is told, at a level it wants", async () => {
    const server = chatty();
    const peer = serveStub(server);
    peer.send(handshake(1));
    peer.send({ jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "critical" } });
    peer.fallBehind();
    for (let n = 0; n < 1_000; n++) server.log("critical", n);
    expect(logs(peer.written)).toHaveLength(100);
    await peer.catchUp();
    server.log("alert", "last");
    expect(logs(peer.written).slice(100)).toEqual([
      {
        level: "alert",
        logger: "server",
        data: "900 log messages were dropped because they were not read fast enough",
      },
      { level: "alert", data: "last" },
    ]);
  });
});

it.each(["2025-11-25", "2026-07-28"])(
  "a call's messages have a bounded rate, and what was left out is counted (%s)",
  async (revision) => {
    const server = new Server({ name: "s", version: "1" });
    server.tool("chatty", {
      run: async (_args, ctx) => {
        for (let i = 0; i < 3_000; i++) void ctx.log("warning", i);
        await ctx.log("debug", "not wanted");
      },
    });
    const peer = serveStub(server);
    if (revision === "2025-11-25") {
      peer.send(handshake(0, revision));
      await peer.answer(0);
      peer.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "chatty" } });
    } else {
      const _meta = envelope({}, { "io.modelcontextprotocol/logLevel": "info" });
      peer.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "chatty", _meta } });
    }
    await peer.answer(1);
    const said = peer.written
      .filter(({ method }) => method === "notifications/message")
      .map(({ params }) => (params as { data: unknown }).data);
    const told = said.filter((data) => typeof data === "string").map((data) => Number.parseInt(data, 10));
    expect(told.length).toBeGreaterThan(0);
    expect(said.length).toBeLessThan(600);
    expect(said.length - told.length + told.reduce((sum, each) => sum + each, 0)).toBe(3_000);
    expect(peer.written.at(-1)).toHaveProperty("result");
  },
);
