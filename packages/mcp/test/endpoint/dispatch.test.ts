import { describe, expect, it } from "vitest";
import { type Middleware, RpcError, Server, type ServerOptions } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";
import { handshake, serveStub, stateless, turns } from "../support/stub-transport.js";

function greeter(options: Partial<ServerOptions> = {}): Server {
  const server = new Server({ name: "s", version: "1", ...options });
  server.tool("greet", { run: () => "hello" });
  return server;
}

describe("middleware", () => {
  it("runs around every request, the first added outermost", async () => {
    const order: string[] = [];
    const noted =
      (name: string): Middleware =>
      async (call, next) => {
        order.push(`${name} before ${call.method}`);
        const answer = await next();
        order.push(`${name} after`);
        return answer;
      };
    const server = greeter().use(noted("outer")).use(noted("inner"));
    server.method("example.com/x", () => ({}));
    const peer = await connect(server);
    for (const method of ["tools/list", "server/discover", "example.com/x"]) {
      order.length = 0;
      await peer.request(method);
      expect(order).toEqual([`outer before ${method}`, `inner before ${method}`, "inner after", "outer after"]);
    }
  });

  it("may refuse, answer by itself, or change what it was given", async () => {
    const server = greeter().use(async (call, next) => {
      if (call.params["name"] === "refused") throw new RpcError(-32001, "Not for you", { why: "policy" });
      if (call.params["name"] === "answered") return { content: [{ type: "text", text: "from the middleware" }] };
      return { ...(await next()), _meta: { "example.com/seen": true } };
    });
    const peer = await connect(server, { revision: "2025-11-25" });
    await expect(peer.request("tools/call", { name: "refused" })).rejects.toMatchObject({
      code: -32001,
      data: { why: "policy" },
    });
    expect(await peer.request("tools/call", { name: "answered" })).toMatchObject({
      content: [{ text: "from the middleware" }],
    });
    expect(await peer.request("tools/call", { name: "greet" })).toMatchObject({ _meta: { "example.com/seen": true } });
  });

  it.each(["in turn", "at once", "kept for later"])("runs nothing a second time (%s)", async (how) => {
    const reports: unknown[] = [];
    const runs: string[] = [];
    let kept: (() => unknown) | undefined;
    const server = new Server({ name: "s", version: "1", report: (_level, _message, about) => reports.push(about) });
    server.tool("pay", { run: () => void runs.push("paid") });
    server.tool("pay-as-task", { task: "required", run: () => void runs.push("paid") });
    server.use(async (call, next) => {
      if (call.method !== "tools/call") return next();
      kept = next;
      const first = next();
      if (how === "at once") return next();
      const answer = await first;
      return how === "in turn" ? next() : answer;
    });
    const peer = await connect(server, { revision: "2025-11-25" });
    const answer = peer.request("tools/call", { name: "pay" });
    if (how === "kept for later") expect(await answer).toMatchObject({ isError: false });
    else await expect(answer).rejects.toMatchObject({ code: -32603 });
    expect(kept).toThrow("next() was called a second time");
    expect(runs).toEqual(["paid"]);
    if (how !== "kept for later")
      expect(String((reports[0] as { error: unknown }).error)).toContain("next() was called a second time");
    await peer.request("tools/call", { name: "pay-as-task", task: {} }).catch(() => undefined);
    await turns(5);
    expect(runs).toEqual(["paid", "paid"]);
  });

  it("sees every round of a handler that asks (M05)", async () => {
    const rounds: unknown[] = [];
    const server = greeter().use((call, next) => {
      rounds.push(call.id);
      return next();
    });
    server.tool("ask", {
      run: async (_args, ctx) => (await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } })).action,
    });
    const peer = serveStub(server);
    peer.send(stateless("one", "tools/call", { name: "ask" }, { elicitation: {} }));
    const { requestState } = (await peer.answer("one"))["result"] as { requestState: string };
    const inputResponses = { "ask-1": { action: "decline" } };
    peer.send(stateless("two", "tools/call", { name: "ask", requestState, inputResponses }, { elicitation: {} }));
    await peer.answer("two");
    expect(rounds).toEqual(["one", "two"]);
  });

  it("that refuses the handshake leaves no session, and the client may try again", async () => {
    let open = false;
    const server = greeter().use(async (call, next) => {
      await turns(1);
      if (call.method === "initialize" && !open) throw new RpcError(-32603, "Too many sessions: try again later");
      return next();
    });
    const peer = serveStub(server);
    peer.send(handshake(1));
    expect((await peer.answer(1))["error"]).toMatchObject({ message: "Too many sessions: try again later" });
    peer.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
    expect((await peer.answer(2))["error"]).toMatchObject({ code: -32600 });
    open = true;
    peer.send(handshake(3));
    expect((await peer.answer(3))["result"]).toMatchObject({ protocolVersion: "2025-11-25" });
    peer.send({ jsonrpc: "2.0", id: 4, method: "tools/list" });
    expect((await peer.answer(4))["result"]).toMatchObject({ tools: [{ name: "greet" }] });
  });
});

describe("requests in flight", () => {
  it("are bounded: over the limit the client is told to wait, and others are served", async () => {
    const release: (() => void)[] = [];
    const server = new Server({ name: "s", version: "1", limits: { inFlight: 3 } });
    server.tool("hold", { run: () => new Promise<string>((resolve) => release.push(() => resolve("held"))) });
    const peer = serveStub(server);
    for (const id of [1, 2, 3, 4]) peer.send(stateless(id, "tools/call", { name: "hold" }));
    expect((await peer.answer(4))["error"]).toMatchObject({ code: -32603, data: { limit: 3 } });
    release[1]?.();
    await peer.answer(2);
    peer.send(stateless(5, "tools/list"));
    expect(await peer.answer(5)).toHaveProperty("result");
    for (const each of release) each();
    await Promise.all([peer.answer(1), peer.answer(3)]);
  });

  it("keep their ids apart by type, and an id is free again after its answer", async () => {
    const peer = serveStub(greeter());
    for (const id of [1, "1", 1, "1"]) {
      peer.send(stateless(id, "tools/list"));
      await turns(1);
    }
    expect(peer.written.map((each) => each["id"])).toEqual([1, "1", 1, "1"]);
    expect(peer.written.every((each) => "result" in each)).toBe(true);
  });
});

describe("methods of one's own", () => {
  it("are served in every revision, may refuse, and may report and log", async () => {
    const server = greeter();
    server.method("example.com/work", async (params, ctx) => {
      if (params["bad"] === true) throw new RpcError(42, "Bad", { really: true });
      await ctx.progress(1, 1);
      await ctx.log("warning", "working");
      return { revision: ctx.revision };
    });
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]) {
      const peer = await connect(server, { revision, logLevel: "info" });
      const result = await peer.request("example.com/work", { _meta: { progressToken: "p" } });
      expect(result).toMatchObject({ revision });
      const told = peer.messages.filter((each) => "method" in each).map((each) => each["method"]);
      expect(told).toEqual(["notifications/progress", "notifications/message"]);
      await expect(peer.request("example.com/work", { bad: true })).rejects.toMatchObject({
        code: 42,
        data: { really: true },
      });
    }
  });

  it("may ask over the wire, and never where servers write no requests (M14)", async () => {
    const reports: unknown[] = [];
    const server = greeter({ report: (_level, _message, details) => reports.push(details?.["error"]) });
    server.method("example.com/ask", async (_params, ctx) => ({ roots: await ctx.roots() }));
    const answer = { "roots/list": () => ({ roots: [] }) };
    const session = await connect(server, { revision: "2025-11-25", capabilities: { roots: {} }, answer });
    expect(await session.request("example.com/ask")).toEqual({ roots: [] });
    const peer = await connect(server, { capabilities: { roots: {} } });
    await expect(peer.request("example.com/ask")).rejects.toMatchObject({ code: -32603 });
    expect(reports).toMatchObject([{ code: "CANNOT_ASK" }]);
  });

  it("cannot take the names of the specification", () => {
    for (const name of ["tools/call", "ping", "server/discover", "subscriptions/listen"]) {
      expect(() => greeter().method(name, () => ({}))).toThrow(expect.objectContaining({ code: "RESERVED" }));
    }
  });

  it("have notifications too; one whose handler fails, now or later, is only reported", async () => {
    const heard: unknown[] = [];
    const reports: string[] = [];
    const server = greeter({ report: (_level, message) => reports.push(message) });
    server.notification("example.com/heard", (params) => void heard.push(params));
    server.notification("example.com/fails", () => {
      throw new Error("now");
    });
    server.notification("example.com/fails_later", async () => {
      await turns(1);
      throw new Error("later");
    });
    const peer = await connect(server, { revision: "2025-11-25" });
    for (const name of ["heard", "fails", "fails_later", "unknown"]) peer.notify(`example.com/${name}`, { x: 1 });
    await peer.request("ping");
    await turns();
    expect(heard).toEqual([{ x: 1 }]);
    expect(reports).toEqual([
      "The handler of example.com/fails failed",
      "The handler of example.com/fails_later failed",
    ]);
    expect(peer.messages.filter((each) => "method" in each)).toEqual([]);
  });
});
