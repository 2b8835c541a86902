// For how long nobody was kept from the store, and what a process that has just begun makes of it: who is not in the directory has
// ended for sure only when it had all of its lease to say that it is there.
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { keysOf } from "../../src/cluster/relay-link.js";
import { LEASE_MS, memoryStores, STEADY_MS, type SharedStores } from "../../src/cluster/stores.js";
import type { ClusterMember, LocalEnd } from "../../src/http/server/exchange.js";
import { RedisStores } from "../../src/redis/redis-stores.js";
import { KEY } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis } from "./redis-fixture.js";

const ADDRESS = "tcp://127.0.0.1:1";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
  vi.advanceTimersByTime(1);
});
afterEach(() => void vi.useRealTimers());

describe("steady time, in memory", () => {
  it("grows while some process says in time that it is there, and begins anew when all were late", async () => {
    const stores = memoryStores();
    const beat = async (node: string, after: number): Promise<number> => {
      vi.advanceTimersByTime(after);
      return (await stores.beat(node, ADDRESS)).steadyMs;
    };
    // The first one says nothing of the time before it.
    expect(await beat("one", 10_000)).toBe(0);
    expect(await beat("two", STEADY_MS)).toBe(STEADY_MS);
    expect(await beat("one", STEADY_MS)).toBe(2 * STEADY_MS);
    expect(await beat("one", STEADY_MS + 1)).toBe(0);
    expect(await beat("three", 1)).toBe(1);
  });
});

describe.runIf(hasRedis)("steady time, in Redis", () => {
  it("grows while some process says in time that it is there, and begins anew when all were late", async () => {
    const redis = await startRedis();
    const stores = new RedisStores(redis.url, { keys: keysOf(KEY), prefix: prefix() });
    await stores.open("one", { keys: ["k"] });
    onTestFinished(() => stores.close());
    const steady = async (): Promise<number> => (await stores.beat("one", ADDRESS)).steadyMs;
    expect(await steady()).toBe(0);
    const key = redis.cli("--scan", "--pattern", "*:steady");
    const last = Number(redis.cli("hget", key, "last"));
    // The clock is Redis's: what it kept is moved instead. The last sign of life cannot be late when it has yet to come.
    redis.cli("hset", key, "since", String(last - 50_000), "last", String(last + 1_000_000));
    expect(await steady()).toBeGreaterThanOrEqual(50_000);
    const now = Number(redis.cli("hget", key, "last"));
    expect(now).toBeLessThan(last + 1_000_000);
    redis.cli("hset", key, "last", String(now - STEADY_MS - 1));
    expect(await steady()).toBe(0);
    // What ends by itself says nothing of the time before it.
    expect(Number(redis.cli("pttl", key))).toBeGreaterThan(0);
    redis.cli("del", key);
    expect(await steady()).toBe(0);
  });
});

const LOCAL = { report: () => undefined, hear: () => undefined, holds: () => false } as unknown as LocalEnd;

interface Joined {
  readonly member: ClusterMember;
  /** What the directory says next; undefined while it cannot be reached. */
  readonly says: { steadyMs: number | undefined };
  /** Whether the process takes another one, which nobody has heard of, for one that has ended. */
  sure(): Promise<boolean>;
}

async function joined(steadyMs: number): Promise<Joined> {
  const stores: SharedStores = memoryStores();
  const says: Joined["says"] = { steadyMs };
  const beat = stores.beat.bind(stores);
  stores.beat = async (node, address) => {
    if (says.steadyMs === undefined) throw new Error("away");
    return { ...(await beat(node, address)), steadyMs: says.steadyMs };
  };
  const member = (await shareOver(stores, { key: KEY, node: "one" }).join()) as ClusterMember;
  await member.open(LOCAL);
  onTestFinished(() => member.leave());
  let tasks = 0;
  return {
    member,
    says,
    async sure() {
      const taskId = `gone.${tasks++}`;
      const now = new Date().toISOString();
      const task = { taskId, status: "working" as const, createdAt: now, lastUpdatedAt: now };
      await stores.tasks.put({ principal: "ada", task: { ...task, ttlMs: 60_000, pollIntervalMs: 1 } });
      return (await member.tasks.get(taskId, "ada"))?.task.status === "failed";
    },
  };
}

describe("a process that has just begun", () => {
  it("takes who is not there for gone where nobody was kept from the store for longer than a lease", async () => {
    expect(await (await joined(LEASE_MS + 1)).sure()).toBe(true);
  });

  it("gives everybody the rest of a lease where somebody may have been kept from it", async () => {
    const { sure } = await joined(LEASE_MS - 1_000);
    expect(await sure()).toBe(false);
    vi.advanceTimersByTime(1_000);
    expect(await sure()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await sure()).toBe(true);
  });

  it("believes it of its beginning alone: after the store was away all have a whole lease again", async () => {
    const { sure, says } = await joined(LEASE_MS + 1);
    says.steadyMs = undefined;
    await expect(sure()).rejects.toThrow("away");
    says.steadyMs = 3_600_000;
    expect(await sure()).toBe(false);
    vi.advanceTimersByTime(LEASE_MS + 1);
    says.steadyMs = 0;
    expect(await sure()).toBe(true);
  });
});
