import { describe, expect, it, vi } from "vitest";
import { Server, type ServerOptions } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { connect } from "../support/connect.js";
import { handshake, type Message, serveStub, stateless, type Stub, turns } from "../support/stub-transport.js";
import { within } from "../support/within.js";

function working() {
  const server = new Server({ name: "s", version: "1" });
  const seen = { aborted: 0 };
  const gates: (() => void)[] = [];
  server.tool("gate", { run: () => new Promise<string>((resolve) => gates.push(() => resolve("through"))) });
  server.tool("hang", {
    run: (_args, ctx) =>
      new Promise<string>(() => {
        ctx.signal.addEventListener("abort", () => seen.aborted++);
      }),
  });
  return { server, seen, open: () => gates.splice(0).forEach((gate) => gate()) };
}

describe("closing", () => {
  it("lets what runs finish within the grace time, and refuses what is new", async () => {
    const { server, open } = working();
    const peer = serveStub(server, undefined, { graceMs: 10_000 });
    peer.send(stateless(1, "tools/call", { name: "gate" }));
    const closed = peer.serving.close();
    peer.send(stateless(2, "tools/list"));
    const message = "The server is shutting down and has not served this: send it again in a moment";
    expect((await peer.answer(2))["error"]).toMatchObject({ code: -32603, message });
    open();
    await closed;
    expect((await peer.answer(1))["result"]).toMatchObject({ content: [{ text: "through" }] });
  });

  it("cancels what does not finish, answers nothing for it, and is done all the same", async () => {
    const { server, seen } = working();
    const peer = serveStub(server, undefined, { graceMs: 5 });
    peer.send(stateless(1, "tools/call", { name: "hang" }));
    await peer.serving.close();
    await peer.serving.closed;
    expect(seen.aborted).toBe(1);
    expect(peer.written).toEqual([]);
  });

  it("may be asked for twice, by either side", async () => {
    const { server } = working();
    const peer = serveStub(server);
    peer.end();
    const closing = Promise.all([peer.serving.close(), peer.serving.close(), peer.serving.closed]);
    await expect(within(closing, "all three end")).resolves.toHaveLength(3);
  });

  it("rejects the questions a handler had open", async () => {
    const reports: unknown[] = [];
    const server = new Server({
      name: "s",
      version: "1",
      report: (_level, _text, details) => reports.push(details?.["error"]),
    });
    server.tool("ask", { run: async (_args, ctx) => ({ roots: [...(await ctx.roots())] }) });
    const peer = serveStub(server, undefined, { graceMs: 5 });
    peer.send(handshake(1, "2025-11-25", { roots: {} }));
    peer.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "ask" } });
    await vi.waitFor(() => expect(sent(peer, "roots/list")).toBeDefined(), { timeout: 10_000 });
    await peer.serving.close();
    expect(peer.written.filter((each) => each["id"] === 2)).toEqual([]);
  });

  it("of one connection leaves the others alone", async () => {
    const { server } = working();
    const [one, two] = [
      await connect(server, { revision: "2025-11-25" }),
      await connect(server, { revision: "2025-11-25" }),
    ];
    await one.close();
    expect(await two.request("ping")).toEqual({});
    server.tool("late", { run: () => "" });
    await turns();
    expect(two.messages.at(-1)).toMatchObject({ method: "notifications/tools/list_changed" });
    expect(one.messages.some((each) => "method" in each)).toBe(false);
  });
});

describe("questions on the wire", () => {
  const asking = (limits: ServerOptions["limits"] = {}): Server => {
    const server = new Server({ name: "s", version: "1", limits });
    server.tool("ask", {
      run: async (_args, ctx) => (await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } })).action,
    });
    return server;
  };

  it("time out, are taken back, and a late answer hurts nobody", async () => {
    const peer = serveStub(asking({ askTimeoutMs: 30 }));
    peer.send(handshake(1, "2025-11-25", { elicitation: {} }));
    peer.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "ask" } });
    expect((await peer.answer(2))["result"]).toMatchObject({
      isError: true,
      content: [{ text: "The client did not answer elicitation/create in time" }],
    });
    const { id } = sent(peer, "elicitation/create") as { id: unknown };
    expect(sent(peer, "notifications/cancelled")).toMatchObject({ params: { requestId: id } });
    peer.send({ jsonrpc: "2.0", id: id as number, result: { action: "accept", content: { sure: true } } });
    peer.send({ jsonrpc: "2.0", id: 3, method: "ping" });
    expect(await peer.answer(3)).toHaveProperty("result");
  });

  it("are taken back when the request they are for is cancelled", async () => {
    const peer = serveStub(asking());
    peer.send(handshake(1, "2025-11-25", { elicitation: {} }));
    peer.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "ask" } });
    await vi.waitFor(() => expect(sent(peer, "elicitation/create")).toBeDefined(), { timeout: 10_000 });
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    await vi.waitFor(() => expect(sent(peer, "notifications/cancelled")).toBeDefined(), { timeout: 10_000 });
    await turns();
    expect(peer.written.filter((each) => each["id"] === 2)).toEqual([]);
  });

  it("of one call are not taken back from another that waits for the same roots", async () => {
    const server = new Server({ name: "s", version: "1" });
    server.tool("roots", { run: async (_args, ctx) => ({ roots: [...(await ctx.roots())] }) });
    const peer = serveStub(server);
    peer.send(handshake(1, "2025-11-25", { roots: {} }));
    for (const id of [2, 3]) peer.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "roots" } });
    await turns();
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    await turns();
    const asked = peer.written.filter((each) => each["method"] === "roots/list");
    expect(asked).toHaveLength(2);
    peer.send({ jsonrpc: "2.0", id: asked[1]?.["id"], result: { roots: [{ uri: "file:///a" }] } });
    expect((await peer.answer(3))["result"]).toMatchObject({ structuredContent: { roots: [{ uri: "file:///a" }] } });
  });

  it("may bring progress of the client's", async () => {
    const server = new Server({ name: "s", version: "1" });
    const heard: unknown[] = [];
    server.tool("ask", {
      run: async (_args, ctx) => (await ctx.roots({ onProgress: (each) => void heard.push(each) })).length,
    });
    const peer = serveStub(server);
    peer.send(handshake(1, "2025-11-25", { roots: {} }));
    peer.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "ask" } });
    await turns();
    const asked = sent(peer, "roots/list") as { id: number; params: { _meta: { progressToken: string } } };
    const { progressToken } = asked.params._meta;
    peer.send({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken, progress: 1, total: 2, message: "half" },
    });
    peer.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: "other", progress: 1 } });
    peer.send({ jsonrpc: "2.0", id: asked.id, result: { roots: [] } });
    await peer.answer(2);
    expect(heard).toEqual([{ progress: 1, total: 2, message: "half" }]);
  });
});

function sent(peer: Stub, method: string): Message | undefined {
  return peer.written.find((each) => each["method"] === method);
}

describe("connectInMemory", () => {
  it("knows the five revisions and no other", async () => {
    const { server } = working();
    await expect(connectInMemory(server, { revision: "2023-01-01" })).rejects.toMatchObject({
      code: "UNKNOWN_REVISION",
    });
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]) {
      const peer = await connect(server, { revision });
      expect(await peer.request("tools/list")).toHaveProperty("tools");
    }
  });
});
