// A Redis that is slow, full, or hands its keys over while calls run: every call is answered once, and what fails says so.
import { type AddressInfo, connect as dial, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.js";
import { redisCluster } from "../../src/redis/redis-stores.js";
import { connect } from "../../src/serve/connect.js";
import { testServer } from "../http/http-fixture.js";
import { type Cluster, KEY, startCluster } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis, startRedisCluster, type StartedRedis } from "./redis-fixture.js";

const LONG = { timeout: 120_000 };
const REVISIONS = ["2025-11-25", "2026-07-28"];

interface Counted {
  readonly cluster: Cluster;
  /** What tools did, in order. */
  readonly effects: string[];
  client(revision: string): Promise<Client>;
}

async function counted(target: string | ((member: number) => string)): Promise<Counted> {
  const url = typeof target === "string" ? () => target : target;
  const effects: string[] = [];
  const input = { type: "object", properties: { id: { type: "string" } }, required: ["id"] } as const;
  const server = () => {
    const made = testServer({ report: () => undefined });
    made.tool("once", { input, run: ({ id }) => void effects.push(id) });
    made.tool("sure", {
      input,
      async run({ id }, ctx) {
        await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
        effects.push(id);
      },
    });
    return made;
  };
  const own = prefix();
  const rate = { perSecond: 10_000, burst: 10_000 };
  const shareOf = (n: number) => redisCluster(url(n), { key: KEY, prefix: own, node: `m${n}` });
  const cluster = await startCluster({ server, shareOf, rate });
  const client = async (revision: string): Promise<Client> => {
    const elicit = () => ({ action: "accept", content: { sure: true } }) as const;
    const made = await connect(cluster.url, { revision, elicit, verdicts: false });
    onTestFinished(() => made.close());
    return made;
  };
  return { cluster, effects, client };
}

/** Calls that were answered, by their ids; those that failed are left out. */
async function callAll(client: Client, tool: string, ids: readonly string[]): Promise<readonly string[]> {
  const answered: string[] = [];
  for (const id of ids) {
    const fine = await client.call(tool, { id }).then(
      ({ isError }) => isError !== true,
      () => false,
    );
    if (fine) answered.push(id);
  }
  return answered;
}

const ids = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`);

interface Way {
  readonly port: number;
  delayMs: number;
  /** Ends its connections, and takes none, until it is mended. */
  cut(): void;
  mend(): void;
}

/** A way to a port that can be made slow, or be cut. */
async function wayTo(port: number): Promise<Way> {
  const sockets = new Set<Socket>();
  let whole = true;
  const cut = (): void => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  const way = { port: 0, delayMs: 0, cut, mend: () => void (whole = true) };
  const server = createServer((near) => {
    if (!whole) return void near.destroy();
    const far = dial(port, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk: Buffer) => void setTimeout(() => to.write(chunk), way.delayMs));
      from.on("close", () => to.destroy());
      from.on("error", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  way.port = (server.address() as AddressInfo).port;
  return way;
}

/** Processes whose lease has not ended. */
function leasesOf(redis: StartedRedis): number {
  const key = redis.cli("--scan", "--pattern", "*:n}:until");
  return Number(redis.cli("zcount", key, String(Date.now()), "+inf"));
}

/** Moves every slot in use to the server that has the fewest keys, key by key, as resharding does. */
async function moveAll(nodes: readonly StartedRedis[]): Promise<number> {
  const sizes = new Map(nodes.map((node) => [node, Number(node.cli("dbsize"))]));
  const [target, ...sources] = nodes.toSorted((a, b) => (sizes.get(a) ?? 0) - (sizes.get(b) ?? 0)) as [
    StartedRedis,
    ...StartedRedis[],
  ];
  let moved = 0;
  for (const source of sources) {
    const [from, to] = [source.cli("cluster", "myid"), target.cli("cluster", "myid")];
    const keys = source.cli("--scan").split("\n").filter(Boolean);
    for (const slot of new Set(keys.map((key) => source.cli("cluster", "keyslot", key)))) {
      target.cli("cluster", "setslot", slot, "importing", from);
      source.cli("cluster", "setslot", slot, "migrating", to);
      // Requests come in between.
      await new Promise((resolve) => setImmediate(resolve));
      const there = source.cli("cluster", "getkeysinslot", slot, "1000").split("\n").filter(Boolean);
      if (there.length > 0) source.cli("migrate", "127.0.0.1", String(target.port), "", "0", "5000", "keys", ...there);
      await new Promise((resolve) => setImmediate(resolve));
      for (const node of [target, source]) node.cli("cluster", "setslot", slot, "node", to);
      moved++;
    }
  }
  return moved;
}

describe.runIf(hasRedis)("a Redis that hangs", () => {
  it.each(REVISIONS)(
    "is waited for by the first, and by nobody after that until it answers, in %s",
    LONG,
    async (revision) => {
      const redis = await startRedis();
      const { effects, client } = await counted(redis.url);
      const calling = await client(revision);
      await callAll(calling, "once", ["before"]);
      redis.pause();
      await callAll(calling, "once", ["first"]);
      const began = performance.now();
      const ids = Array.from({ length: 20 }, (_, at) => `while ${at}`);
      // Each of them would wait two seconds at least to be counted.
      expect(await callAll(calling, "once", ids)).toEqual(ids);
      expect(performance.now() - began).toBeLessThan(10_000);
      redis.resume();
      expect(await callAll(calling, "once", ["after"])).toEqual(["after"]);
      expect(effects).toEqual(["before", "first", ...ids, "after"]);
    },
  );
});

describe.runIf(hasRedis)("a Redis", () => {
  it(
    "that takes a second for each answer slows what it has to be asked, and doubles or loses nothing",
    LONG,
    async () => {
      const redis = await startRedis();
      const way = await wayTo(redis.port);
      const { client, effects } = await counted(`redis://127.0.0.1:${way.port}`);
      const clients = await Promise.all(REVISIONS.map(client));
      // Half of it on the way there, half on the way back.
      way.delayMs = 500;
      const all = await Promise.all(
        clients.flatMap((each, n) => [
          callAll(each, "once", ids(`once${n}`, 3)),
          callAll(each, "sure", ids(`sure${n}`, 2)),
        ]),
      );
      way.delayMs = 0;
      expect(all.flat()).toHaveLength(10);
      expect(effects.toSorted()).toEqual(all.flat().toSorted());
    },
  );

  it(
    "whose memory is full refuses what it would have to keep; calls go on, and all of it works once there is room",
    LONG,
    async () => {
      const redis = await startRedis();
      const { client, effects, cluster } = await counted(redis.url);
      const [session, stateless] = await Promise.all(REVISIONS.map(client));
      cluster.to(0, 1, 2);
      await callAll(session as Client, "once", ids("before", 3));
      redis.cli("config", "set", "maxmemory", "1");
      const full = [
        ...(await callAll(session as Client, "once", ids("session", 6))),
        ...(await callAll(stateless as Client, "once", ids("stateless", 6))),
      ];
      expect(full).toHaveLength(12);
      // The answer reaches the process that asked while that one is known. Where it is not, the tool could go on elsewhere by
      // a mark alone, which nobody keeps now: it does not. What went on did so once.
      const parked = await callAll(stateless as Client, "sure", ["parked"]);
      redis.cli("config", "set", "maxmemory", "0");
      const after = await callAll(stateless as Client, "sure", ids("after", 3));
      expect(after).toHaveLength(3);
      expect(effects.toSorted()).toEqual([...ids("before", 3), ...full, ...parked, ...after].toSorted());
    },
  );

  it(
    "that one process alone cannot reach, which the others can: its calls go on, and none runs twice, then or after",
    LONG,
    async () => {
      const redis = await startRedis();
      const ways = await Promise.all([0, 1, 2].map(() => wayTo(redis.port)));
      const { client, effects, cluster } = await counted((n) => `redis://127.0.0.1:${ways[n]?.port}`);
      const clients = await Promise.all(REVISIONS.map(client));
      // A session of each process, which each process has met.
      const sessions: Client[] = [];
      for (const owner of [0, 1, 2]) {
        cluster.to(owner);
        sessions.push(await client("2025-11-25"));
        cluster.to(0, 1, 2);
        await callAll(sessions[owner] as Client, "sure", ids(`before${owner}`, 3));
      }
      const all = [...clients, ...sessions];
      const callRound = async (name: string): Promise<readonly string[]> =>
        (
          await Promise.all(
            all.flatMap((each, n) => [
              callAll(each, "once", ids(`${name}-once${n}`, 4)),
              callAll(each, "sure", ids(`${name}-sure${n}`, 2)),
            ]),
          )
        ).flat();
      const answered = [...effects];
      ways[1]?.cut();
      // For longer than a lease: by then the directory names it no more.
      const gone = (): boolean => leasesOf(redis) === 2;
      answered.push(...(await callRound("cut")));
      await expect.poll(gone, LONG).toBe(true);
      answered.push(...(await callRound("lapsed")));
      ways[1]?.mend();
      await expect.poll(() => leasesOf(redis), LONG).toBe(3);
      const after = await callRound("after");
      expect(after).toHaveLength(30);
      expect(new Set(effects).size).toBe(effects.length);
      for (const id of [...answered, ...after]) expect(effects).toContain(id);
      // What has to be asked of Redis first, such as whose a session is, may be refused meanwhile; most is not.
      expect(answered.length).toBeGreaterThan(9 + 30);
    },
  );

  it("that hands its keys to another server meanwhile is asked there, and every call runs once", LONG, async () => {
    const { url, nodes } = await startRedisCluster();
    const { client, effects } = await counted(url);
    const clients = await Promise.all(REVISIONS.map(client));
    const moving = clients.flatMap((each, n) => [
      callAll(each, "once", ids(`once${n}`, 60)),
      callAll(each, "sure", ids(`sure${n}`, 30)),
    ]);
    expect(await moveAll(nodes)).toBeGreaterThan(0);
    const answered = (await Promise.all(moving)).flat();
    expect(new Set(effects).size).toBe(effects.length);
    for (const id of answered) expect(effects).toContain(id);
    const after = await Promise.all(clients.map((each, n) => callAll(each, "sure", ids(`after${n}`, 3))));
    expect(after.flat()).toHaveLength(6);
  });
});
