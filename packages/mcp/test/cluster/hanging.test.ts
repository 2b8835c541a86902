// Processes that hang: what waits for one goes on elsewhere, and one that is merely busy or cut off from the store keeps what it has.
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { shareOver } from "../../src/cluster/member.js";
import { LEASE_MS, memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import type { HttpExchange } from "../../src/http/server/exchange.js";
import { call, gate, JSON_TYPES, OpenStream, post, send, session } from "../http/http-fixture.js";
import { fakeRequest, KEY, relay, startCluster } from "./cluster-fixture.js";
import { withOwn } from "./faulty-stores.js";
import { Cable, startProcesses } from "./process-fixture.js";
import { hasRedis } from "./redis-fixture.js";

const LONG = { timeout: 60_000 };
const BODY = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hang" } });

afterEach(() => void vi.useRealTimers());

/** A request on its way over a connection that is open, and what tells the process it came from that the owner has no lease. */
async function begun() {
  vi.useFakeTimers({ toFake: ["performance"] });
  const served = gate<HttpExchange>();
  const [, address] = await relay("owner", (exchange) => served.open(exchange));
  const cable = await Cable.open(Number(new URL(address).port));
  const [front] = await relay("front", () => undefined, `tcp://127.0.0.1:${cable.port}`);
  const outcome = front.forward("owner", { exchange: fakeRequest(), body: BODY, session: undefined });
  const exchange = await served.opened;
  const state = { outcome: "waits" };
  void outcome.then((became) => (state.outcome = became));
  /** A sign of life of the process the request came from, and what comes back of it before the next one. */
  const beat = async (hasLease: boolean): Promise<void> => {
    const before = cable.returned;
    vi.advanceTimersByTime(1_000);
    front.tidy(() => hasLease);
    if (!hasLease && !cable.holds) await expect.poll(() => cable.returned).toBeGreaterThan(before);
  };
  return { front, cable, exchange, state, beat };
}

it("is given up once it has lost its lease and answers two pings with nothing, not before", async () => {
  const { cable, state, beat } = await begun();
  cable.holds = true;
  for (let n = 0; n < 5; n++) await beat(true);
  for (let n = 0; n < 2; n++) await beat(false);
  expect(state.outcome).toBe("waits");
  await beat(false);
  await expect.poll(() => state.outcome).toBe("broken");
});

it("keeps what it has as long as it answers, though it has lost its lease", async () => {
  const { exchange, state, beat } = await begun();
  for (let n = 0; n < 5; n++) await beat(false);
  expect(state.outcome).toBe("waits");
  exchange.reply(200, [], "done");
  await expect.poll(() => state.outcome).toBe("taken");
});

it("keeps what it has where it was busy for a while, and where many looks come at once", async () => {
  const { front, cable, exchange, state, beat } = await begun();
  cable.holds = true;
  for (let n = 0; n < 2; n++) await beat(false);
  for (let n = 0; n < 10; n++) front.tidy(() => false);
  const before = cable.returned;
  cable.holds = false;
  await expect.poll(() => cable.returned).toBeGreaterThan(before);
  for (let n = 0; n < 3; n++) await beat(false);
  expect(state.outcome).toBe("waits");
  exchange.reply(200, [], "done");
  await expect.poll(() => state.outcome).toBe("taken");
});

/** Two processes, of which the second one has asked something, and does not reach what they share as long as it is `away`. */
async function asking() {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  // Nothing has happened yet at the time 0.
  vi.advanceTimersByTime(1);
  const stores = memoryStores();
  const state = { away: false };
  const beat: SharedStores["beat"] = (...self) =>
    state.away ? Promise.reject(new LocalError("UNREACHABLE", "away")) : stores.beat(...self);
  const shareOf = (member: number): ReturnType<typeof shareOver> =>
    shareOver(member === 1 ? withOwn(stores, { beat }) : stores, { key: KEY, node: `m${member}` });
  const { members } = await startCluster({ count: 2, shareOf });
  const [first, second] = members.map(({ url }) => url) as [string, string];
  const { headers } = await session(first, "2025-11-25", { capabilities: { elicitation: {} } });
  const body = JSON.stringify(call("ask"));
  const stream = new OpenStream(second, { method: "POST", headers: { ...JSON_TYPES, ...headers }, body });
  onTestFinished(() => stream.close());
  await stream.until(({ messages }) => messages.length > 0);
  const answer = { jsonrpc: "2.0", id: stream.messages[0]?.["id"], result: { action: "decline" } };
  /** Lets so many leases pass. */
  const pass = async (leases: number): Promise<void> => {
    for (let passed = 0; passed <= leases * LEASE_MS; passed += 1_000) await vi.advanceTimersByTimeAsync(1_000);
  };
  return {
    stores,
    state,
    first,
    headers,
    stream,
    answer: (message: object = answer) => post(first, message, headers),
    pass,
  };
}

it("gets the answer to what it has asked once it goes on: that waits, though the directory does not name it any more", async () => {
  const { state, stream, answer, pass } = await asking();
  state.away = true;
  await pass(2);
  const reply = answer();
  await expect.poll(async () => Promise.race([reply, pass(0).then(() => "waits")])).toBe("waits");
  state.away = false;
  await pass(1);
  expect((await reply).status).toBe(202);
  await stream.ended;
  expect(stream.text).toContain("decline");
});

/** An address at which something takes connections until it ends. */
async function listening(): Promise<{ readonly address: string; end(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on("error", () => undefined)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const end = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(end);
  return { address: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, end };
}

it.each(["before", "while"])("keeps nobody's answer waiting where it has ended %s that came", async (when) => {
  const { stores, answer, pass } = await asking();
  const { address, end } = await listening();
  await stores.beat("gone", address);
  await pass(0);
  if (when === "before") end();
  await pass(2);
  const reply = answer({ jsonrpc: "2.0", id: "gone.1", result: { action: "decline" } });
  if (when === "while") expect(await Promise.race([reply, pass(0).then(() => "waits")])).toBe("waits");
  end();
  const { status, text } = await reply;
  expect([status, text]).toEqual([503, expect.stringContaining("The process that asked this has ended")]);
});

describe.skipIf(!hasRedis)("a process that hangs, reached over a connection that is open", () => {
  it(
    "has its session go on elsewhere in seconds: lists are given, and of a call it is said that nobody knows",
    LONG,
    async () => {
      const processes = await startProcesses(2);
      processes.to(0);
      const { headers } = await session(processes.url, "2025-11-25");
      const own = { ...headers, accept: "application/json" };
      processes.to(1);
      const where = async (id: number): Promise<string> => (await post(processes.url, call("node", {}, id), own)).text;
      expect(await where(1)).toContain("m0");
      processes.children[0]?.kill("SIGSTOP");
      const began = performance.now();
      const [list, lost] = await Promise.all([
        post(processes.url, { jsonrpc: "2.0", id: 2, method: "tools/list" }, own),
        post(processes.url, call("once", { id: "x" }, 3), own),
      ]);
      expect([list.status, lost.status, lost.text]).toEqual([200, 502, expect.stringContaining('"outcome":"unknown"')]);
      expect(performance.now() - began).toBeLessThan(15_000);
      expect(await where(4)).toContain("m1");
    },
  );

  it("gets an answer that was on its way to it once it goes on, and the call ends as ever", LONG, async () => {
    const processes = await startProcesses(2);
    processes.to(0);
    const { headers } = await session(processes.url, "2025-11-25", { capabilities: { elicitation: {} } });
    processes.to(1);
    const body = JSON.stringify(call("ask", { id: "x" }));
    const stream = new OpenStream(processes.url, { method: "POST", headers: { ...JSON_TYPES, ...headers }, body });
    onTestFinished(() => stream.close());
    await stream.until(({ messages }) => messages.length > 0);
    processes.to(0);
    const answer = (id: unknown): ReturnType<typeof post> =>
      post(processes.url, { jsonrpc: "2.0", id, result: { action: "decline" } }, headers);
    expect((await answer("m1.99")).status).toBe(202);
    processes.children[1]?.kill("SIGSTOP");
    onTestFinished(() => void processes.children[1]?.kill("SIGCONT"));
    const reply = answer(stream.messages[0]?.["id"]);
    // Answered by the other one as soon as this one is given up.
    const last = { accept: "text/event-stream", "last-event-id": "m1.9-1-abcdefabcdef" };
    expect((await send(processes.url, { method: "GET", headers: { ...headers, ...last } })).status).toBe(404);
    processes.children[1]?.kill("SIGCONT");
    expect((await reply).status).toBe(202);
    await stream.ended;
    expect(stream.text).toContain("decline");
  });
});
