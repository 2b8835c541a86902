import { describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";
import { handshake, type Message, serveStub, stateless, turns } from "../support/stub-transport.js";

async function watched(): Promise<{ server: Server; watching: Set<string>; change(uri: string): void }> {
  const server = new Server({ name: "s", version: "1", capabilities: { expect: ["tools", "prompts", "resources"] } });
  const watching = new Set<string>();
  const changes = new Map<string, () => void>();
  const watch = (uri: string, changed: () => void): (() => void) => {
    watching.add(uri);
    changes.set(uri, changed);
    return () => watching.delete(uri);
  };
  server.resource("file:///a", { watch, read: () => "a" });
  server.resourceTemplate("file:///dir/{+path}", { watch, read: (uri) => uri });
  // What was registered until now is nobody's news.
  await turns(1);
  return { server, watching, change: (uri) => changes.get(uri)?.() };
}

const methods = (messages: readonly Message[]): unknown[] =>
  messages.filter((each) => "method" in each).map((each) => each["method"]);
const updates = (messages: readonly Message[]): unknown[] =>
  messages
    .filter((each) => each["method"] === "notifications/resources/updated")
    .map((each) => (each["params"] as Message)["uri"]);

describe("changes", () => {
  it("of one tick are told once", async () => {
    const { server } = await watched();
    const peer = await connect(server, { revision: "2025-06-18" });
    await peer.request("resources/subscribe", { uri: "file:///a" });
    for (let n = 0; n < 100; n++) {
      server.tool(`t${n}`, { run: () => "" });
      server.resourceUpdated("file:///a");
    }
    await turns();
    expect(methods(peer.messages)).toEqual(["notifications/tools/list_changed", "notifications/resources/updated"]);
  });

  it("below a subscribed resource are told, beside it they are not", async () => {
    const { server } = await watched();
    const peer = await connect(server, { revision: "2025-06-18" });
    await peer.request("resources/subscribe", { uri: "file:///dir/x" });
    const told = ["file:///dir/x", "file:///dir/x/", "file:///dir/x/y/z"];
    for (const uri of [...told, "file:///dir/xy", "file:///dir", "file:///a", "file:///"]) server.resourceUpdated(uri);
    await turns();
    expect(updates(peer.messages)).toEqual(told);
  });

  it("are held and merged for a reader that is behind, and told when it catches up", async () => {
    const { server } = await watched();
    const peer = serveStub(server);
    peer.send(handshake(1));
    peer.send({ jsonrpc: "2.0", id: 2, method: "resources/subscribe", params: { uri: "file:///a" } });
    peer.fallBehind();
    for (let tick = 0; tick < 50; tick++) {
      server.tool(`t${tick}`, { run: () => "" });
      server.resourceUpdated("file:///a");
      await turns(1);
    }
    expect(methods(peer.written)).toEqual(["notifications/tools/list_changed"]);
    await peer.catchUp();
    expect(methods(peer.written)).toEqual([
      "notifications/tools/list_changed",
      "notifications/resources/updated",
      "notifications/tools/list_changed",
    ]);
  });

  it("held for a reader that is behind are bounded: the newest thousand remain", async () => {
    const { server } = await watched();
    const peer = serveStub(server);
    peer.send(handshake(1));
    peer.send({ jsonrpc: "2.0", id: 2, method: "resources/subscribe", params: { uri: "file:///dir/x" } });
    peer.fallBehind();
    for (let n = 0; n <= 5_000; n++) server.resourceUpdated(`file:///dir/x/${n}`);
    await turns();
    await peer.catchUp();
    const uris = updates(peer.written);
    expect(uris).toHaveLength(1_001);
    expect(uris.at(-1)).toBe("file:///dir/x/5000");
  });

  it("reach nobody who did not ask (M43)", async () => {
    const { server } = await watched();
    const peer = serveStub(server);
    const filter = { notifications: { promptsListChanged: true, resourceSubscriptions: ["file:///a", "nope://x"] } };
    peer.send(stateless(1, "subscriptions/listen", filter));
    server.tool("t", { run: () => "" });
    server.prompt("p", { run: () => "" });
    server.resource("file:///b", { read: () => "" });
    for (const uri of ["file:///a", "file:///b"]) server.resourceUpdated(uri);
    await turns();
    expect(methods(peer.written)).toEqual([
      "notifications/subscriptions/acknowledged",
      "notifications/prompts/list_changed",
      "notifications/resources/updated",
    ]);
  });

  it("stop when the connection ends", async () => {
    const { server, watching } = await watched();
    const peer = serveStub(server);
    peer.send(stateless("L", "subscriptions/listen", { notifications: { resourceSubscriptions: ["file:///a"] } }));
    peer.send(stateless("M", "subscriptions/listen", { notifications: { toolsListChanged: true } }));
    peer.end();
    await peer.serving.closed.catch(() => undefined);
    await turns();
    const before = peer.written.length;
    expect(peer.written.filter((each) => "result" in each).map((each) => each["id"])).toEqual(["L", "M"]);
    server.tool("late", { run: () => "" });
    server.resourceUpdated("file:///a");
    await turns();
    expect(peer.written).toHaveLength(before);
    expect(watching.size).toBe(0);
  });
});

describe("watching", () => {
  it("begins with the first subscriber of a resource and ends with the last", async () => {
    const { server, watching, change } = await watched();
    const [one, two] = [
      await connect(server, { revision: "2025-11-25" }),
      await connect(server, { revision: "2024-11-05" }),
    ];
    await one.request("resources/subscribe", { uri: "file:///a" });
    await one.request("resources/subscribe", { uri: "file:///a" });
    await two.request("resources/subscribe", { uri: "file:///a" });
    await two.request("resources/subscribe", { uri: "file:///dir/x" });
    expect([...watching]).toEqual(["file:///a", "file:///dir/x"]);
    change("file:///a");
    await turns();
    expect([updates(one.messages), updates(two.messages)]).toEqual([["file:///a"], ["file:///a"]]);
    await one.request("resources/unsubscribe", { uri: "file:///a" });
    await one.request("resources/unsubscribe", { uri: "file:///a" });
    expect(watching.has("file:///a")).toBe(true);
    await two.close();
    expect(watching.size).toBe(0);
  });

  it.each(["2025-11-25", "2026-07-28"])("that begins later is waited for before %s is told so", async (revision) => {
    const server = new Server({ name: "s", version: "1" });
    let begin: (stop: () => void) => void = () => undefined;
    let ended = 0;
    server.resource("test://a", { read: () => "", watch: () => new Promise((resolve) => (begin = resolve)) });
    const peer = serveStub(server);
    const acknowledged = "notifications/subscriptions/acknowledged";
    const told = (): number =>
      peer.written.filter((each) => each["id"] === 2 || each["method"] === acknowledged).length;
    if (revision === "2025-11-25") {
      peer.send(handshake(1));
      peer.send({ jsonrpc: "2.0", id: 2, method: "resources/subscribe", params: { uri: "test://a" } });
    } else peer.send(stateless(2, "subscriptions/listen", { notifications: { resourceSubscriptions: ["test://a"] } }));
    await turns();
    expect(told()).toBe(0);
    begin(() => (ended += 1));
    await turns();
    expect(told()).toBe(1);
    server.resourceUpdated("test://a");
    await turns();
    expect(updates(peer.written)).toEqual(["test://a"]);
    expect(ended).toBe(0);
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    peer.send({ jsonrpc: "2.0", id: 3, method: "resources/unsubscribe", params: { uri: "test://a" } });
    await turns();
    expect(ended).toBe(1);
  });

  it("that has not begun when the last one goes is ended once it has", async () => {
    const server = new Server({ name: "s", version: "1" });
    const begins: ((stop: () => void) => void)[] = [];
    let ended = 0;
    server.resource("test://a", { read: () => "", watch: () => new Promise((resolve) => begins.push(resolve)) });
    const peer = serveStub(server);
    peer.send(stateless(2, "subscriptions/listen", { notifications: { resourceSubscriptions: ["test://a"] } }));
    await turns();
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    begins[0]?.(() => (ended += 1));
    await turns();
    expect(ended).toBe(1);
    expect(methods(peer.written)).toEqual([]);
    server.resourceUpdated("test://a");
    await turns();
    expect(updates(peer.written)).toEqual([]);
  });

  it("that fails is reported, and takes nothing else down", async () => {
    const reports: string[] = [];
    const server = new Server({ name: "s", version: "1", report: (_level, message) => reports.push(message) });
    const broken = (): never => {
      throw new Error("no watcher left");
    };
    server.resource("test://begin", { read: () => "", watch: broken });
    server.resource("test://end", { read: () => "", watch: () => broken });
    const peer = await connect(server, { revision: "2025-11-25" });
    for (const uri of ["test://begin", "test://end"])
      expect(await peer.request("resources/subscribe", { uri })).toEqual({});
    server.resourceUpdated("test://begin");
    await turns();
    expect(updates(peer.messages)).toEqual(["test://begin"]);
    await peer.close();
    expect(reports).toEqual(['Watching "test://begin" failed', 'Watching "test://end" failed']);
  });
});

describe("limits", () => {
  it("bound the listen requests of a connection, and a cancelled one makes place", async () => {
    const server = new Server({ name: "s", version: "1", limits: { listens: 2, inFlight: 3 } });
    const peer = serveStub(server);
    const listen = (id: number): void => peer.send(stateless(id, "subscriptions/listen", { notifications: {} }));
    for (const id of [1, 2, 3]) listen(id);
    expect((await peer.answer(3))["error"]).toMatchObject({ code: -32603, data: { limit: 2 } });
    for (let id = 4; id < 24; id++) {
      peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id === 4 ? 1 : id - 1 } });
      await turns(1);
      listen(id);
    }
    const acknowledged = peer.written.filter((each) => each["method"] === "notifications/subscriptions/acknowledged");
    expect(acknowledged).toHaveLength(22);
  });

  it("bound the resources of a listen request: the acknowledgement names those honoured (M42)", async () => {
    const server = new Server({ name: "s", version: "1", limits: { subscribedUris: 3 } });
    server.resourceTemplate("test://{n}", { read: () => "" });
    const peer = serveStub(server);
    const resourceSubscriptions = ["test://1", "test://1", "nope://0", "test://2", "test://3"];
    peer.send(stateless(1, "subscriptions/listen", { notifications: { resourceSubscriptions } }));
    await turns(1);
    expect(peer.written[0]).toMatchObject({
      params: { notifications: { resourceSubscriptions: ["test://1", "test://2"] } },
    });
  });

  it("bound the resources of a session", async () => {
    const server = new Server({ name: "s", version: "1", limits: { subscribedUris: 2 } });
    server.resourceTemplate("test://{n}", { read: () => "" });
    const peer = await connect(server, { revision: "2025-11-25" });
    for (const n of [1, 2, 1]) await peer.request("resources/subscribe", { uri: `test://${n}` });
    await expect(peer.request("resources/subscribe", { uri: "test://3" })).rejects.toMatchObject({
      code: -32603,
      data: { limit: 2 },
    });
  });
});
