// A Redis that is not fit, and options that make no sense: one sentence that says what to change.
import { readdirSync, readFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { storesContract } from "../../src/cluster/contract.js";
import { fleetOf } from "../../src/cluster/relay-link.js";
import { type IoRedisLike, openDoor, Vault, whyNot } from "../../src/redis/door.js";
import { carryOver } from "../../src/redis/redis-streams.js";
import { redisCluster, redisStores, type RedisClusterOptions } from "../../src/redis/redis-stores.js";
import { KEY, refusalOf } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis, startSentinel } from "./redis-fixture.js";

const LONG = { timeout: 60_000 };

function refusal(target: string | IoRedisLike, options: Partial<RedisClusterOptions> = {}): Promise<string> {
  return refusalOf(() => redisCluster(target, { key: KEY, ...options }));
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

it.each(["ENOTFOUND", "EAI_AGAIN"])("a name that is not known (%s) is said to be that", (code) => {
  const error = Object.assign(new Error(`getaddrinfo ${code} nowhere.invalid`), { code });
  const said = "redis://nowhere.invalid has a name that is not known here: correct the address";
  expect(whyNot("redis://nowhere.invalid", error)).toBe(said);
});

describe("options of redisCluster", () => {
  it.each([
    [{ key: "c2hvcnQ=" }, /key must be 32 bytes.*it has 5.*openssl rand/],
    [{ key: [] }, /key needs 32 random bytes/],
    [{ key: undefined }, /key must be 32 bytes.*it has 0.*openssl rand/],
    [{ key: [undefined] }, /key must be 32 bytes.*it has 0.*openssl rand/],
    [{ node: "Not ok" }, /node "Not ok" must be 1 to 32 small letters and digits/],
    [{ address: "10.0.0.5:3001" }, /address "10.0.0.5:3001" must be tcp:\/\/host:port/],
    [{ prefix: "a b" }, /prefix "a b" may have/],
  ])("%j", async (options, said) => {
    expect(await refusal("redis://127.0.0.1:1", options as Partial<RedisClusterOptions>)).toMatch(said);
  });

  it.each([
    [{ node: 1 }, /"node" is a text/],
    [{ policy: 5 }, /"policy" is a /],
  ])("of another type: %j", (options, said) => {
    const given = { key: KEY, ...options } as unknown as RedisClusterOptions;
    expect(() => redisCluster("redis://127.0.0.1:1", given)).toThrow(said);
  });

  it.each([
    ["http://127.0.0.1:6379", /is no address of Redis: write it as redis:\/\//],
    [
      "redis://user:SECRET@127.0.0.1:1",
      /^share: redis:\/\/127.0.0.1:1 cannot be reached: the connection was refused; start Redis there, or correct the address$/,
    ],
    ["rediss://user:SECRET@127.0.0.1:1", /: the connection was refused; start Redis there, or correct the address$/],
    [
      "redis://user:SECRET@127.0.0.1:99999",
      /^share: redis:\/\/127.0.0.1:99999 names the port 99999, which no server can have: write one from 1 to 65535$/,
    ],
    ["redis+cluster://127.0.0.1:1,127.0.0.1:0", /names the port 0, which no server can have/],
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

  it("whose user may not use one command of all that are used: it is named", LONG, async () => {
    const folder = new URL("../../src/redis/", import.meta.url);
    const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));
    const used = sources.flatMap((text) =>
      [...text.matchAll(/(?:run\(|redis\.call\()"([A-Z]+)"/g)].map(([, name]) => name),
    );
    // What it tells of its persistence is told where it may be.
    const names = new Set(used.filter((name) => name !== "CONFIG"));
    expect(names.size).toBeGreaterThan(25);
    const redis = await startRedis();
    const url = redis.url.replace("//", "//few:pw@");
    redis.cli("acl", "setuser", "few", "on", ">pw", "~*", "+@all");
    expect(await refusal(url, { prefix: prefix() })).toBe("served");
    for (const name of names) {
      redis.cli("acl", "setuser", "few", "reset", "on", ">pw", "~*", "+@all", `-${String(name).toLowerCase()}`);
      expect(await refusal(url, { prefix: prefix() }), name).toMatch(
        new RegExp(`refuses ${name} \\(.*\\): give this user`),
      );
    }
    redis.cli("acl", "setuser", "few", "reset", "on", ">pw", "~*", "+@all", "-@blocking");
    expect(await refusal(url, { prefix: prefix() })).toMatch(/refuses XREAD /);
  });

  it.each(["mcp", "a.b:c-1"])("whose user may do what the refusal says, under the prefix %s", LONG, async (own) => {
    const warned = vi.spyOn(console, "warn");
    onTestFinished(() => warned.mockRestore());
    const redis = await startRedis();
    const url = redis.url.replace("//", "//few:pw@");
    redis.cli("acl", "setuser", "few", "on", ">pw", "~*", "+@connection", "+info", "+get", "+eval", "+time");
    const said = await refusal(url, { prefix: own });
    expect(said).toMatch(/refuses SET \(NOPERM.*\): give this user its rights in redis-cli with ACL SETUSER NAME /);
    redis.cli("acl", "setuser", "few", "-info");
    expect(await refusal(url, { prefix: own })).toMatch(
      /refuses INFO \(NOPERM.*\): give this user .* ACL SETUSER NAME /,
    );
    const [, line = ""] = /(ACL SETUSER .*)$/.exec(said) ?? [];
    redis.cli("acl", "deluser", "few");
    redis.cli(...line.replace("NAME", "few").replace("PASSWORD", "pw").split(" "));
    // It may do nothing elsewhere.
    redis.cli("set", "other", "1");
    expect(redis.cli("--user", "few", "--pass", "pw", "get", "other")).toMatch(/NOPERM/);
    expect(await refusal(url, { prefix: own })).toBe("served");
    // Two keys, as while keys are changed: all scripts are used.
    const key = [KEY, randomBytes(32)];
    for (const { run } of storesContract()) {
      redis.cli("flushall");
      await run(async (node) => {
        const stores = redisStores(url, { key, prefix: own });
        await stores.open(`${node}${randomBytes(4).toString("hex")}`, fleetOf(key));
        onTestFinished(() => stores.close());
        return stores;
      });
    }
    const place = { door: await openDoor(url), prefix: own, vault: new Vault(key) };
    onTestFinished(() => place.door.close());
    await carryOver(place);
    expect(warned).not.toHaveBeenCalled();
  });

  it("that is full says so, and not how, and is well once it is not", async () => {
    const redis = await startRedis("--maxmemory-policy", "noeviction");
    const stores = redisStores(redis.url, { key: KEY });
    await stores.open("one", { keys: ["k"] });
    onTestFinished(() => stores.close());
    const beat = (): Promise<unknown> => stores.beat("one", "tcp://127.0.0.1:1");
    await beat();
    const full = `${redis.url} is full: raise its maxmemory`;
    redis.cli("config", "set", "maxmemory", "1");
    for (let n = 0; n < 2; n++)
      for (const refused of [beat(), stores.marks.once(`m${n}`, 1_000), stores.records.put("g", "n", "t", 1_000)])
        await expect(refused).rejects.toMatchObject({ code: "UNREACHABLE", message: full });
    expect(await refusal(redis.url)).toBe(`share: ${full}`);
    redis.cli("config", "set", "maxmemory", "0");
    await beat();
    expect(await stores.marks.once("m", 1_000)).toBe(true);
  });

  it("has no database of this number", async () => {
    const { url } = await startRedis();
    expect(await refusal(`${url}/99`)).toBe(`share: ${url}/99 has no such database: name another after the /, or none`);
    expect(await refusal(`${url}/x`)).toBe(`share: ${url}/x has no database "x": write its number, or nothing`);
    expect(await refusal(`${url}/3`)).toBe("served");
  });

  it("is alone, and was written as something else", LONG, async () => {
    const { port } = await startRedis();
    const at = `127.0.0.1:${port}`;
    // It says that it has not understood, or nothing, by the random bytes of TLS.
    expect(await refusal(`rediss://${at}`)).toMatch(
      /^share: rediss:\S+ .*does not speak TLS.*, ?write redis:\/\/|does not speak TLS there: write redis:\/\//,
    );
    expect(await refusal(`redis+cluster://${at}`)).toMatch(/ is no Redis Cluster: write redis:\/\/ and one host$/);
    expect(await refusal(`redis+sentinel://${at}/one`)).toMatch(
      / is no Sentinel: name Sentinels there, or write redis:/,
    );
    expect(await refusal(`redis+sentinel://${at}`)).toMatch(
      / does not say which master: write its name after the hosts/,
    );
  });

  it("is none: something else answers there", LONG, async () => {
    const web = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void web.close());
    const at = `127.0.0.1:${(web.address() as AddressInfo).port}`;
    expect(await refusal(`redis://${at}`)).toMatch(
      / is no Redis: something else answers there, so look at its host and port$/,
    );
    expect(await refusal(`rediss://${at}`)).toMatch(
      / does not speak TLS there: write redis:\/\/, or the port at which it does$/,
    );
  });

  it("is a Sentinel, or is named by one", LONG, async () => {
    const { url } = await startSentinel();
    expect(await refusal(url.replace("/one", "/two"))).toMatch(
      / knows no master of this name: write the one in its sentinel.conf/,
    );
    expect(await refusal(url.replace("+sentinel", "").replace("/one", ""))).toMatch(
      / is a Sentinel: write redis\+sentinel:/,
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
    ["at", /^share: what is kept at .* cannot be read \(.*WRONGTYPE.*\): use another prefix/],
    ["fleet", /^share: what is kept at .* cannot be read \(.*WRONGTYPE.*\): use another prefix/],
    ["until", /^share: what is kept at .* cannot be read \(.*WRONGTYPE.*\): use another prefix/],
  ])("that keeps something else at the place of %s", async (place, said) => {
    const redis = await startRedis();
    redis.cli("zadd", "{mcp:n}:until", "9e15", "one");
    redis.cli("hset", "{mcp:n}:fleet", "one", '{"v":1,"keys":["k"]}');
    redis.cli("del", `{mcp:n}:${place}`);
    redis.cli("set", `{mcp:n}:${place}`, "text");
    expect(await refusal(redis.url)).toMatch(said);
  });

  it.each(["at", "fleet", "until", "uses", "steady"])(
    "that keeps something else at the place of %s, and nobody is there",
    async (place) => {
      const redis = await startRedis();
      redis.cli("set", `{mcp:n}:${place}`, "text");
      expect(await refusal(redis.url)).toMatch(
        /^share: what is kept at .* cannot be read \(.*WRONGTYPE.*\): use another prefix/,
      );
    },
  );

  it("that says no address of a process: it is not shown", async () => {
    const redis = await startRedis();
    redis.cli("zadd", "{mcp:n}:until", "9e15", "one");
    redis.cli("hset", "{mcp:n}:fleet", "one", '{"v":1,"keys":["k"]}');
    for (const address of ["tcp://a\u001b[31m", "tcp://a b", "http://a", `tcp://${"a".repeat(300)}`, ""]) {
      redis.cli("hset", "{mcp:n}:at", "one", address);
      expect(await refusal(redis.url)).toMatch(/^share: the process one at .* has another key/);
    }
  });

  it("that another fleet uses under this prefix", async () => {
    const redis = await startRedis();
    const own = prefix();
    expect(await refusal(redis.url, { prefix: own, policy: "a", node: "one" })).toBe("served");
    expect(await refusal(redis.url, { prefix: own, key: randomBytes(32) })).toMatch(
      /the process one \(tcp:\/\/127\.0\.0\.1:\d+\) at .* has another key/,
    );
    expect(await refusal(redis.url, { prefix: own, policy: "b" })).toMatch(
      /the process one \(tcp:\/\/127\.0\.0\.1:\d+\) at .* has another policy/,
    );
    expect(await refusal(redis.url, { prefix: own, policy: "a", node: "one" })).toMatch(
      /another process is called "one" already \(tcp:\/\/127\.0\.0\.1:\d+\)/,
    );
    expect(await refusal(redis.url, { prefix: own, policy: "a", node: "two", key: [KEY, randomBytes(32)] })).toBe(
      "served",
    );
  });
});
