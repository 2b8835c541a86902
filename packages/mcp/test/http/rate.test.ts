// The rate gate: whoever sends too much is told when to come back, and nobody else notices.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { HttpExchange } from "../../src/http/server/exchange.js";
import { toFetch } from "../../src/entries/fetch.js";
import { RateGate } from "../../src/http/server/guard.js";
import { call, post, send, start, testServer } from "./http-fixture.js";

const LIMITS = { perSecond: 2, burst: 3, callers: 3, address: undefined };
const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

const from = (address: string | undefined, principal?: string): HttpExchange =>
  ({ address, principal }) as unknown as HttpExchange;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the gate", () => {
  it("lets a burst through, then the rate, and says how long to wait", () => {
    const gate = new RateGate({ ...LIMITS, perSecond: 1 });
    const take = (): number | Promise<number> => gate.take(from("192.0.2.1"));
    expect([take(), take(), take(), take(), take()]).toEqual([0, 0, 0, 1, 1]);
    vi.advanceTimersByTime(1_000);
    expect([take(), take()]).toEqual([0, 1]);
    vi.advanceTimersByTime(3_600_000);
    expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 1]);
  });

  it("counts by principal wherever it is, otherwise by address", () => {
    const gate = new RateGate({ ...LIMITS, burst: 1 });
    expect(gate.take(from("192.0.2.1", "ada"))).toBe(0);
    expect(gate.take(from("192.0.2.2", "ada"))).toBe(1);
    expect(gate.take(from("192.0.2.1", "bob"))).toBe(0);
    expect(gate.take(from("192.0.2.1"))).toBe(0);
    expect(gate.take(from("::ffff:192.0.2.1"))).toBe(1);
    expect(new RateGate({ ...LIMITS, burst: 1, address: () => "x" }).take(from("192.0.2.1"))).toBe(0);
  });

  it.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:3:4:5:6", true],
    ["2001:db8::1", "2001:db8:0:0:ffff::1", true],
    ["2001:db8::1", "2001:db8:0:1::1", false],
    ["::1", "::2", true],
    ["fe80::1%eth0", "fe80::2%eth0", true],
    ["192.0.2.1", "192.0.2.2", false],
  ])("takes %s and %s for one network: %s", (one, other, same) => {
    const gate = new RateGate({ ...LIMITS, burst: 1 });
    expect(gate.take(from(one))).toBe(0);
    expect(Number(gate.take(from(other))) > 0).toBe(same);
  });

  it("forgets who was silent for longest when the table is full", () => {
    const gate = new RateGate({ ...LIMITS, burst: 1 });
    const takes = ["a", "b", "c", "a", "d", "a", "b"].map((address) => gate.take(from(address)));
    expect(takes).toEqual([0, 0, 0, 1, 0, 1, 0]);
  });

  it("wants limits that are positive integers", () => {
    expect(() => toFetch(testServer(), { rate: { burst: 0 } })).toThrow(
      'limit "burst" must be a positive integer, not 0',
    );
  });
});

it("turns away at the front door with 429 and Retry-After, and leaves open pages alone", async () => {
  const pages = { "/healthz": { open: true, respond: () => ({ status: 200 }) } };
  const { url } = await start(testServer(), { rate: { perSecond: 1, burst: 2 }, pages });
  const replies = [];
  for (let i = 0; i < 3; i++) replies.push(await post(url, PING));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(replies[2]?.headers["retry-after"]).toBe("1");
  expect((await send(new URL("/healthz", url).href, { method: "GET" })).status).toBe(200);
});

it("counts refused requests by address, so that tokens cannot be guessed at any speed", async () => {
  const { url } = await start(testServer(), {
    rate: { perSecond: 1, burst: 1 },
    authenticate: (request) => request.header("authorization") ?? { status: 401 },
  });
  expect((await post(url, PING)).status).toBe(401);
  expect((await post(url, PING)).status).toBe(429);
  expect((await post(url, PING, { authorization: "ada" })).status).toBe(200);
  expect((await post(url, call("who"), { authorization: "ada" })).status).toBe(429);
});
