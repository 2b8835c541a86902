// A Redis that is not fit, and options that make no sense: one sentence that says what to change.
import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import type { IoRedisLike } from "../../src/redis/door.js";
import { redisCluster, redisStores, type RedisClusterOptions } from "../../src/redis/redis-stores.js";
import { serveHttp } from "../../src/serve/http.js";
import { testServer } from "../http/http-fixture.js";
import { KEY } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis } from "./redis-fixture.js";

async function refusal(target: string | IoRedisLike, options: Partial<RedisClusterOptions> = {}): Promise<string> {
  try {
    const share = redisCluster(target, { key: KEY, ...options });
    const serving = await serveHttp(testServer(), { share, signals: false, limits: { drainMs: 10 } });
    onTestFinished(() => serving.close());
    return "served";
  } catch (error) {
    expect(error).toMatchObject({ code: "BAD_SHARE" });
    const { message } = error as Error;
    expect(message).not.toContain("\n");
    return message;
  }
}

/** What a machine that does much else does to a process: nothing of it runs for longer than Redis is waited for. */
function heldUp(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
}

/** A client that answers INFO with these facts. */
function client(facts: Readonly<Record<string, string>>, ahead = 0): IoRedisLike {
  const lines = Object.entries({ redis_version: "7.0.0", role: "master", ...facts }).map(
    ([name, value]) => `${name}:${value}`,
  );
  const time = [String(Math.floor(Date.now() / 1_000) + ahead), "0"];
  return {
    call: async (command) => (command === "INFO" ? lines.join("\r\n") : command === "EVAL" ? time : null),
    duplicate: () => client(facts),
    disconnect: () => undefined,
    on: () => undefined,
  };
}

describe("options of redisCluster", () => {
  it.each([
    [{ key: "c2hvcnQ=" }, /key must be 32 bytes.*it has 5.*openssl rand/],
    [{ key: [] }, /key needs 32 random bytes/],
    [{ node: "Not ok" }, /node "Not ok" must be 1 to 32 small letters and digits/],
    [{ address: "10.0.0.5:3001" }, /address "10.0.0.5:3001" must be tcp:\/\/host:port/],
    [{ prefix: "a b" }, /prefix "a b" may have/],
  ])("%j", async (options, said) => {
    expect(await refusal("redis://127.0.0.1:1", options)).toMatch(said);
  });

  it.each([
    ["http://127.0.0.1:6379", /is no address of Redis: write it as redis:\/\//],
    ["redis://user:SECRET@127.0.0.1:1", /^share: redis:\/\/127.0.0.1:1 cannot be reached: /],
  ])("%s", async (target, said) => {
    const text = await refusal(target);
    expect(text).toMatch(said);
    expect(text).not.toContain("SECRET");
  });
});

describe("a Redis that says of itself", () => {
  it.each([
    [{ redis_version: "5.0.14" }, /is Redis 5.0.14: use version 6.2 or later/],
    [{ redis_version: "6.0.16" }, /is Redis 6.0.16: use version 6.2 or later/],
    [{ role: "slave" }, /is a replica, which takes no writes/],
    [{ cluster_enabled: "1" }, /is one of a Redis Cluster: write redis\+cluster:/],
    [
      { maxmemory: "1000", maxmemory_policy: "allkeys-lru" },
      /forgets keys when its memory is full \(allkeys-lru\): set maxmemory-policy noeviction/,
    ],
  ])("%j", async (facts, said) => {
    expect(await refusal(client(facts))).toMatch(said);
  });

  it("has a clock far off", async () => {
    expect(await refusal(client({}, 3_600))).toMatch(/the clock of Redis is 3\d\d\d s off ours: set both by NTP/);
  });
});

describe.runIf(hasRedis)("a Redis server", () => {
  it("is not taken for away by a process that was held up itself, at its start or later", async () => {
    const { url } = await startRedis();
    const stores = redisStores(url, { key: KEY });
    const opening = stores.open("one", { keys: ["k"] });
    heldUp();
    await opening;
    onTestFinished(() => stores.close());
    const asked = stores.sessions.get("none");
    heldUp();
    expect(await asked).toBeUndefined();
  });

  it("that has no rights for us", async () => {
    const redis = await startRedis();
    redis.cli("acl", "setuser", "few", "on", ">pw", "~*", "+@connection", "+info", "+get", "+eval", "+time");
    expect(await refusal(redis.url.replace("//", "//few:pw@"))).toMatch(
      /refuses SET \(NOPERM.*give this user the right/,
    );
  });

  it.each([
    ["no JSON", "{"],
    ["nothing", "null"],
    ["a number", "7"],
    ["a list", "[]"],
    ["no version", '{"keys":["k"]}'],
    ["a version of another time", '{"v":2,"keys":["k"]}'],
    ["keys that are no list", '{"v":1,"keys":"k"}'],
    ["keys that are no texts", '{"v":1,"keys":[1]}'],
    ["a policy that is none", '{"v":1,"keys":["k"],"policy":{"a":1}}'],
    ["a list of policies that are none", '{"v":1,"keys":["k"],"policy":[null]}'],
    ["parts that are none", '{"v":1,"keys":["k"],"parts":[["a"]]}'],
    ["a part that is none", '{"v":1,"keys":["k"],"parts":{"policy":1}}'],
    ["a part that would write lines", '{"v":1,"keys":["k"],"parts":{"a\\nb":"1"}}'],
  ])("in which a process says %s of itself", async (_, text) => {
    const redis = await startRedis();
    redis.cli("zadd", "{mcp:n}:until", "9e15", "one");
    redis.cli("hset", "{mcp:n}:fleet", "one", text);
    expect(await refusal(redis.url)).toMatch(/^share: what a process at .* says of itself cannot be read: give all/);
  });

  it("in which a process has a name that none has", async () => {
    const redis = await startRedis();
    redis.cli("zadd", "{mcp:n}:until", "9e15", "a\nb");
    redis.cli("hset", "{mcp:n}:fleet", "a\nb", '{"v":1,"keys":["k"]}');
    expect(await refusal(redis.url)).toMatch(/says of itself cannot be read/);
  });

  it.each([
    ["fleet", /^share: who is at .* cannot be read \(.*WRONGTYPE.*\): use another prefix/],
    ["until", /^share: who is at .* cannot be read \(.*WRONGTYPE.*\): use another prefix/],
    ["uses", /^share: who is at .* cannot be read \(.*WRONGTYPE.*\): use another prefix/],
  ])("that keeps something else at the place of %s", async (place, said) => {
    const redis = await startRedis();
    redis.cli("zadd", "{mcp:n}:until", "9e15", "one");
    redis.cli("del", `{mcp:n}:${place}`);
    redis.cli("set", `{mcp:n}:${place}`, "text");
    expect(await refusal(redis.url)).toMatch(said);
  });

  it("that another fleet uses under this prefix", async () => {
    const redis = await startRedis();
    const own = prefix();
    expect(await refusal(redis.url, { prefix: own, policy: "a", node: "one" })).toBe("served");
    expect(await refusal(redis.url, { prefix: own, key: randomBytes(32) })).toMatch(/has another key/);
    expect(await refusal(redis.url, { prefix: own, policy: "b" })).toMatch(/has another policy/);
    expect(await refusal(redis.url, { prefix: own, policy: "a", node: "one" })).toMatch(
      /another process is called "one" already/,
    );
    expect(await refusal(redis.url, { prefix: own, policy: "a", node: "two", key: [KEY, randomBytes(32)] })).toBe(
      "served",
    );
  });
});
