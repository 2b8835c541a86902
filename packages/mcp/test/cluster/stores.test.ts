// The contract suite, over the stores in memory and over Redis alone, behind Sentinel and as a Cluster, on both clients.
import { createClient } from "@redis/client";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { storesContract } from "../../src/cluster/contract.js";
import { LETTERS, memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { keysOf } from "../../src/cluster/member.js";
import type { RedisTarget } from "../../src/redis/door.js";
import { RedisStores } from "../../src/redis/redis-stores.js";
import { KEY } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis, startRedisCluster, startSentinel } from "./redis-fixture.js";

const FLEET = { keys: ["k"] };

async function opened(stores: SharedStores, node: string): Promise<SharedStores> {
  await stores.open(node, FLEET);
  onTestFinished(() => stores.close());
  return stores;
}

/** Opens stores over what `target` gives, each time anew, under one prefix. */
function openerOver(target: () => RedisTarget | Promise<RedisTarget>): (node: string) => Promise<SharedStores> {
  const own = prefix();
  return async (node) => opened(new RedisStores(await target(), { keys: keysOf(KEY), prefix: own }), node);
}

describe("the contract of shared stores, in memory", () => {
  it.each(storesContract().map((each) => [each.name, each] as const))("%s", async (_, { run }) => {
    const stores = memoryStores();
    await run((node) => opened(stores, node));
  });
});

describe.runIf(hasRedis)("the contract of shared stores, in Redis", () => {
  it("holds on ioredis by a URL, on ioredis and on @redis/client", async () => {
    const { url } = await startRedis();
    const nodeRedis = async (): Promise<RedisTarget> => {
      const client = createClient({ url });
      await client.connect();
      return client;
    };
    for (const target of [() => url, () => new Redis(url), nodeRedis]) {
      for (const { run } of storesContract()) await run(openerOver(target));
    }
  });

  it("holds as a Cluster of three", async () => {
    const { url } = await startRedisCluster();
    for (const { run } of storesContract()) await run(openerOver(() => url));
  });

  it("holds behind Sentinel", async () => {
    const { url } = await startSentinel();
    for (const { run } of storesContract()) await run(openerOver(() => url));
  });

  it("counts in one step what arrives while it is asked, each event for itself", async () => {
    const redis = await startRedis();
    const one = await openerOver(() => redis.url)("one");
    const rule = { perSecond: 0.01, burst: 20 };
    const scripts = (): number =>
      [...redis.cli("info", "commandstats").matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
        (sum, [, calls]) => sum + Number(calls),
        0,
      );
    const before = scripts();
    redis.cli("client", "pause", "500", "ALL");
    const waits: Promise<number>[] = [];
    for (let n = 0; n < 50; n++) {
      waits.push(one.limits.take({ caller: rule }));
      // Each in a turn of the event loop of its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await Promise.all(waits)).filter((wait) => wait === 0)).toHaveLength(20);
    // The first one, and all that came after it.
    expect(scripts() - before).toBeLessThanOrEqual(4);
  });

  it("keeps nothing that can be read without the key, and nothing for ever", async () => {
    const redis = await startRedis();
    const open = openerOver(() => redis.url);
    const one = await open("one");
    await one.beat("one", "tcp://127.0.0.1:1");
    await one.sessions.put("SECRET-session", { owner: "one", fence: 0, text: "SECRET facts" }, 60_000);
    await one.marks.once("SECRET mark", 60_000);
    await one.locks.hold("SECRET lock", 60_000);
    await one.limits.take({ "SECRET principal": { perSecond: 0.01, burst: 2 } });
    await one.limits.take({ "SECRET caller": { most: 2, windowMs: 60_000 } });
    await one.records.put("SECRET group", "SECRET name", "SECRET text", 60_000);
    await one.bus.publish("one", "SECRET news");
    await one.bus.publish("one", "SECRET question", "asks");
    await one.mail.publish("one", "SECRET letter", "two");
    const events = [{ sequence: 1, text: "SECRET event" }];
    const bounds = { pieces: 9, bytes: 9_000, allBytes: 9_000, lifeMs: 60_000 };
    await one.streams.append("SECRET stream", { about: "SECRET", after: 0, events, ended: false }, bounds);
    const now = new Date().toISOString();
    const task = { taskId: "one.t", status: "working" as const, createdAt: now, lastUpdatedAt: now, ttlMs: 60_000 };
    await one.tasks.put({ principal: "SECRET principal", task: { ...task, pollIntervalMs: 1 } });
    const keys = redis.cli("--scan").split("\n");
    expect(keys.length).toBeGreaterThanOrEqual(14);
    for (const key of keys) {
      expect(key).not.toContain("SECRET");
      // -1 is for ever; -2 is over since it was listed.
      expect(Number(redis.cli("pttl", key)), key).not.toBe(-1);
    }
    expect(redis.cli("--no-raw", "eval", DUMP, "0")).not.toContain("SECRET");
  });

  it.each(ENDING)("gives back no %s that was put back after its end", async (kind, { write, read, renew }) => {
    const redis = await startRedis();
    const one = await openerOver(() => redis.url)("one");
    await write(one, 60_000);
    expect(await read(one), `${kind}, before its end`).toBe(true);
    // Whoever writes to Redis may put back the very bytes, in every index too: as if they had never ended there.
    redis.cli("eval", FOR_EVER, "0");
    const written = Date.now();
    onTestFinished(() => void vi.restoreAllMocks());
    const clock = vi.spyOn(Date, "now").mockReturnValue(written + 50_000);
    expect(await read(one), `${kind}, shortly before its end`).toBe(true);
    clock.mockReturnValue(written + 60_001);
    expect(await read(one), `${kind}, after its end`).toBe(false);
    expect(await one.sessions.claim("s", "two", 0, 60_000), "a claim after its end").toBeUndefined();
    for (const again of renew ?? []) {
      clock.mockReturnValue(written);
      await write(one, 60_000);
      clock.mockReturnValue(written + 50_000);
      await again(one, 60_000);
      clock.mockReturnValue(written + 100_000);
      expect(await read(one), `${kind}, after it was given more time`).toBe(true);
      clock.mockReturnValue(written + 110_001);
      expect(await read(one), `${kind}, after the time it was given`).toBe(false);
      redis.cli("flushall");
    }
  });

  it("says that texts of the bus were missed which were put back later than they are of use", async () => {
    const redis = await startRedis();
    const one = await openerOver(() => redis.url)("one");
    await one.bus.publish("one", "old");
    const key = redis.cli("--scan", "--pattern", "*:bus");
    const sealed = redis.cli("--no-raw", "xrange", key, "-", "+").match(/"([\w-]{40,})"/)?.[1] ?? "";
    const heard: string[] = [];
    let all = (): void => undefined;
    const told = new Promise<void>((resolve) => (all = resolve));
    const stop = await one.bus.listen({
      hear: (_, text) => (heard.push(text), text === "new" && all()),
      missed: () => heard.push("missed"),
    });
    onTestFinished(stop);
    onTestFinished(() => void vi.restoreAllMocks());
    const later = Date.now() + 60_001;
    vi.spyOn(Date, "now").mockReturnValue(later);
    redis.cli("xadd", key, "*", "f", "one", "d", sealed);
    await one.bus.publish("one", "new");
    await told;
    expect(heard).toEqual(["missed", "new"]);
  });

  it("keeps few letters, none that was read, and none for longer than a minute", async () => {
    const redis = await startRedis();
    const one = await openerOver(() => redis.url)("one");
    for (let n = 0; n < 1_500; n += 100)
      await Promise.all(Array.from({ length: 100 }, () => one.mail.publish("one", "letter", "two")));
    const key = redis.cli("--scan", "--pattern", "*:mail:two");
    // Redis drops whole pieces of its memory, of a hundred entries each.
    expect(Number(redis.cli("xlen", key))).toBeLessThanOrEqual(LETTERS + 100);
    expect(Number(redis.cli("pttl", key))).toBeLessThanOrEqual(60_000);
    const heard: string[] = [];
    const stop = await one.mail.listen({ hear: (_, text) => heard.push(text), missed: () => undefined }, "two");
    onTestFinished(stop);
    await one.mail.publish("one", "last", "two");
    await expect.poll(() => redis.cli("xlen", key)).toBe("1");
    expect(heard).toEqual(["last"]);
  });

  it("takes no record that was moved to another place", async () => {
    const redis = await startRedis();
    const one = await openerOver(() => redis.url)("one");
    await one.sessions.put("mine", { owner: "one", fence: 0, text: "mine" }, 60_000);
    await one.sessions.put("yours", { owner: "one", fence: 0, text: "yours" }, 60_000);
    const [first, second] = redis.cli("--scan", "--pattern", "*:s:*").split("\n") as [string, string];
    redis.cli("copy", first, second, "replace");
    const found = [await one.sessions.get("mine"), await one.sessions.get("yours")];
    expect(found.filter((each) => each === undefined)).toHaveLength(1);
  });

  it("leaves a record of a newer version as it is, and says so", async () => {
    const redis = await startRedis();
    const one = await openerOver(() => redis.url)("one");
    await one.sessions.put("s", { owner: "one", fence: 0, text: "facts" }, 60_000);
    const key = redis.cli("--scan", "--pattern", "*:s:*");
    redis.cli("hset", key, "v", "4");
    await expect(one.sessions.get("s")).rejects.toMatchObject({ code: "NEWER" });
    expect(await one.sessions.claim("s", "two", 0, 60_000)).toBeUndefined();
    expect(await one.sessions.put("s", { owner: "one", fence: 0, text: "old" }, 60_000)).toBe(false);
    expect(redis.cli("hget", key, "v")).toBe("4");
  });
});

/** What ends by itself: how it is kept, whether it is there, and what gives it more time. */
type Ending = readonly [
  kind: string,
  {
    write(stores: SharedStores, lifeMs: number): Promise<unknown>;
    read(stores: SharedStores): Promise<boolean>;
    readonly renew?: readonly ((stores: SharedStores, lifeMs: number) => Promise<unknown>)[];
  },
];

const PIECE = { about: "", after: 0, events: [{ sequence: 1, text: "x" }], ended: false };
const SESSION = { owner: "one", fence: 0, text: "facts" };
const TASK = { taskId: "one.t", status: "completed" as const, createdAt: "", lastUpdatedAt: "", pollIntervalMs: 1 };

const ENDING: readonly Ending[] = [
  [
    "record",
    {
      write: ({ records }, lifeMs) => records.put("g", "n", "yes", lifeMs),
      read: async ({ records }) => (await records.get("g", "n")) !== undefined,
    },
  ],
  [
    "listed record",
    {
      write: ({ records }, lifeMs) => records.put("g", "n", "yes", lifeMs),
      read: async ({ records }) => (await records.list("g")).size > 0,
    },
  ],
  [
    "session",
    {
      write: ({ sessions }, lifeMs) => sessions.put("s", SESSION, lifeMs),
      read: async ({ sessions }) => (await sessions.get("s")) !== undefined,
      renew: [
        ({ sessions }, lifeMs) => sessions.touch(["s"], "one", lifeMs),
        ({ sessions }, lifeMs) => sessions.claim("s", "two", 0, lifeMs),
      ],
    },
  ],
  [
    "task",
    {
      write: ({ tasks }, ttlMs) => Promise.resolve(tasks.put({ principal: "ada", task: { ...TASK, ttlMs } })),
      read: async ({ tasks }) => (await tasks.get("one.t", "ada")) !== undefined,
    },
  ],
  [
    "stream",
    {
      write: ({ streams }, lifeMs) => streams.append("s", PIECE, { pieces: 9, bytes: 9_000, allBytes: 9_000, lifeMs }),
      read: async ({ streams }) => (await streams.read("s", 0)) !== undefined,
    },
  ],
  [
    "listed task",
    {
      write: ({ tasks }, ttlMs) => Promise.resolve(tasks.put({ principal: "ada", task: { ...TASK, ttlMs } })),
      read: async ({ tasks }) => (await tasks.list("ada", { limit: 9 })).length > 0,
    },
  ],
];

/** Takes Redis's own end from everything. */
const FOR_EVER = `
for _, key in ipairs(redis.call("KEYS", "*")) do
  redis.call("PERSIST", key)
  if redis.call("TYPE", key).ok == "zset" then
    for _, each in ipairs(redis.call("ZRANGE", key, 0, -1)) do redis.call("ZADD", key, 9e15, each) end
  end
end`;

/** Everything that is kept, as one text. */
const DUMP = `
local all = {}
for _, key in ipairs(redis.call("KEYS", "*")) do
  local kind = redis.call("TYPE", key).ok
  if kind == "string" then all[#all + 1] = redis.call("GET", key) end
  if kind == "hash" then for _, v in ipairs(redis.call("HGETALL", key)) do all[#all + 1] = v end end
  if kind == "zset" then for _, v in ipairs(redis.call("ZRANGE", key, 0, -1)) do all[#all + 1] = v end end
  if kind == "stream" then for _, e in ipairs(redis.call("XRANGE", key, "-", "+")) do for _, v in ipairs(e[2]) do all[#all + 1] = v end end end
end
return table.concat(all, "\\n")`;
