// What the interfaces of shared stores promise of limits, lengths, and of a store that is away.
import { expect, describe, it, onTestFinished } from "vitest";
import { keysOf } from "../../src/cluster/relay-link.js";
import { shareOver } from "../../src/cluster/member.js";
import { FairLimits, memoryStores, RECORD_TEXT, SESSION_TEXT, type SharedStores } from "../../src/cluster/stores.js";
import { RedisStores } from "../../src/redis/redis-stores.js";
import { connect } from "../../src/serve/connect.js";
import { KEY, startCluster } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis } from "./redis-fixture.js";

const FLEET = { keys: ["k"] };

it("keeps to its share where limits cannot be counted together, and never rejects", async () => {
  const away = { take: () => Promise.reject(new Error("away")) };
  const limits = new FairLimits(away, () => 2);
  const rule = { most: 4, windowMs: 3_600_000 };
  const waits: number[] = [];
  for (let n = 0; n < 3; n += 1) waits.push(await limits.take({ calls: rule }));
  expect(waits.map((wait) => wait > 0)).toEqual([false, false, true]);
});

describe("lengths of what is shared", () => {
  it("has a record of as many characters as it may have, and refuses a longer one", async () => {
    const { records } = memoryStores();
    const text = "x".repeat(RECORD_TEXT);
    await records.put("group", "name", text, 60_000);
    await expect(records.put("group", "name", `${text}x`, 60_000)).rejects.toMatchObject({ code: "TOO_LONG" });
    expect(await records.get("group", "name")).toBe(text);
  });

  it("shares no session whose facts are longer than they may be: it ends with its process", async () => {
    const kept = new Map<string, string>();
    const stores = memoryStores();
    const put = stores.sessions.put.bind(stores.sessions);
    stores.sessions.put = (id, session, ttlMs) => (kept.set(id, session.text), put(id, session, ttlMs));
    const shareOf = (member: number) => shareOver(stores, { key: KEY, node: `m${member}` });
    const cluster = await startCluster({ count: 1, shareOf });
    for (const length of [10, SESSION_TEXT]) {
      const name = "n".repeat(length);
      const clientInfo = { name, version: "1" };
      const client = await connect(cluster.url, { revision: "2025-11-25", clientInfo });
      onTestFinished(() => client.close());
      expect(await client.tools().all()).not.toEqual([]);
    }
    expect([...kept.values()].every((text) => text.length <= SESSION_TEXT)).toBe(true);
    expect(kept.size).toBe(1);
  });
});

/** One call of every method there is. */
const CALLS: Readonly<Record<string, (stores: SharedStores) => Promise<unknown>>> = {
  beat: (stores) => stores.beat("a", "tcp://127.0.0.1:1"),
  leave: (stores) => stores.leave("a"),
  "sessions.put": ({ sessions }) => sessions.put("s", { owner: "a", fence: 0, text: "" }, 1_000),
  "sessions.get": ({ sessions }) => sessions.get("s"),
  "sessions.claim": ({ sessions }) => sessions.claim("s", "a", 0, 1_000),
  "sessions.touch": ({ sessions }) => sessions.touch(["s"], "a", 1_000),
  "sessions.delete": ({ sessions }) => sessions.delete("s", "a"),
  "limits.take": ({ limits }) => limits.take({ a: { perSecond: 1, burst: 1 } }),
  "marks.once": ({ marks }) => marks.once("m", 1_000),
  "locks.hold": ({ locks }) => locks.hold("l", 1_000),
  "records.put": ({ records }) => records.put("g", "n", "t", 1_000),
  "records.get": ({ records }) => records.get("g", "n"),
  "records.list": ({ records }) => records.list("g"),
  "records.delete": ({ records }) => records.delete("g", "n"),
  "tasks.get": async ({ tasks }) => tasks.get("t", undefined),
  "bus.publish": ({ bus }) => bus.publish("a", "text"),
};

describe.runIf(hasRedis)("a store that is away", () => {
  it.each(["held", "gone"])("rejects every call as UNREACHABLE, and waits for none without end: %s", async (how) => {
    const redis = await startRedis();
    const stores = new RedisStores(redis.url, { keys: keysOf(KEY), prefix: prefix() });
    await stores.open("a", FLEET);
    onTestFinished(() => stores.close());
    if (how === "held") redis.pause();
    else await redis.kill();
    const began = performance.now();
    const outcomes = await Promise.all(
      Object.entries(CALLS).map(async ([name, call]) => {
        const code = await call(stores).then(
          () => "answered",
          (error: { code?: unknown }) => error.code,
        );
        return [name, code];
      }),
    );
    expect(outcomes).toEqual(Object.keys(CALLS).map((name) => [name, "UNREACHABLE"]));
    expect(performance.now() - began).toBeLessThan(30_000);
  });
});
