// How long a request is tried to be handed on, and how long a process that ends waits for what it has handed on.
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { LEASE_MS, memoryStores } from "../../src/cluster/stores.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import type { ClusterMember, LocalEnd } from "../../src/http/server/exchange.js";
import { fakeRequest, KEY } from "./cluster-fixture.js";

/** Milliseconds between two looks at the clock. */
const STEP_MS = 50;
/** Milliseconds after which a process that is there and cannot be reached is given up. */
const PATIENCE_MS = LEASE_MS + 1_000;
/** What one try takes at most, where a process reads no letters. */
const TRY_MS = 500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  // Nothing has happened yet at the time 0.
  vi.advanceTimersByTime(1);
  return () => void vi.useRealTimers();
});

interface Trying {
  readonly member: ClusterMember;
  /** What the request was answered with. */
  readonly replies: readonly unknown[];
  /** Lets time pass until something holds. Resolves with the milliseconds that took. */
  until(holds: () => boolean): Promise<number>;
}

/** No socket has a port of this number. */
const NOBODY = 70_000;

/** A process that tries to hand a request to another one, which says that it is there and can be reached by nobody. */
async function trying(port: number = NOBODY): Promise<Trying> {
  const stores = memoryStores();
  const isThere = (): Promise<unknown> => stores.beat("other", `tcp://127.0.0.1:${port}`);
  await isThere();
  const local = { holds: () => false, hear: () => undefined, report: () => undefined } as Partial<LocalEnd>;
  const member = (await shareOver(stores, { key: KEY, node: "front" }).join()) as ClusterMember;
  await member.open(local as LocalEnd);
  onTestFinished(() => member.leave());
  const exchange = fakeRequest();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });
  member.bring(exchange, { kind: "session", id: "other.session", body }, () => exchange.reply(404, []));
  const until = async (holds: () => boolean): Promise<number> => {
    const began = performance.now();
    while (!holds()) {
      if (performance.now() - began > 10 * PATIENCE_MS) throw new Error("That took too long");
      await isThere();
      await vi.advanceTimersByTimeAsync(STEP_MS);
    }
    return performance.now() - began;
  };
  return { member, replies: exchange.replies, until };
}

/** The port of somebody who takes a connection and says nothing. */
async function silentPort(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on("error", () => undefined)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

it.each([
  ["nobody listens", () => NOBODY],
  ["nobody answers, to whom each connection takes seconds", silentPort],
])("gives up a process that is there and cannot be reached after its lease and a second, where %s", async (_, port) => {
  const { replies, until } = await trying(await port());
  const took = await until(() => replies.length > 0);
  expect(replies).toEqual([[503, expect.stringContaining("cannot be reached now: try again")]]);
  expect(took).toBeGreaterThanOrEqual(PATIENCE_MS);
  expect(took).toBeLessThan(PATIENCE_MS + TRY_MS);
});

it.each([
  ["as long as it is told to", 1_000, 1_000],
  ["no longer than until it is answered", 20_000, PATIENCE_MS],
])("waits for what it has handed on %s", async (_, most, least) => {
  const { member, until } = await trying();
  let over = false;
  void member.handedOn(most).then(() => (over = true));
  const took = await until(() => over);
  expect(took).toBeGreaterThanOrEqual(least);
  expect(took).toBeLessThan(least + TRY_MS);
});

it("takes over no session once it is about to end, which would end with it: whoever asks again reaches another", async () => {
  const stores = memoryStores();
  const session = { owner: "gone", fence: 1, text: JSON.stringify({ facts: { params: {} } }) };
  await stores.sessions.put("gone.session", session, 10 * PATIENCE_MS);
  let adopted = 0;
  const local: Partial<LocalEnd> = {
    ...{ holds: () => false, hear: () => undefined, report: () => undefined },
    adopt: () => void (adopted += 1),
  };
  const member = (await shareOver(stores, { key: KEY, node: "front" }).join()) as ClusterMember;
  await member.open(local as LocalEnd);
  onTestFinished(() => member.leave());
  await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
  await member.drain();
  const exchange = fakeRequest();
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });
  member.bring(exchange, { kind: "session", id: "gone.session", body }, () => exchange.reply(404, []));
  for (let passed = 0; exchange.replies.length === 0 && passed < 2 * PATIENCE_MS; passed += STEP_MS)
    await vi.advanceTimersByTimeAsync(STEP_MS);
  expect(exchange.replies).toEqual([[503, expect.stringContaining("shutting down and has not served this")]]);
  expect(adopted).toBe(0);
  expect(await stores.sessions.get("gone.session")).toEqual(session);
});

it("asks for a session no faster than so where each that had it says that another one has: all may be ending", async () => {
  const stores = memoryStores();
  let asked = 0;
  stores.sessions.get = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return { owner: asked++ % 2 === 0 ? "one" : "two", fence: 1, text: "{}" };
  };
  const local: Partial<LocalEnd> = { holds: () => false, hear: () => undefined, report: () => undefined };
  const member = (await shareOver(stores, { key: KEY, node: "front" }).join()) as ClusterMember;
  await member.open(local as LocalEnd);
  onTestFinished(() => member.leave());
  for (const node of ["one", "two"]) await stores.bus.publish(node, JSON.stringify({ kind: "left" }));
  const exchange = fakeRequest();
  member.bring(exchange, { kind: "session", id: "two.session", body: "{}" }, () => exchange.reply(404, []));
  for (let passed = 0; exchange.replies.length === 0 && passed < 2 * PATIENCE_MS; passed += 5)
    await vi.advanceTimersByTimeAsync(5);
  expect(exchange.replies).toEqual([[503, expect.stringContaining("cannot be reached now: try again")]]);
  expect(asked).toBeLessThan(PATIENCE_MS / 50);
});

const CALL = { jsonrpc: "2.0", id: 1, method: "tools/call", params: {} };
const ANSWER = { jsonrpc: "2.0", id: 1, result: { action: "accept" } };
/** As long as an answer waits, and a little. */
const HELD_MS = 56_000;
const MOST_HELD = 1_000;

const REFUSED = [503, expect.stringContaining("try again")];

/** A process that takes sessions over, whose store is away until `back` is called. */
async function away() {
  const stores = memoryStores();
  const session = { owner: "gone", fence: 1, text: JSON.stringify({ facts: { params: {} } }) };
  await stores.sessions.put("gone.session", session, 10 * HELD_MS);
  let isAway = true;
  const get = stores.sessions.get.bind(stores.sessions);
  stores.sessions.get = async (id) => {
    if (isAway) throw new LocalError("UNREACHABLE", "The store cannot be reached");
    return get(id);
  };
  const local: Partial<LocalEnd> = {
    holds: () => false,
    hear: () => undefined,
    report: () => undefined,
    adopt: () => 1,
  };
  const member = (await shareOver(stores, { key: KEY, node: "front" }).join()) as ClusterMember;
  await member.open(local as LocalEnd);
  onTestFinished(() => member.leave());
  await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
  const bring = (message: object, here = (): void => undefined): ReturnType<typeof fakeRequest> => {
    const exchange = fakeRequest();
    member.bring(exchange, { kind: "session", id: "gone.session", body: JSON.stringify(message) }, here);
    return exchange;
  };
  return { bring, member, back: () => (isAway = false) };
}

it("holds an answer to a question while the store is away, and nothing else", async () => {
  const { bring, back } = await away();
  let here = 0;
  const answer = bring(ANSWER, () => (here += 1));
  const called = bring(CALL);
  await vi.advanceTimersByTimeAsync(30_000);
  expect([answer.replies, called.replies]).toEqual([[], [[503, expect.stringContaining("try again")]]]);
  back();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([here, answer.replies]).toEqual([1, []]);
});

it("holds no answer for ever", async () => {
  const { replies } = (await away()).bring(ANSWER);
  await vi.advanceTimersByTimeAsync(HELD_MS);
  expect(replies).toEqual([REFUSED]);
});

it("holds no more answers than so many, and none once it ends", async () => {
  const { bring, member } = await away();
  const all = Array.from({ length: MOST_HELD + 1 }, () => bring(ANSWER));
  await vi.advanceTimersByTimeAsync(500);
  expect(all.filter(({ replies }) => replies.length > 0)).toHaveLength(1);
  await member.drain();
  await vi.advanceTimersByTimeAsync(1_500);
  for (const { replies } of all) expect(replies).toEqual([REFUSED]);
});
