// Pings over HTTP: clients that answer stay, half-open ones are noticed, reported and given up.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KeepAlive, type KeepAliveTarget } from "../../src/http/server/http-session.js";
import { OpenStream, post, send, session, start, testServer } from "./http-fixture.js";

const LIMITS = { everyMs: 1_000, timeoutMs: 500, misses: 2 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function target(
  answers: readonly boolean[],
  reachable = () => true,
): KeepAliveTarget & { asked: number; ended: number } {
  const made = {
    asked: 0,
    ended: 0,
    reachable,
    ping: async () => answers[made.asked++] ?? false,
    end: () => void made.ended++,
  };
  return made;
}

describe("the pinger", () => {
  it("ends a session after as many misses in a row as are allowed, and says so", async () => {
    const told: string[] = [];
    const pinger = new KeepAlive(LIMITS, (message) => told.push(message));
    const [gone, slow] = [target([]), target([false, true, false, true])];
    pinger.add(gone, gone);
    pinger.add(slow, slow);
    await vi.advanceTimersByTimeAsync(2_000);
    pinger.remove(gone);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([gone.asked, gone.ended, slow.asked, slow.ended]).toEqual([2, 1, 4, 0]);
    expect(told[0]).toBe("A client did not answer a ping within 500 ms (1 of 2)");
    expect(told.filter((message) => message.includes("its session ends"))).toHaveLength(1);
    pinger.remove(slow);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("asks nobody whom no stream reaches, and counts no miss when the stream broke meanwhile", async () => {
    const pinger = new KeepAlive(LIMITS, () => undefined);
    let open = true;
    const away = target([], () => false);
    const leaving = target([], () => open);
    leaving.ping = async () => {
      open = false;
      return false;
    };
    pinger.add(away, away);
    pinger.add(leaving, leaving);
    await vi.advanceTimersByTimeAsync(5_000);
    expect([away.asked, away.ended, leaving.ended]).toEqual([0, 0, 0]);
  });
});

interface Ping {
  readonly id: number;
  readonly method: string;
}

const pingsIn = (stream: OpenStream): Ping[] =>
  stream.messages.filter(({ method }) => method === "ping") as unknown as Ping[];

it("a session that answers stays open; one that does not ends with its streams", async () => {
  const told: string[] = [];
  const server = testServer({ report: (level, message) => told.push(`${level}: ${message}`) });
  const { url } = await start(server, { pings: { ...LIMITS, misses: 1 } });
  const [alive, deaf] = await Promise.all([session(url), session(url)]);
  const [hers, his] = [alive, deaf].map(
    ({ headers }) => new OpenStream(url, { headers: { ...headers, accept: "text/event-stream" } }),
  ) as [OpenStream, OpenStream];
  await Promise.all([hers, his].map((stream) => stream.until(({ text }) => text !== "")));
  vi.advanceTimersByTime(1_000);
  await hers.until((stream) => pingsIn(stream).length === 1);
  const reply = await alive.post({ jsonrpc: "2.0", id: pingsIn(hers)[0]?.id, result: {} });
  expect(reply.status).toBe(202);
  vi.advanceTimersByTime(LIMITS.timeoutMs);
  await his.ended;
  expect((await send(url, { method: "DELETE", headers: deaf.headers })).status).toBe(404);
  expect(told.filter((line) => line.startsWith("warning: A client did not answer a ping"))).toHaveLength(1);
  hers.close();
  expect((await send(url, { method: "DELETE", headers: alive.headers })).status).toBe(204);
});

it("HTTP+SSE sessions are asked too, and nobody is by default", async () => {
  const { url } = await start(testServer(), { sse: true, pings: { ...LIMITS, misses: 1 } });
  const stream = new OpenStream(new URL("/sse", url).href);
  await stream.until(({ text }) => text.includes("sessionId"));
  vi.advanceTimersByTime(LIMITS.everyMs);
  await stream.until(({ text }) => text.includes('"ping"'));
  vi.advanceTimersByTime(LIMITS.timeoutMs);
  await stream.ended;
  const { url: quiet } = await start();
  const opened = await session(quiet);
  const silent = new OpenStream(quiet, { headers: { ...opened.headers, accept: "text/event-stream" } });
  await silent.until(({ text }) => text !== "");
  vi.advanceTimersByTime(120_000);
  await post(quiet, { jsonrpc: "2.0", id: 1, method: "ping" }, opened.headers);
  expect(pingsIn(silent)).toEqual([]);
  silent.close();
});
