// Somebody writes whatever they like to Redis and has no key: nothing they made, changed, moved or turned into something else is read.
// What they can do is to delete, and to put back earlier states of what has not ended; these tests say how far that goes.
import fc from "fast-check";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished } from "vitest";
import type { KeptStream, StreamPiece } from "../../src/http/server/exchange.js";
import { keysOf } from "../../src/cluster/relay-link.js";
import type { SharedStores } from "../../src/cluster/stores.js";
import type { IoRedisLike, RedisTarget } from "../../src/redis/door.js";
import { redisCluster, RedisStores } from "../../src/redis/redis-stores.js";
import { call, session } from "../http/http-fixture.js";
import { repeated } from "../support/soak.js";
import { KEY, startCluster } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis } from "./redis-fixture.js";

const LONG_MS = 60_000;
const BOUNDS = { pieces: 100, bytes: 100_000, allBytes: 1_000_000, lifeMs: LONG_MS };
const PLACES = ["a", "b"] as const;
const VERSIONS = 3;

async function opened(target: RedisTarget, own: string, node: string): Promise<SharedStores> {
  const stores = new RedisStores(target, { keys: keysOf(KEY), prefix: own });
  await stores.open(node, { keys: ["k"] });
  onTestFinished(() => stores.close());
  return stores;
}

function raw(url: string): Redis {
  const redis = new Redis(url);
  onTestFinished(() => redis.disconnect());
  return redis;
}

// What is written, and what may be read of it.

type Kind = "session" | "task" | "record" | "listed" | "stream";

/** Writes the next version of everything there is to one place. */
async function write(stores: SharedStores, place: string, version: number): Promise<void> {
  const { sessions, tasks, records, streams } = stores;
  await sessions.put(place, { owner: `m${place}`, fence: version, text: `facts ${place} ${version}` }, LONG_MS);
  const now = new Date().toISOString();
  const status = version + 1 < VERSIONS ? ("working" as const) : ("completed" as const);
  const task = { taskId: `m.${place}`, status, statusMessage: String(version), createdAt: now, lastUpdatedAt: now };
  await tasks.put({ principal: place, task: { ...task, ttlMs: LONG_MS, pollIntervalMs: 1 } });
  await records.put("g", place, `record ${place} ${version}`, LONG_MS);
  await streams.append(place, pieceOf(place, version), BOUNDS);
}

/** Each piece holds two events; the last one ends the stream, at `b` without any. */
function pieceOf(place: string, version: number): StreamPiece {
  const after = 2 * version;
  const ended = version + 1 === VERSIONS;
  const events = [1, 2].map((n) => ({ sequence: after + n, text: `event ${place} ${after + n}` }));
  return { about: place, after, events: ended && place === "b" ? [] : events, ended };
}

const LAST_EVENT: Readonly<Record<string, number>> = { a: 2 * VERSIONS, b: 2 * (VERSIONS - 1) };

/** Everything that can be read at a place, as texts. */
async function readAll(stores: SharedStores, place: string): Promise<Readonly<Record<Kind, unknown>>> {
  const { sessions, tasks, records, streams } = stores;
  const found = await Promise.all([
    sessions.get(place),
    tasks.get(`m.${place}`, place),
    records.get("g", place),
    records.list("g").then((all) => all.get(place)),
    streams.read(place, 1),
  ]);
  const [kept, task, record, listed, stream] = found;
  return { session: kept, task, record, listed, stream };
}

/** What is wrong with what was read; undefined where it was written so, at some time. */
function wrong(kind: Kind, place: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const versions = Array.from({ length: VERSIONS }, (_, version) => version);
  const text = JSON.stringify(value);
  const fine = {
    session: () =>
      versions.some((n) => text === JSON.stringify({ owner: `m${place}`, fence: n, text: `facts ${place} ${n}` })),
    task: () => {
      const { task, principal } = value as { principal: string; task: { taskId: string; statusMessage: string } };
      return principal === place && task.taskId === `m.${place}` && versions.includes(Number(task.statusMessage));
    },
    record: () => versions.some((n) => value === `record ${place} ${n}`),
    listed: () => versions.some((n) => value === `record ${place} ${n}`),
    stream: () => isBeginning(place, value as KeptStream),
  }[kind]();
  return fine ? undefined : `${kind} at ${place}: ${text}`;
}

/** What was read after event 1: all of it up to some event, and its end only behind the last one. */
function isBeginning(place: string, { about, events, ended }: KeptStream): boolean {
  const whole = events.every(({ sequence, text }, at) => sequence === at + 2 && text === `event ${place} ${at + 2}`);
  return about === place && whole && (!ended || events.length === (LAST_EVENT[place] as number) - 1);
}

// What somebody does with what lies in Redis.

/** Every key with its value as Redis gives it away, at one moment. */
type State = ReadonlyMap<string, Buffer>;

async function stateOf(redis: Redis, own: string): Promise<State> {
  const keys = (await redis.keys(`*${own}:*`)).sort();
  const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
  return new Map(keys.map((key, at) => [key, dumps[at] as Buffer]));
}

type Attack = (redis: Redis, states: readonly State[], pick: (most: number) => number) => Promise<unknown>;

/** Names of one kind: what is not at its place, and yet of the right type. */
function kindOf(key: string): string {
  return key.replace(/[\w-]{22}$/, "");
}

const restore = (redis: Redis, key: string, value: Buffer): Promise<unknown> => redis.restore(key, 0, value, "REPLACE");

/** A text with a bit, its length, or all of it changed. */
function changed(text: string, pick: (most: number) => number, others: readonly string[]): string {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length === 0) return "x";
  const at = pick(bytes.length);
  switch (pick(5)) {
    case 0:
      bytes[at] = (bytes[at] as number) ^ (1 << pick(8));
      return bytes.toString("base64url");
    case 1:
      return bytes.subarray(0, at).toString("base64url");
    case 2:
      return `${text}${text}`;
    case 3:
      return "";
    default:
      return others[pick(others.length)] ?? "";
  }
}

type Entries = readonly (readonly [id: string, fields: readonly string[]])[];

async function putStream(redis: Redis, key: string, entries: Entries): Promise<void> {
  await redis.del(key);
  for (const [id, fields] of entries) await redis.xadd(key, id, ...fields).catch(() => undefined);
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  async delete(redis, states, pick) {
    const keys = [...(states.at(-1) as State).keys()];
    await redis.del(keys[pick(keys.length)] as string);
  },
  async "put back an earlier state"(redis, states, pick) {
    const earlier = [...(states[pick(states.length)] as State)];
    const [key, value] = earlier[pick(earlier.length)] as [string, Buffer];
    await restore(redis, key, value);
  },
  async "put what is of one place in another"(redis, states, pick) {
    const all = [...(states[pick(states.length)] as State)];
    const [from, value] = all[pick(all.length)] as [string, Buffer];
    const alike = [...(states.at(-1) as State).keys()].filter((key) => kindOf(key) === kindOf(from));
    await restore(redis, alike[pick(alike.length)] as string, value);
  },
  async "put anything anywhere"(redis, states, pick) {
    const all = [...(states[pick(states.length)] as State)];
    await restore(redis, all[pick(all.length)]?.[0] as string, all[pick(all.length)]?.[1] as Buffer);
  },
  async "change a field"(redis, states, pick) {
    const keys = [...(states.at(-1) as State).keys()];
    const key = keys[pick(keys.length)] as string;
    const type = await redis.type(key);
    if (type === "string") {
      const text = (await redis.get(key)) ?? "";
      await redis.set(key, changed(text, pick, [text]));
    } else if (type === "hash") {
      const fields = Object.entries(await redis.hgetall(key));
      const [field, text] = fields[pick(fields.length)] as [string, string];
      const others = ["0", "1", "9", "ma", "mb", "evil", ...fields.map(([, each]) => each)];
      await redis.hset(key, field, changed(text, pick, others));
    }
  },
  async "change a stream"(redis, states, pick) {
    const keys = [...(states.at(-1) as State).keys()];
    const streams: string[] = [];
    for (const key of keys) if ((await redis.type(key)) === "stream") streams.push(key);
    if (streams.length === 0) return;
    const key = streams[pick(streams.length)] as string;
    const entries: Entries = await redis.xrange(key, "-", "+");
    const other: Entries = await redis.xrange(streams[pick(streams.length)] as string, "-", "+");
    if (entries.length === 0 || other.length === 0) return;
    const at = pick(entries.length);
    const [id, [name = "d", sealed = "", ...rest]] = entries[at] as Entries[number];
    const [otherId, otherFields] = other[pick(other.length)] as Entries[number];
    const fields = [name, changed(sealed, pick, [otherFields[1] ?? ""]), ...rest];
    const made: Entries = [
      [[...entries.slice(0, at), ...entries.slice(at + 1)]],
      [[...entries.slice(0, at), [id, fields] as const, ...entries.slice(at + 1)]],
      [[...entries.slice(0, at), [otherId, fields] as const, ...entries.slice(at + 1)]],
      [[...entries.slice(0, at), [id, otherFields] as const, ...entries.slice(at + 1)]],
      [[...entries, [`${pick(20)}-${pick(4)}`, otherFields] as const].toSorted((a, b) => order(a[0], b[0]))],
    ][pick(5)]?.[0] as Entries;
    await putStream(redis, key, made);
  },
};

function order(one: string, other: string): number {
  const [[a = 0, b = 0], [c = 0, d = 0]] = [one, other].map((id) => id.split("-").map(Number)) as [number[], number[]];
  return a - c || b - d;
}

describe.runIf(hasRedis)("whatever somebody without the key does to Redis", () => {
  it(
    "reads at each place what was written there, an earlier state of it, or nothing",
    { timeout: 120_000 },
    async () => {
      const { url } = await startRedis();
      const redis = raw(url);
      let read = 0;
      const steps = fc.array(
        fc.record({
          attack: fc.constantFrom(...Object.keys(ATTACKS)),
          picks: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
        }),
        { minLength: 1, maxLength: 6 },
      );
      const property = fc.asyncProperty(steps, async (all) => {
        await redis.flushall();
        const own = prefix();
        const stores = await opened(url, own, "one");
        const states: State[] = [];
        for (let version = 0; version < VERSIONS; version++) {
          for (const place of PLACES) await write(stores, place, version);
          states.push(await stateOf(redis, own));
        }
        for (const { attack, picks } of all) {
          let next = 0;
          const pick = (most: number): number => (most === 0 ? 0 : (picks[next++ % picks.length] as number) % most);
          await ATTACKS[attack]?.(redis, states, pick);
          for (const place of PLACES) {
            // Some of it may be of a wrong type by now: that is refused, and is not an answer.
            const found = await readAll(stores, place).catch(() => ({}));
            for (const [kind, value] of Object.entries(found)) {
              expect(wrong(kind as Kind, place, value), attack).toBeUndefined();
              if (value !== undefined) read++;
            }
          }
        }
        await stores.close();
      });
      await fc.assert(property, { numRuns: repeated(60, 600), seed: 7 });
      // Had nothing been read at all, nothing would have been shown.
      expect(read).toBeGreaterThan(100);
    },
  );

  it("takes no piece of a stream for another one of it", async () => {
    const { url } = await startRedis();
    const redis = raw(url);
    const own = prefix();
    const { streams } = await opened(url, own, "one");
    for (let version = 0; version < VERSIONS; version++) await streams.append("a", pieceOf("a", version), BOUNDS);
    const [key = ""] = await redis.keys(`*${own}:e*`);
    const entries: Entries = await redis.xrange(key, "-", "+");
    type Entry = Entries[number];
    const [first, second, third] = entries as readonly [Entry, Entry, Entry];
    await putStream(redis, key, [first, [second[0], first[1]]]);
    expect(await streams.read("a", 2)).toBeUndefined();
    // What has its place goes on without what came after it, and not without what came before it.
    await putStream(redis, key, [first, second]);
    expect(await streams.read("a", 2)).toMatchObject({ events: [{ sequence: 3 }, { sequence: 4 }], ended: false });
    await putStream(redis, key, [first, third]);
    expect(await streams.read("a", 2)).toBeUndefined();
  });

  it("takes no session for another process's, or for one that was taken over, because it says so beside it", async () => {
    const { url } = await startRedis();
    const redis = raw(url);
    const stores = await opened(url, prefix(), "one");
    const facts = { owner: "one", fence: 4, text: "facts" };
    const [key = ""] = await stores.sessions.put("s", facts, LONG_MS).then(() => redis.keys("*:s:*"));
    for (const [field, forged] of [
      ["owner", "evil"],
      ["fence", "0"],
      ["fence", "5"],
      ["fence", "4.0"],
    ] as const) {
      const before = (await redis.hget(key, field)) as string;
      await redis.hset(key, field, forged);
      const found = await stores.sessions.get("s");
      // What says the same in another way is the same.
      expect(found, `${field} ${forged}`).toEqual(forged === "4.0" ? facts : undefined);
      if (forged !== "4.0")
        for (const fence of [0, 4, 5])
          expect(await stores.sessions.claim("s", "two", fence, LONG_MS), `${field} ${forged}`).toBeUndefined();
      expect(await stores.sessions.touch(["s"], "one", LONG_MS)).toEqual([]);
      await redis.hset(key, field, before);
    }
    expect(await stores.sessions.claim("s", "two", 4, LONG_MS)).toEqual({ ...facts, owner: "two", fence: 5 });
    expect(await stores.sessions.touch(["s"], "one", LONG_MS)).toEqual(["s"]);
    expect(await stores.sessions.touch(["s"], "two", LONG_MS)).toEqual([]);
    expect(await stores.sessions.get("s")).toEqual({ ...facts, owner: "two", fence: 5 });
  });
});

describe.runIf(hasRedis)("what was deleted and is put back", () => {
  it("is read by no process that knows of it: neither the one that deleted it, nor one that found it gone", async () => {
    const { url } = await startRedis();
    const redis = raw(url);
    const own = prefix();
    const [one, two, three] = await Promise.all(["one", "two", "three"].map((node) => opened(url, own, node)));
    const all = [one, two, three] as readonly SharedStores[];
    await all[0]?.records.put("consent", "c", "yes", LONG_MS);
    const state = await stateOf(redis, own);
    expect(await all[1]?.records.get("consent", "c")).toBe("yes");
    await all[1]?.records.delete("consent", "c");
    expect(await all[0]?.records.get("consent", "c")).toBeUndefined();
    for (const [key, value] of state) await restore(redis, key, value);
    const found = async (): Promise<readonly unknown[]> =>
      Promise.all(
        all.flatMap(({ records }) => [records.get("consent", "c"), records.list("consent").then(({ size }) => size)]),
      );
    // One that never saw it believes it until its end: it has nothing to know better by.
    expect(await found()).toEqual([undefined, 0, undefined, 0, "yes", 1]);
    // The same bytes, written in another way.
    const key = [...state.keys()].find((each) => /:r:.*\}:[\w-]{22}$/.test(each)) as string;
    const text = (await redis.get(key)) as string;
    await redis.set(key, ` ${text.slice(0, 5)}\n${text.slice(5)}`);
    expect(await found()).toEqual([undefined, 0, undefined, 0, "yes", 1]);
    // What is written anew counts for all.
    await all[2]?.records.put("consent", "c", "again", LONG_MS);
    expect(await found()).toEqual(["again", 1, "again", 1, "again", 1]);
  });

  it("revives no session that has ended, at any process that was there then", async () => {
    const redis = await startRedis();
    const bytes = raw(redis.url);
    const own = prefix();
    const shareOf = (n: number) => redisCluster(redis.url, { key: KEY, prefix: own, node: `m${n}` });
    const cluster = await startCluster({ count: 2, shareOf });
    cluster.to(0);
    const asking = await session(cluster.url);
    cluster.to(1);
    const echo = async (): Promise<number> => (await asking.post(call("echo", { text: "x" }))).status;
    await expect.poll(echo).toBe(200);
    const state = [...(await stateOf(bytes, own))].filter(([key]) => key.includes(":s:"));
    expect(state).toHaveLength(1);
    cluster.to(0);
    expect((await fetch(cluster.url, { method: "DELETE", headers: asking.headers })).status).toBe(204);
    cluster.to(1);
    await expect.poll(echo).toBe(404);
    for (const [key, value] of state) await restore(bytes, key, value);
    expect(await bytes.keys("*:s:*")).toHaveLength(1);
    expect(await echo()).toBe(404);
    cluster.to(0);
    expect(await echo()).toBe(404);
    // Nor does it once the process has left that had it.
    await cluster.members[0]?.close();
    cluster.to(1);
    expect(await echo()).toBe(404);
  });

  it("revives no session that has ended at the process that took it over", async () => {
    const redis = await startRedis();
    const bytes = raw(redis.url);
    const own = prefix();
    const shareOf = (n: number) => redisCluster(redis.url, { key: KEY, prefix: own, node: `m${n}` });
    const cluster = await startCluster({ count: 2, shareOf });
    cluster.to(0);
    const asking = await session(cluster.url);
    await expect.poll(() => bytes.keys("*:s:*")).toHaveLength(1);
    const state = [...(await stateOf(bytes, own))].filter(([key]) => key.includes(":s:"));
    await cluster.members[0]?.close();
    cluster.to(1);
    const echo = async (): Promise<number> => (await asking.post(call("echo", { text: "x" }))).status;
    await expect.poll(echo, { timeout: 30_000 }).toBe(200);
    expect((await fetch(cluster.url, { method: "DELETE", headers: asking.headers })).status).toBe(204);
    await expect.poll(() => bytes.keys("*:s:*")).toEqual([]);
    // The record of the process that is gone, which anybody may take over.
    for (const [key, value] of state) await restore(bytes, key, value);
    expect(await echo()).toBe(404);
  });
});

// What is published: somebody stands between a process and Redis.

/** Makes of each text that is published those that arrive instead. Others that arrived before are at hand. */
type Change = (args: readonly string[], sent: readonly (readonly string[])[]) => readonly (readonly string[])[];

function between(url: string, changing: { change: Change }): IoRedisLike {
  const client = raw(url);
  const sent: (readonly string[])[] = [];
  return {
    async call(command, ...args) {
      if (command !== "XADD") return client.call(command, ...args);
      sent.push(args);
      for (const each of changing.change(args, sent)) await client.call("XADD", ...each);
      return "0-1";
    },
    duplicate: () => client.duplicate(),
    disconnect: () => undefined,
    on: () => undefined,
  };
}

interface Hearing {
  readonly stores: SharedStores;
  /** What was heard, with `missed` for what was said to have been lost. */
  readonly heard: string[];
  /** Publishes texts; resolves once the last of them, which nobody touches, was heard. */
  say(...texts: string[]): Promise<void>;
  readonly changing: { change: Change };
}

const AS_IT_IS: Change = (args) => [args];

async function hearing(kind: "bus" | "mail"): Promise<Hearing> {
  const { url } = await startRedis();
  const own = prefix();
  const changing = { change: AS_IT_IS };
  const stores = await opened(between(url, changing), own, "one");
  const listening = await opened(url, own, "two");
  const heard: string[] = [];
  let last = (): void => undefined;
  const listener = {
    hear: (from: string, text: string) => (text === "last" ? last() : heard.push(`${from}: ${text}`)),
    missed: () => heard.push("missed"),
  };
  onTestFinished(await listening[kind].listen(listener, "two"));
  const say = async (...texts: string[]): Promise<void> => {
    for (const text of texts) await stores[kind].publish("one", text, "two");
    changing.change = AS_IT_IS;
    const all = new Promise<void>((resolve) => (last = resolve));
    await stores[kind].publish("one", "last", "two");
    await all;
  };
  await say();
  return { stores, heard, say, changing };
}

/** The arguments of XADD end with `f`, the process, `d`, the sealed text. */
const withFrom = (args: readonly string[], from: string): readonly string[] => [
  ...args.slice(0, -3),
  from,
  ...args.slice(-2),
];
const withText = (args: readonly string[], text: string): readonly string[] => [...args.slice(0, -1), text];

describe.runIf(hasRedis).each(["bus", "mail"] as const)("a text on the %s", (kind) => {
  /** Letters are numbered by themselves: only news says that something was left out. */
  const left = kind === "bus" ? ["missed"] : [];

  it("is heard once, however often it is put there, and when", async () => {
    const { changing, heard, say } = await hearing(kind);
    changing.change = (args, sent) => [args, args, ...sent];
    await say("a", "b");
    changing.change = (_, sent) => sent;
    await say("c");
    expect(heard).toEqual(["one: a", "one: b", "one: c"]);
  });

  it("is heard of the process that said it, or not at all", async () => {
    const { changing, heard, say } = await hearing(kind);
    changing.change = (args) => [withFrom(args, "evil"), args];
    await say("a");
    expect(heard).toEqual(["missed", "one: a"]);
  });

  it("that is left out is noticed, and heard when it comes yet", async () => {
    const { changing, heard, say } = await hearing(kind);
    let late: readonly string[] = [];
    changing.change = (args) => ((late = args), []);
    await say("a");
    expect(heard).toEqual(left);
    changing.change = (args) => [late, args, late];
    await say("b");
    expect(heard).toEqual([...left, "one: a", "one: b"]);
  });

  it("is not heard once any of it was changed, or when it was meant for others", async () => {
    const { changing, heard, say, stores } = await hearing(kind);
    await stores[kind].publish("one", "elsewhere", "three");
    await stores.bus.publish("one", "news");
    changing.change = (args, sent) => {
      const text = args.at(-1) as string;
      const others = sent.slice(0, -1).filter(([key]) => key !== args[0]);
      const moved = others.map((each) => withText(args, each.at(-1) as string));
      return [...moved, withText(args, text.slice(0, -4)), withText(args, ""), withText(args, `A${text}`), args];
    };
    await say("a");
    expect(heard.filter((each) => each !== "missed")).toEqual(["one: a"]);
    expect(heard.length).toBe(6);
  });
});
