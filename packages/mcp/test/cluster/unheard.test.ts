// What processes share fails, in the middle of everything a process does: nothing of that ends the program.
import { describe, expect, it, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores } from "../../src/cluster/stores.js";
import { redisStores } from "../../src/redis/redis-stores.js";
import { connect } from "../../src/serve/connect.js";
import { serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { call, gate, session } from "../http/http-fixture.js";
import { KEY } from "./cluster-fixture.js";
import { FAILING, faultyStores, settled, unheard } from "./faulty-stores.js";
import { hasRedis, prefix, startRedis } from "./redis-fixture.js";

const BOUNDS = { pieces: 10, bytes: 1_000, allBytes: 10_000, lifeMs: 1_000 };

/** A process with calls in each phase: one that streams, one that asks, one that is a task, and a session without any. */
async function busy() {
  const faulty = faultyStores(memoryStores());
  const go = gate();
  const server = new Server({ name: "busy", version: "1", report: false });
  server.tool("stream", {
    async run(_, ctx) {
      await ctx.progress(1, 2);
      await go.opened;
      await ctx.progress(2, 2);
      return "done";
    },
  });
  server.tool("ask", {
    run: async (_, ctx) => (await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } })).action,
  });
  server.tool("job", { task: "optional", run: () => go.opened.then(() => "done") });
  server.resource("test://a", { name: "a", read: () => "A" });
  const serving = await serveHttp(server, {
    signals: false,
    limits: { drainMs: 10 },
    rate: { perSecond: 1_000, burst: 1_000 },
    share: shareOver(faulty.stores, { key: KEY, node: "one" }),
  });
  onTestFinished(() => serving.close());
  const opened = await session(serving.url, "2025-11-25");
  const asked = gate();
  const person = gate();
  const elicit = async () => {
    asked.open();
    await person.opened;
    return { action: "accept", content: { sure: true } } as const;
  };
  const client = await connect(serving.url, { revision: "2026-07-28", verdicts: false, elicit });
  onTestFinished(() => client.close());
  const params = { name: "stream", _meta: { progressToken: "p" } };
  const begun = [
    opened.post({ jsonrpc: "2.0", id: 7, method: "tools/call", params }),
    client.call("ask"),
    client.callTask("job"),
  ];
  await asked.opened;
  await begun[2];
  return { faulty, go, server, serving, opened, client, person, begun };
}

describe("a store that fails while a process is busy", () => {
  it.each(FAILING)("and %s ends nothing", async (failing) => {
    const found = unheard();
    const { faulty, go, server, serving, opened, client, person, begun } = await busy();
    faulty.failing = failing;
    for (const { missed } of faulty.listeners) missed.call(undefined);
    server.resourceUpdated("test://a");
    server.listChanged("tools");
    server.log("error", "said");
    const later = [
      opened.post(call("ask", {}, "a")),
      opened.post({ jsonrpc: "2.0", id: "l", method: "logging/setLevel", params: { level: "debug" } }),
      opened.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "a" } }),
      session(serving.url, "2025-06-18"),
      client.callTask("job"),
      client.tools().all(),
      fetch(serving.url, { headers: { ...opened.headers, accept: "text/event-stream", "last-event-id": "1-1-x" } }),
    ].map((each) => Promise.resolve(each).catch(() => undefined));
    person.open();
    go.open();
    await Promise.all([...later.slice(1), ...begun.map((each) => each.catch(() => undefined))]);
    const gone = fetch(serving.url, { method: "DELETE", headers: opened.headers }).catch(() => undefined);
    await settled();
    await gone;
    expect(found).toEqual([]);
    await serving.close();
    await settled();
    expect(found).toEqual([]);
  });
});

describe.runIf(hasRedis)("stores in Redis that are closed in the middle of it", () => {
  it("reject, each to whoever waits for it", async () => {
    const found = unheard();
    const redis = await startRedis();
    const stores = redisStores(redis.url, { key: KEY, prefix: prefix() });
    await stores.open("one", { keys: ["k"] });
    const waiting = [
      stores.streams.append("s", { about: "a", after: 0, events: [], ended: false }, BOUNDS),
      stores.limits.take({ a: { perSecond: 1, burst: 1 } }),
      stores.records.put("g", "n", "t", 1_000),
      stores.sessions.put("s", { owner: "one", fence: 0, text: "t" }, 1_000),
      stores.bus.publish("one", "text"),
      stores.bus.listen({ hear: () => undefined, missed: () => undefined }),
    ];
    await stores.close();
    const outcomes = await Promise.allSettled(waiting);
    // What had left already may be answered yet.
    expect(outcomes[0]?.status).toBe("rejected");
    await settled();
    expect(found).toEqual([]);
  });
});
