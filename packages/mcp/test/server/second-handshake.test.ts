// Bridges give several clients one pipe: each begins with a handshake of its own, and all of them are served.
import { describe, expect, it } from "vitest";
import { type EndedSession, RpcError, Server } from "@secure-local/mcp/server";
import { handshake, type Message, serveStub, stateless, turns } from "../support/stub-transport.js";

function resultOf(message: Message): Message {
  return message["result"] as Message;
}

/** A server whose tool `slow` answers when it is told to. */
function slowServer(ended: EndedSession[] = []): { readonly server: Server; readonly release: () => void } {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = new Server({ name: "s", version: "1", onSessionEnd: (one) => ended.push(one) });
  server.tool("greet", { title: "Greet", run: () => "hello" });
  server.tool("slow", {
    output: { type: "object" },
    run: async (): Promise<Message> => {
      await held;
      return { done: true };
    },
  });
  return { server, release };
}

describe("a second handshake on one pipe", () => {
  it("opens a new session: revision, capabilities and level are those of the last one", async () => {
    const ended: EndedSession[] = [];
    const { server } = slowServer(ended);
    server.tool("ask", {
      run: async (_args, ctx) => (await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } })).action,
    });
    const peer = serveStub(server);
    for (const [id, date] of ["2024-11-05", "2025-11-25", "2025-06-18"].entries()) {
      peer.send(handshake(id, date, date === "2025-11-25" ? {} : { elicitation: {} }));
      expect(resultOf(await peer.answer(id))).toMatchObject({ protocolVersion: date });
    }
    peer.send({ jsonrpc: "2.0", id: 3, method: "logging/setLevel", params: { level: "error" } });
    await peer.answer(3);
    peer.send({ jsonrpc: "2.0", id: 4, method: "tools/list" });
    const { tools } = resultOf(await peer.answer(4)) as { tools: Message[] };
    expect(tools.find(({ name }) => name === "greet")).toMatchObject({ title: "Greet" });
    peer.send(handshake(5, "2024-11-05"));
    await peer.answer(5);
    server.log("info", "hello again");
    peer.send({ jsonrpc: "2.0", id: 6, method: "tools/list" });
    expect(JSON.stringify(await peer.answer(6))).not.toContain('"title"');
    peer.send({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "ask" } });
    expect(resultOf(await peer.answer(7))).toMatchObject({ isError: true });
    expect(peer.written.filter(({ method }) => method === "notifications/message")).toHaveLength(1);
    expect(ended.map(({ revision }) => revision)).toEqual(["2024-11-05", "2025-11-25", "2025-06-18"]);
    await peer.serving.close();
    expect(ended).toHaveLength(4);
  });

  it("leaves calls in service to their end, answered in the revision they came in", async () => {
    const { server, release } = slowServer();
    const peer = serveStub(server);
    peer.send(handshake(0, "2024-11-05"));
    await peer.answer(0);
    peer.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "slow" } });
    peer.send(handshake(2, "2025-11-25"));
    await peer.answer(2);
    peer.send({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "slow" } });
    release();
    expect(resultOf(await peer.answer(1))).not.toHaveProperty("structuredContent");
    expect(resultOf(await peer.answer(3))).toMatchObject({ structuredContent: { done: true } });
  });

  it("is told of changes once, and of no resource that only the session before subscribed to", async () => {
    const watched: string[] = [];
    const { server } = slowServer();
    server.resource("test://a", {
      read: () => "a",
      watch: () => {
        watched.push("watched");
        return () => void watched.push("left");
      },
    });
    await turns();
    const peer = serveStub(server);
    peer.send(handshake(0));
    await peer.answer(0);
    peer.send({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "test://a" } });
    await peer.answer(1);
    peer.send(handshake(2));
    await peer.answer(2);
    expect(watched).toEqual(["watched", "left"]);
    server.resourceUpdated("test://a");
    server.tool("new", { run: () => "" });
    await turns();
    expect(peer.written.filter((message) => "method" in message).map(({ method }) => method)).toEqual([
      "notifications/tools/list_changed",
    ]);
  });

  it("lets a subscription that was under way watch nothing", async () => {
    const watched: string[] = [];
    const { server } = slowServer();
    server.resource("test://a", {
      read: () => "a",
      watch: () => {
        watched.push("watched");
        return undefined;
      },
    });
    server.use(async (call, next) => {
      if (call.method === "resources/subscribe") await turns(4);
      return next();
    });
    const peer = serveStub(server);
    peer.send(handshake(0));
    peer.send({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "test://a" } });
    peer.send(handshake(2));
    await peer.answer(1);
    expect(watched).toEqual([]);
  });

  it("leaves the session as it was when it is refused, at once or later", async () => {
    const ended: EndedSession[] = [];
    const { server } = slowServer(ended);
    let admitted = 1;
    server.use(async (call, next) => {
      if (call.method !== "initialize") return next();
      const mine = admitted--;
      await turns(2);
      if (mine <= 0) throw new RpcError(-32603, "Too many sessions");
      return next();
    });
    await turns();
    const peer = serveStub(server);
    peer.send(handshake(0, "2025-11-25"));
    await peer.answer(0);
    peer.send(handshake(1, "2024-11-05"));
    peer.send(handshake(2, "2024-11-05"));
    expect(await peer.answer(1)).toHaveProperty("error");
    expect(await peer.answer(2)).toHaveProperty("error");
    peer.send({ jsonrpc: "2.0", id: 4, method: "initialize", params: {} });
    expect(await peer.answer(4)).toHaveProperty("error");
    peer.send({ jsonrpc: "2.0", id: 5, method: "tools/list" });
    expect(JSON.stringify(await peer.answer(5))).toContain('"title":"Greet"');
    server.tool("new", { run: () => "" });
    await turns();
    expect(peer.written.filter(({ method }) => method === "notifications/tools/list_changed")).toHaveLength(1);
    expect(ended).toEqual([]);
  });

  it("of many at once leaves the last that was admitted", async () => {
    const ended: EndedSession[] = [];
    const { server } = slowServer(ended);
    const refused = new Set([2, 4]);
    const waits: Record<number, number> = { 1: 8, 2: 2, 3: 4, 4: 6 };
    server.use(async (call, next) => {
      if (call.method !== "initialize") return next();
      await turns(waits[call.id as number] ?? 1);
      if (refused.has(call.id as number)) throw new RpcError(-32603, "Too many sessions");
      return next();
    });
    const peer = serveStub(server);
    const dates: Record<number, string> = { 1: "2025-11-25", 2: "2024-11-05", 3: "2025-06-18", 4: "2024-11-05" };
    for (const id of [1, 2, 3, 4]) peer.send(handshake(id, dates[id]));
    await Promise.all([1, 2, 3, 4].map((id) => peer.answer(id)));
    await peer.serving.close();
    expect(ended.map(({ revision }) => revision)).toEqual(["2025-11-25", "2025-06-18"]);
  });

  it("goes on beside requests that need no session", async () => {
    const { server } = slowServer();
    const peer = serveStub(server);
    peer.send(handshake(0));
    peer.send(stateless("e", "tools/list"));
    peer.send(handshake(1, "2025-06-18"));
    expect(resultOf(await peer.answer(1))).toMatchObject({ protocolVersion: "2025-06-18" });
    expect(resultOf(await peer.answer("e"))).toHaveProperty("tools");
  });
});
