// The contract suite, over the stores in memory and over Redis alone, behind Sentinel and as a Cluster, on both clients.
import { randomBytes } from "node:crypto";
import { createClient, createCluster } from "@redis/client";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { storesContract } from "../../src/cluster/contract.js";
import { LETTERS, memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { fleetOf } from "../../src/cluster/relay-link.js";
import { keysOf } from "../../src/cluster/relay-link.js";
import { openDoor, type RedisTarget, Vault } from "../../src/redis/door.js";
import { carryOver } from "../../src/redis/redis-streams.js";
import { RedisStores } from "../../src/redis/redis-stores.js";
import { KEY } from "./cluster-fixture.js";
import { hasRedis, prefix, type StartedRedis, startRedis, startRedisCluster, startSentinel } from "./redis-fixture.js";

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

const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
/** The keys of a process in each step of a change, as docs/scale.md tells it. */
const STEPS: readonly (readonly Buffer[])[] = [[OLD], [OLD, NEW], [NEW, OLD], [NEW]];
const PAIRS = STEPS.slice(1).flatMap((step, at) => {
  const before = STEPS[at] as readonly Buffer[];
  return [[before, step] as const, [step, before] as const];
});

interface Stepping {
  readonly redis: StartedRedis;
  at(keys: readonly Buffer[], node: string): Promise<SharedStores>;
}

async function stepping(target?: () => Promise<RedisTarget>): Promise<Stepping> {
  const redis = target === undefined ? await startRedis() : undefined;
  const own = prefix();
  return {
    redis: redis as StartedRedis,
    async at(keys, node) {
      const stores = new RedisStores((await target?.()) ?? redis?.url ?? "", { keys, prefix: own });
      await stores.open(node, fleetOf(keys));
      onTestFinished(() => stores.close());
      return stores;
    },
  };
}

const stepOf = (keys: readonly Buffer[]): string => keys.map((key) => (key === OLD ? "old" : "new")).join("+");

/** What is kept: written by one process, and whether another one knows of it; written again or taken away by that one. */
interface Kept {
  readonly kind: string;
  write(stores: SharedStores, name: string): Promise<unknown>;
  knows(stores: SharedStores, name: string): Promise<boolean>;
  readonly takeAway?: (stores: SharedStores, name: string) => Promise<unknown>;
}

const RATE = { perSecond: 0.001, burst: 1 };
const WINDOW = { most: 1, windowMs: 3_600_000 };
const MINUTE_BOUNDS = { pieces: 9, bytes: 9_000, allBytes: 9_000, lifeMs: 60_000 };

const KEPT: readonly Kept[] = [
  {
    kind: "record",
    write: ({ records }, name) => records.put("taint 7", name, "read", 60_000),
    knows: async ({ records }, name) => (await records.get("taint 7", name)) === "read",
    takeAway: ({ records }, name) => records.delete("taint 7", name),
  },
  {
    kind: "listed record",
    write: ({ records }, name) => records.put("consent 7", name, "yes", 60_000),
    knows: async ({ records }, name) => (await records.list("consent 7")).get(name) === "yes",
    takeAway: ({ records }, name) => records.delete("consent 7", name),
  },
  {
    kind: "session",
    write: ({ sessions }, name) => sessions.put(name, { owner: "one", fence: 0, text: "facts" }, 60_000),
    knows: async ({ sessions }, name) => (await sessions.get(name))?.text === "facts",
    takeAway: ({ sessions }, name) => sessions.delete(name, "one"),
  },
  {
    kind: "task",
    write: async ({ tasks }, name) =>
      tasks.put({ principal: name, task: { ...TASK, taskId: `one.${name}`, ttlMs: 60_000 } }),
    knows: async ({ tasks }, name) =>
      (await tasks.get(`one.${name}`, name)) !== undefined && (await tasks.list(name, { limit: 9 })).length === 1,
    takeAway: async ({ tasks }, name) => tasks.delete(`one.${name}`),
  },
  {
    kind: "stream",
    write: ({ streams }, name) => streams.append(name, PIECE, MINUTE_BOUNDS),
    knows: async ({ streams }, name) => (await streams.read(name, 0))?.events[0]?.text === "x",
    takeAway: ({ streams }, name) => streams.delete([name]),
  },
  {
    kind: "mark",
    write: ({ marks }, name) => marks.once(name, 60_000),
    knows: async ({ marks }, name) => !(await marks.once(name, 60_000)),
  },
  {
    kind: "rate",
    write: ({ limits }, name) => limits.take({ [name]: RATE }),
    knows: async ({ limits }, name) => (await limits.take({ [name]: RATE })) > 0,
  },
  {
    kind: "window",
    write: ({ limits }, name) => limits.take({ [name]: WINDOW }),
    knows: async ({ limits }, name) => (await limits.take({ [name]: WINDOW })) > 0,
  },
];

/** What counts each event once cannot be written twice. */
const HELD: Kept = {
  kind: "lock",
  write: ({ locks }, name) => locks.hold(name, 60_000),
  knows: async ({ locks }, name) => (await locks.hold(name, 60_000)) === undefined,
};

describe.runIf(hasRedis)("processes in neighbouring steps of a change of key", () => {
  it.each(PAIRS.map(([one, two]) => [stepOf(one), stepOf(two), one, two] as const))(
    "%s writes, %s knows of it, of every kind, and takes it away for both",
    async (_one, _two, first, second) => {
      const { at } = await stepping();
      const [one, two] = [await at(first, "one"), await at(second, "two")];
      for (const { kind, write, knows, takeAway } of [...KEPT, HELD]) {
        await write(one, kind);
        expect(await knows(two, kind), kind).toBe(true);
        expect(await knows(one, kind), `${kind}, where it was written`).toBe(true);
        await takeAway?.(two, kind);
        if (takeAway) for (const each of [one, two]) expect(await knows(each, kind), `${kind}, gone`).toBe(false);
      }
    },
  );

  it.each(PAIRS.map(([one, two]) => [stepOf(one), stepOf(two), one, two] as const))(
    "%s and %s keep to the contract together",
    async (_one, _two, first, second) => {
      for (const { run } of storesContract()) {
        const { at } = await stepping();
        let opened = 0;
        await run((node) => at(opened++ % 2 === 0 ? first : second, node));
      }
    },
  );

  it("read what was put last, and nothing older once that has ended", async () => {
    const { at } = await stepping();
    const [one, two] = [await at([OLD, NEW], "one"), await at([NEW, OLD], "two")];
    await one.records.put("g", "n", "first", 60_000);
    await two.records.put("g", "n", "second", 60_000);
    for (const { records } of [one, two]) expect(await records.get("g", "n")).toBe("second");
    await one.records.put("g", "n", "third", 60_000);
    for (const { records } of [one, two]) expect(await records.get("g", "n")).toBe("third");
    for (const { records } of [one, two]) expect([...(await records.list("g")).values()]).toEqual(["third"]);
    await two.records.put("g", "n", "short", 1);
    // Each key's copy ends by itself: one may be read a moment longer than the other, and "third" by nobody.
    for (const { records } of [two, one]) {
      const read: unknown[] = [];
      await expect.poll(async () => (read.push(await records.get("g", "n")), read.at(-1))).toBeUndefined();
      expect(read.filter((value) => value !== "short" && value !== undefined)).toEqual([]);
    }
  });

  it.each([
    ["alone", undefined],
    ["Cluster", (url: string) => url],
    [
      "Cluster, by @redis/client",
      async (url: string) => {
        const rootNodes = url
          .replace("redis+cluster://", "")
          .split(",")
          .map((each) => ({ url: `redis://${each}` }));
        const client = createCluster({ rootNodes });
        await client.connect();
        return client;
      },
    ],
  ] as const)("give up the old key once all was carried to the new one: Redis %s", async (_, target) => {
    const cluster = target === undefined ? undefined : await startRedisCluster();
    const { at } = await stepping(cluster && target && (async () => target(cluster.url)));
    const single = await at([OLD], "single");
    await single.beat("single", "tcp://127.0.0.1:1");
    for (const { write, kind } of KEPT) await write(single, `${kind} of one key`);
    await single.leave("single");
    await single.close();
    const both = await at([OLD, NEW], "both");
    await both.beat("both", "tcp://127.0.0.1:1");
    for (const { write, kind } of KEPT) await write(both, `${kind} of two`);
    await both.leave("both");
    await both.close();
    const swapped = await at([NEW, OLD], "swapped");
    await swapped.beat("swapped", "tcp://127.0.0.1:2");
    for (const { write, kind } of KEPT) await write(swapped, `${kind} of the swapped`);
    // Nobody is let in without the old key as long as it is needed, and whoever comes while it is given up waits for that.
    const last = at([NEW], "last");
    const beats = setInterval(() => void swapped.beat("swapped", "tcp://127.0.0.1:2"), 100);
    onTestFinished(() => clearInterval(beats));
    const without = await last;
    for (const { knows, kind } of KEPT)
      for (const when of ["of one key", "of two", "of the swapped"]) {
        // What was counted by the old key alone and never since has a name that nobody can find by the new one.
        if (when === "of one key" && (kind === "rate" || kind === "window")) continue;
        expect(await knows(without, `${kind} ${when}`), `${kind} ${when}`).toBe(true);
      }
  });

  it("take back what was carried over: it is not read again, whoever puts it back", async () => {
    const { at, redis } = await stepping();
    const one = await at([OLD], "one");
    await one.records.put("g", "n", "yes", 60_000);
    const key =
      redis
        .cli("--scan", "--pattern", "*:r:*")
        .split("\n")
        .find((each) => !each.endsWith(":all")) ?? "";
    const sealed = redis.cli("get", key);
    const two = await at([OLD, NEW], "two");
    await one.close();
    const three = await at([NEW, OLD], "three");
    await carryOver({ door: await openDoor(redis.url), vault: new Vault([NEW, OLD]), prefix: prefixOf(key) });
    expect(redis.cli("exists", key)).toBe("0");
    expect(await three.records.get("g", "n")).toBe("yes");
    expect(await two.records.get("g", "n")).toBe("yes");
    await three.records.delete("g", "n");
    redis.cli("set", key, sealed);
    expect(await three.records.get("g", "n")).toBeUndefined();
  });

  it.each([
    ["another first key", [NEW], [OLD], /has another key/],
    [
      "a first key that the other has not",
      [NEW, OLD],
      [OLD],
      /has not the first key of this one: write it into a second/,
    ],
    [
      "not the key the other uses",
      [NEW],
      [OLD, NEW],
      /uses a key that this one has not: write it into a second line here/,
    ],
  ])("are refused with %s", async (_, own, there, said) => {
    const { at } = await stepping();
    await (await at(there, "there")).beat("there", "tcp://127.0.0.1:1");
    await expect(at(own, "own")).rejects.toMatchObject({ code: "BAD_SHARE", message: expect.stringMatching(said) });
  });

  it("are refused without a key that something kept needs, where nobody is there to carry it over", async () => {
    const { at } = await stepping();
    const one = await at([OLD], "one");
    await one.beat("one", "tcp://127.0.0.1:1");
    await one.leave("one");
    await one.close();
    const message = expect.stringMatching(
      /needs a key that this process has not, and nobody who has it is there: .* a minute after/,
    );
    await expect(at([NEW], "own")).rejects.toMatchObject({ code: "BAD_SHARE", message });
  });
});

function prefixOf(key: string): string {
  return /^\{?(test-\w+)/.exec(key)?.[1] ?? "";
}

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
