// Processes that end, perhaps all at once: nobody is told what is not so of a session or a call that another one goes on with.
import { once } from "node:events";
import { connect as dial } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores, type SharedStores } from "../../src/cluster/stores.js";
import type { HttpExchange } from "../../src/http/server/exchange.js";
import { Server } from "../../src/server/server.js";
import { call, gate, JSON_TYPES, post, session } from "../http/http-fixture.js";
import { fakeRequest, KEY, relay, startCluster } from "./cluster-fixture.js";

const BODY = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hang" } });
/** A client that takes no streams: its calls are served by the process of its session alone. */
const NO_STREAMS = { accept: "application/json" };

it("answers what it was sent before it leaves, and is sent nothing after that", async () => {
  const began = gate<HttpExchange>();
  let served = 0;
  const [owner, address] = await relay("owner", (exchange) => ((served += 1), began.open(exchange)));
  const [front] = await relay("front", () => undefined, address);
  const request = fakeRequest();
  const outcome = front.forward("owner", { exchange: request, body: BODY, session: undefined });
  const exchange = await began.opened;
  const left = owner.part().then(() => owner.close());
  exchange.reply(200, [], "done");
  await left;
  expect([await outcome, request.replies]).toEqual(["taken", [[200, "done"]]]);
  const late = { exchange: fakeRequest(), body: BODY, session: undefined };
  expect([await front.forward("owner", late), served]).toEqual(["unreachable", 1]);
});

it("says that it is this process which has ended where another one may still run the call", async () => {
  const { opened, open } = gate();
  let hanging = 0;
  const server = (): Server => {
    const made = new Server({ name: "ending", version: "1.0.0", report: false });
    made.tool("hang", { run: () => ((hanging += 1), opened.then(() => "ended")) });
    return made;
  };
  const { members } = await startCluster({ count: 2, server, limits: { drainMs: 300 } });
  onTestFinished(() => open());
  const [front = "", owner = ""] = members.map(({ url }) => url);
  const { headers } = await session(owner, "2025-11-25");
  const answer = post(front, call("hang", {}, 1), { ...headers, ...NO_STREAMS });
  await expect.poll(() => hanging).toBe(1);
  await members[0]?.close();
  const { status, text } = await answer;
  expect([status, JSON.parse(text)]).toMatchObject([
    502,
    { id: 1, error: { code: -32_603, data: { outcome: "unknown" } } },
  ]);
  expect(text).toMatch(/process this came through has ended while another one was serving it, which may still do so/);
});

it("says nothing of a session whose process is alive when an answer comes for a call of one that has ended", async () => {
  const { members } = await startCluster({ count: 2 });
  const [owner = "", other = ""] = members.map(({ url }) => url);
  const { headers } = await session(owner, "2025-11-25");
  for (const url of [owner, other]) {
    // Whoever is not found may be cut off, and still wait for the answer; the process that asked knows that nobody does.
    expect((await post(url, { jsonrpc: "2.0", id: "gone.1", result: {} }, headers)).status).toBe(503);
    expect((await post(url, { jsonrpc: "2.0", id: "m0.9", result: {} }, headers)).status).toBe(202);
  }
  expect((await post(other, call("who"), headers)).status).toBe(200);
});

/** The same stores, in which whoever takes a session over hears of it late. */
function lateClaims(stores: SharedStores, heard: Promise<void>, claimed: () => void): SharedStores {
  const claim: SharedStores["sessions"]["claim"] = async (...args) => {
    const session = await stores.sessions.claim(...args);
    claimed();
    await heard;
    return session;
  };
  const over = <T extends object>(real: T, other: Partial<T>): T =>
    new Proxy(real, {
      get(target, name) {
        const value: unknown = Reflect.get(other, name) ?? Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  return over(stores, { sessions: over(stores.sessions, { claim }) });
}

it("does not say that a session is not there which it is just taking over", async () => {
  const [heard, claimed] = [gate(), gate()];
  const stores = memoryStores();
  const late = lateClaims(stores, heard.opened, () => claimed.open());
  const { members } = await startCluster({
    count: 3,
    shareOf: (member) => shareOver(member === 1 ? late : stores, { key: KEY, node: `m${member}` }),
  });
  const [first = "", second = "", third = ""] = members.map(({ url }) => url);
  const { headers } = await session(first, "2025-11-25");
  await members[0]?.close();
  const taking = post(second, call("who", {}, 1), { ...headers, ...NO_STREAMS });
  await claimed.opened;
  const asked = [third, second].map((url) => post(url, call("who", {}, 2), { ...headers, ...NO_STREAMS }));
  const sooner = await Promise.race([...asked, new Promise((resolve) => setTimeout(resolve, 100, "waits"))]);
  heard.open();
  expect(sooner).toBe("waits");
  for (const reply of [taking, ...asked]) expect((await reply).status).toBe(200);
});

it("keeps its sessions for the next process where all end at once, and does not say that they are lost", async () => {
  const stores = memoryStores();
  const shareOf = (member: number) => shareOver(stores, { key: KEY, node: `m${member}` });
  const { members } = await startCluster({ count: 2, shareOf });
  const { headers } = await session(members[0]?.url ?? "", "2025-11-25");
  const { hostname, port } = new URL(members[0]?.url ?? "");
  const socket = dial(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await expect.poll(() => members[0]?.stats().connections).toBeGreaterThan(0);
  const closed = Promise.all(members.map((each) => each.close()));
  const refused = (): Promise<boolean> =>
    fetch(`http://${hostname}:${port}/`, { headers: { connection: "close" } }).then(
      () => false,
      () => true,
    );
  await expect.poll(refused).toBe(true);
  const body = JSON.stringify(call("who"));
  const all = { ...JSON_TYPES, ...headers, host: `${hostname}:${port}`, "content-length": body.length };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  const [reply] = (await once(socket, "data")) as [Buffer];
  expect(String(reply)).toMatch(/^HTTP\/1.1 503 [^]*shutting down/);
  await closed;
  const { members: next } = await startCluster({ count: 1, shareOf: () => shareOf(2) });
  expect((await post(next[0]?.url ?? "", call("who"), headers)).status).toBe(200);
});
