// Limits that processes count together in Redis: many events in one step, and of a rate some ahead.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { keysOf } from "../../src/cluster/relay-link.js";
import type { LimitRule, SharedStores } from "../../src/cluster/stores.js";
import { TAKE } from "../../src/redis/redis-scripts.js";
import { RedisStores } from "../../src/redis/redis-stores.js";
import { KEY } from "./cluster-fixture.js";
import { hasRedis, prefix, type StartedRedis, startRedis, startRedisFor } from "./redis-fixture.js";

/** Opens stores over this Redis, each time anew, under one prefix. */
function openerOver({ url }: StartedRedis): (node: string) => Promise<SharedStores> {
  const own = prefix();
  return async (node) => {
    const stores = new RedisStores(url, { keys: keysOf(KEY), prefix: own });
    await stores.open(node, { keys: ["k"] });
    onTestFinished(() => stores.close());
    return stores;
  };
}

/** Scripts that this Redis has run. */
function scriptsOf(redis: StartedRedis): number {
  const found = redis.cli("info", "commandstats").matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g);
  return [...found].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

it.runIf(hasRedis)("counts in one step what arrives while it is asked, each event for itself", async () => {
  const redis = await startRedis();
  const one = await openerOver(redis)("one");
  const rule = { perSecond: 0.01, burst: 20 };
  const before = scriptsOf(redis);
  redis.cli("client", "pause", "500", "ALL");
  const waits: Promise<number>[] = [];
  for (let n = 0; n < 50; n++) {
    waits.push(one.limits.take({ caller: rule }));
    // Each in a turn of the event loop of its own.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await Promise.all(waits)).filter((wait) => wait === 0)).toHaveLength(20);
  // The first one, and all that came after it.
  expect(scriptsOf(redis) - before).toBeLessThanOrEqual(4);
});

describe.runIf(hasRedis)("a rate that is asked for often", () => {
  // A thousandth of a second each, two hundred at once.
  const rule = ["1", "r", "1000", "200"];
  const taken = (of: readonly string[]): readonly number[] =>
    redis
      .cli("eval", TAKE, "1", `rate ${randomUUID()}`, ...rule, ...of)
      .split("\n")
      .map(Number);
  const ahead = (many: number): readonly string[] => ["-1", "1", String(many), "20000"];
  const each = (many: number): readonly string[] => Array.from({ length: many }, () => ["1", "1"]).flat();
  let redis: StartedRedis;
  const endings: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    redis = await startRedisFor((ending) => void endings.push(ending));
  });
  afterAll(async () => {
    for (const ending of endings) await ending();
  });

  it("lets no more pass than the burst while some are held, and what becomes free meanwhile", () => {
    const [held, ...waits] = taken([...ahead(50), ...each(200)]);
    expect([held, waits.filter((wait) => wait === 0).length]).toEqual([50, 200 - 50 - 20]);
  });

  it("holds what is asked for ahead whole or not at all, and leaves half of a burst to others", () => {
    expect(taken([...ahead(80), ...ahead(1), ...each(1)])).toEqual([80, 0, 0]);
    expect(taken([...ahead(81), ...each(150)]).filter((wait) => wait !== 0)).toEqual([]);
    expect(taken([...each(100), ...ahead(2)]).at(-1)).toBe(0);
  });

  it("loses nothing of it where it was not whole", () => {
    const waits = taken([...each(40), ...ahead(30), ...each(200)]);
    expect([waits[40], waits.filter((wait) => wait === 0).length - 40]).toEqual([30, 200 - 40 - 30]);
  });

  it("asks Redis once for many, of several processes never for more than the rate", async () => {
    const open = openerOver(redis);
    const stores = await Promise.all(["one", "two", "three"].map((name) => open(name)));
    const rate = { perSecond: 4_000, burst: 1_200 };
    const before = scriptsOf(redis);
    const begun = performance.now();
    let [asked, passed, spent] = [0, 0, 0];
    const lane = async ({ limits }: SharedStores): Promise<void> => {
      while (passed < 2_000) {
        const wait = await limits.take({ caller: rate });
        asked++;
        spent = performance.now() - begun;
        if (wait === 0) passed++;
        expect(passed).toBeLessThanOrEqual(rate.burst + (rate.perSecond * spent) / 1_000 + 1);
      }
    };
    await Promise.all(stores.flatMap((each) => [lane(each), lane(each), lane(each)]));
    expect(asked / (scriptsOf(redis) - before)).toBeGreaterThan(3);
  });

  it("forgets what is left of it a moment later, and what was taken by another rule", async () => {
    const { limits } = await openerOver(redis)("one");
    const scripts = async (rate: LimitRule): Promise<number> => {
      const before = scriptsOf(redis);
      expect(await limits.take({ who: rate })).toBe(0);
      return scriptsOf(redis) - before;
    };
    const rate = { perSecond: 100, burst: 1_000 };
    const clock = vi.spyOn(performance, "now").mockReturnValue(5_000);
    onTestFinished(() => clock.mockRestore());
    await Promise.all([limits.take({ who: rate }), limits.take({ who: rate })]);
    expect([await scripts(rate), await scripts(rate), await scripts(rate)]).toEqual([0, 0, 1]);
    expect(await scripts({ ...rate, burst: 999 })).toBe(1);
    expect(await scripts({ ...rate, burst: 999 })).toBe(1);
    expect(await scripts({ ...rate, burst: 999 })).toBe(0);
    clock.mockReturnValue(5_020);
    expect(await scripts({ ...rate, burst: 999 })).toBe(1);
  });
});
