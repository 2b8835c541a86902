// What a server can do between requests: hear of sessions, ask and tell their clients, and be told of changed roots.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { connect } from "../../src/serve/connect.js";
import { connectInMemory } from "../../src/serve/connect-in-memory.js";
import type { LiveSession } from "../../src/server/session.js";
import { Server } from "../../src/server/server.js";

const HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/** A server that notes what happens to its sessions. */
function noting(notes: string[]): Server {
  const server = new Server({
    name: "noting",
    version: "1.0.0",
    onSession: (session) => {
      notes.push(`opened ${session.revision} ${session.client?.name} ${session.transport}`);
      return () => void notes.push(`over ${session.signal.aborted}`);
    },
  });
  server.tool("who", { run: (_, ctx) => ctx.session?.id ?? "nobody" });
  return server;
}

describe("a session between requests", () => {
  it.each(HANDSHAKE)("is told when its client is ready, and when it is over: %s", async (revision) => {
    const notes: string[] = [];
    const server = noting(notes);
    const client = await connect(server, { revision, clientInfo: { name: "me", version: "1" } });
    const { content } = await client.call("who");
    expect(content).toEqual([{ type: "text", text: server.sessions()[0]?.id }]);
    expect(server.sessions()).toHaveLength(1);
    await client.close();
    expect(notes).toEqual([`opened ${revision} me memory`, "over true"]);
    expect(server.sessions()).toEqual([]);
  });

  it("is not there for clients that open none", async () => {
    const notes: string[] = [];
    const server = noting(notes);
    const client = await connect(server);
    expect((await client.call("who")).content).toEqual([{ type: "text", text: "nobody" }]);
    await client.close();
    expect([notes, server.sessions()]).toEqual([[], []]);
  });

  it("is none before the client is ready, and one however often it says so", async () => {
    const notes: string[] = [];
    const server = noting(notes);
    const peer = await connectInMemory(server, { revision: "2025-11-25", open: false });
    const clientInfo = { name: "slow", version: "1" };
    await peer.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    expect(notes).toEqual([]);
    peer.notify("notifications/initialized");
    peer.notify("notifications/initialized");
    await peer.request("ping");
    expect(notes).toEqual(["opened 2025-11-25 slow memory"]);
    await peer.close();
  });

  it("asks for roots, and hears when they change", async () => {
    const seen: string[][] = [];
    const server = new Server({
      name: "roots",
      version: "1.0.0",
      onSession: async (session) => {
        const look = async (): Promise<void> => void seen.push((await session.roots()).map(({ uri }) => uri));
        session.onRootsChanged(look);
        await look();
      },
    });
    server.tool("seen", { run: () => seen.length });
    const client = await connect(server, { revision: "2025-06-18", roots: [{ uri: "file:///a" }] });
    await expect.poll(() => seen).toEqual([["file:///a"]]);
    client.setRoots([{ uri: "file:///b" }]);
    await expect.poll(() => seen).toEqual([["file:///a"], ["file:///b"]]);
    await client.close();
  });

  it("asks the person and the model outside of any request", async () => {
    let session: LiveSession | undefined;
    const server = new Server({ name: "asking", version: "1.0.0", onSession: (opened) => void (session = opened) });
    const client = await connect(server, {
      revision: "2025-11-25",
      elicit: () => ({ action: "accept", content: { sure: true } }),
      sample: () => ({ role: "assistant", model: "m", content: { type: "text", text: "yes" } }),
    });
    await expect.poll(() => session).toBeDefined();
    const opened = session as LiveSession;
    const answer = await opened.elicit({ message: "Sure?", schema: z.object({ sure: z.boolean() }) });
    expect(answer).toEqual({ action: "accept", content: { sure: true } });
    expect((await opened.sample({ messages: [], maxTokens: 1 })).content).toEqual({ type: "text", text: "yes" });
    await expect(opened.roots()).rejects.toThrow("the capability roots was not declared");
    await client.close();
    await expect(opened.elicit({ message: "Still?", schema: { a: { type: "string" } } })).rejects.toMatchObject({
      code: "CANNOT_ASK",
    });
  });

  it("tells one session alone, at its level, and nothing of the specification's", async () => {
    const server = new Server({ name: "telling", version: "1.0.0" });
    const heard: string[] = [];
    const open = (name: string): Promise<unknown> =>
      connect(server, {
        revision: "2025-11-25",
        clientInfo: { name, version: "1" },
        onLog: ({ data }) => heard.push(`${name} log ${String(data)}`),
        onNotification: (method, params) => heard.push(`${name} ${method} ${JSON.stringify(params)}`),
      });
    await Promise.all([open("ada"), open("bob")]);
    await expect.poll(() => server.sessions().length).toBe(2);
    const ada = server.sessions().find(({ client }) => client?.name === "ada") as LiveSession;
    ada.log("info", "hello");
    ada.log("debug", "not wanted");
    ada.notify("acme/step", { at: 1 });
    server.notify("acme/all");
    const all = ["ada acme/all {}", 'ada acme/step {"at":1}', "ada log hello", "bob acme/all {}"];
    await expect.poll(() => [...heard].sort()).toEqual(all);
    expect(() => ada.notify("notifications/message")).toThrow("use a name of your own");
    expect(() => server.notify("tools/list")).toThrow("use a name of your own");
    expect(() => ada.log("warn" as never, "x")).toThrow('"warn" is not a log level');
  });

  it("reports what an author's hooks throw, and goes on", async () => {
    const reports: string[] = [];
    const server = new Server({
      name: "throwing",
      version: "1.0.0",
      report: (_, message) => void reports.push(message),
      onSession: async (session) => {
        session.onRootsChanged(() => Promise.reject(new Error("roots")));
        await Promise.reject(new Error("open"));
      },
    });
    server.tool("t", { run: () => "fine" });
    const client = await connect(server, { revision: "2025-11-25", roots: [] });
    client.setRoots([]);
    expect((await client.call("t")).content).toEqual([{ type: "text", text: "fine" }]);
    await expect.poll(() => reports).toEqual(["onSession failed", "onRootsChanged failed"]);
    await client.close();
  });
});

describe("a notification of one's own within a request", () => {
  it.each([...HANDSHAKE, "2026-07-28"])("reaches the client that asked: %s", async (revision) => {
    const server = new Server({ name: "own", version: "1.0.0" });
    server.tool("work", {
      run: async (_, ctx) => {
        await ctx.notify("acme/step", { at: 1 });
        await ctx
          .notify("notifications/progress")
          .catch((error: Error) => ctx.notify("acme/refused", { error: error.name }));
        return "done";
      },
    });
    const heard: unknown[] = [];
    const client = await connect(server, {
      revision,
      onNotification: (method, params) => heard.push([method, params]),
    });
    await client.call("work");
    expect(heard).toEqual([
      ["acme/step", { at: 1 }],
      ["acme/refused", { error: "LocalError" }],
    ]);
    await client.close();
  });
});
