// Streams that are taken up elsewhere, processes that cannot reach each other, a Redis that fails over, and one that is a Cluster.
import { describe, expect, it, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { redisCluster } from "../../src/redis/redis-stores.js";
import { connect } from "../../src/serve/connect.js";
import { gate, testServer } from "../http/http-fixture.js";
import { type Cluster, KEY, startCluster } from "./cluster-fixture.js";
import { Cable } from "./process-fixture.js";
import { hasRedis, prefix, startRedisCluster, startSentinel } from "./redis-fixture.js";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

interface Opened {
  readonly id: string;
  post(body: object): Promise<Response>;
  get(last: string): Promise<Response>;
}

/** A session as a script has one, so that it can be seen what travels. */
async function open({ url }: Cluster): Promise<Opened> {
  const clientInfo = { name: "script", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const begin = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const id = (await fetch(url, { method: "POST", headers: HEADERS, body: begin })).headers.get(
    "mcp-session-id",
  ) as string;
  const headers = { ...HEADERS, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
  return {
    id,
    post: (body) => fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...body }) }),
    get: (last) => fetch(url, { headers: { ...headers, "last-event-id": last } }),
  };
}

/** The events of a stream with their ids, until it ends. */
async function eventsOf(response: Response): Promise<{ readonly id: string; readonly data: string }[]> {
  const blocks = (await response.text()).split("\n\n").filter((block) => block.includes("id: "));
  return blocks.map((block) => ({
    id: /^id: (.*)$/m.exec(block)?.[1] ?? "",
    data: /^data: (.*)$/m.exec(block)?.[1] ?? "",
  }));
}

describe("a stream", () => {
  it("is taken up at any process after any event, with no gap and no double", async () => {
    const server = () => {
      const made = testServer({ report: () => undefined });
      made.tool("count", {
        async run(_, ctx) {
          for (let n = 1; n <= 20; n++) await ctx.progress(n, 20);
          return "counted";
        },
      });
      return made;
    };
    const cluster = await startCluster({ server });
    const session = await open(cluster);
    const call = { id: 1, method: "tools/call", params: { name: "count", _meta: { progressToken: "p" } } };
    const all = await eventsOf(await session.post(call));
    expect(all).toHaveLength(22);
    for (let seen = 0; seen < all.length - 1; seen++) {
      const rest = await eventsOf(await session.get((all[seen] as { id: string }).id));
      expect(rest).toEqual(all.slice(seen + 1));
    }
    expect(new Set(cluster.routed).size).toBe(3);
  });

  it("of somebody else's session, or that never was, is refused everywhere", async () => {
    const cluster = await startCluster();
    const session = await open(cluster);
    for (let n = 0; n < 3; n++) expect((await session.get("99-1")).status).toBe(400);
    const foreign = { ...HEADERS, "mcp-session-id": `${session.id}x`, "last-event-id": "1-1" };
    for (let n = 0; n < 3; n++) expect((await fetch(cluster.url, { headers: foreign })).status).toBe(404);
  });
});

describe("a process that has just begun", () => {
  /** The beats it took to answer a request of a session whose process is not in the directory. */
  async function beatsWith(steadyMs: number): Promise<number> {
    const stores = memoryStores();
    const id = "gone.1";
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    await stores.sessions.put(id, { owner: "gone", fence: 0, text: JSON.stringify({ facts: { params } }) }, 60_000);
    let beats = 0;
    const beat = stores.beat.bind(stores);
    stores.beat = async (node, address) => {
      beats++;
      return { ...(await beat(node, address)), steadyMs };
    };
    const cluster = await startCluster({ count: 1, shareOf: () => shareOver(stores, { key: KEY, node: "m0" }) });
    const headers = { ...HEADERS, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect((await fetch(cluster.url, { method: "POST", headers, body })).status).toBe(200);
    return beats;
  }

  it("goes on at once with the session of one that has ended, where nobody was kept from saying that it is there", async () => {
    expect(await beatsWith(60_000)).toBeLessThan(4);
  });

  it("waits for whoever may have been kept from it", async () => {
    expect(await beatsWith(0)).toBeGreaterThan(4);
  });
});

describe("processes that reach what they share and not each other", () => {
  it("serve each other's sessions, take nothing over, and have the rest done by letters, at once where they can again", async () => {
    const stores = memoryStores();
    const cables = new Map<string, { readonly cable: Cable; readonly address: string }>();
    const behindCable: SharedStores = {
      name: stores.name,
      open: (node, fleet) => stores.open(node, fleet),
      leave: (node) => stores.leave(node),
      close: () => stores.close(),
      ...{ sessions: stores.sessions, tasks: stores.tasks, limits: stores.limits },
      ...{ marks: stores.marks, locks: stores.locks, records: stores.records, bus: stores.bus },
      ...{ streams: stores.streams, mail: stores.mail },
      async beat(node, address) {
        if (!cables.has(node)) {
          const cable = await Cable.open(Number(new URL(address).port));
          cables.set(node, { cable, address: `tcp://127.0.0.1:${cable.port}` });
        }
        return stores.beat(node, cables.get(node)?.address ?? address);
      },
    };
    let runs = 0;
    const server = () => {
      const made = testServer({ report: () => undefined });
      made.tool("once", { run: () => String(++runs) });
      return made;
    };
    const cluster = await startCluster({
      count: 2,
      server,
      shareOf: (n) => shareOver(behindCable, { key: KEY, node: `m${n}` }),
    });
    cluster.to(0);
    const session = await open(cluster);
    const call = { method: "tools/call", params: { name: "once" } };
    cluster.to(1);
    const level = { method: "logging/setLevel", params: { level: "error" } };
    expect((await session.post({ id: 1, ...level })).status).toBe(200);
    for (const { cable } of cables.values()) cable.cut();
    expect((await session.post({ id: 2, ...call })).status).toBe(200);
    expect((await session.post({ id: 3, ...level })).status).toBe(200);
    cluster.to(0);
    expect((await session.post({ id: 4, ...call })).status).toBe(200);
    for (const { cable } of cables.values()) cable.mend();
    cluster.to(1);
    expect((await session.post({ id: 5, ...level })).status).toBe(200);
    expect(runs).toBe(2);
  });
});

describe.runIf(hasRedis)("sharing over a Redis of several servers", () => {
  const input = { type: "object", properties: { text: { type: "string" } } } as const;

  async function works(url: string): Promise<{ readonly cluster: Cluster; check(): Promise<void> }> {
    const own = prefix();
    const server = () => {
      const made = testServer({ report: () => undefined });
      made.tool("say", { input, run: ({ text }) => text ?? "" });
      return made;
    };
    const shareOf = (n: number) => redisCluster(url, { key: KEY, prefix: own, node: `m${n}` });
    const cluster = await startCluster({ server, shareOf });
    const check = async (): Promise<void> => {
      const elicit = () => ({ action: "accept", content: { sure: true } }) as const;
      for (const revision of ["2025-11-25", "2026-07-28"]) {
        const client = await connect(cluster.url, { revision, elicit, verdicts: false });
        try {
          for (let n = 0; n < 3; n++) {
            expect((await client.call("ask")).content).toEqual([{ type: "text", text: "accept" }]);
          }
        } finally {
          await client.close();
        }
      }
    };
    return { cluster, check };
  }

  it("works on a Redis Cluster of three", async () => {
    const { url } = await startRedisCluster();
    const { check } = await works(url);
    await check();
  });

  it("works again after Sentinel has failed over", async () => {
    const { url, master, replica } = await startSentinel();
    const { cluster, check } = await works(url);
    // Each of them has met each other.
    for (const owner of [0, 1, 2]) {
      cluster.to(owner);
      const session = await open(cluster);
      cluster.to(0, 1, 2);
      for (let n = 0; n < 3; n++) expect((await session.post({ id: n, method: "ping" })).status).toBe(200);
    }
    await check();
    await master.kill();
    // Whoever is connected goes on without it.
    await check();
    await expect.poll(() => replica.cli("role").split("\n")[0], { timeout: 40_000 }).toBe("master");
    const heard = gate();
    const client = await connect(cluster.url, {
      revision: "2025-11-25",
      verdicts: false,
      onListChanged: () => heard.open(),
    });
    onTestFinished(() => client.close());
    await client.call("say", { text: "here" });
    let n = 0;
    // News is told again once each process has found the new master.
    const tell = setInterval(() => cluster.servers[n++ % 3]?.listChanged("tools"), 100);
    onTestFinished(() => clearInterval(tell));
    await heard.opened;
  });
});
