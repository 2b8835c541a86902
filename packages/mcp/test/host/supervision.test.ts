// A server that fails is tried again, ever more seldom, and troubles no other.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Breaker } from "../../src/host/managed-server.js";
import type { HostEvent } from "../../src/host/catalogue.js";
import type { Transport } from "../../src/jsonrpc/transport.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { memoryTransport } from "../../src/serve/host.js";
import { cuttable, hostWith, shop } from "./host-fixture.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A link whose process is gone at once. */
function gone(): Transport {
  return {
    kind: "stdio",
    describe: () => "node gone.js",
    start: () => Promise.reject(new LocalError("EXITED", "The server node gone.js exited with status 1.")),
    send: () => undefined,
    forget: () => false,
    close: () => Promise.resolve(),
  };
}

const states = (events: readonly HostEvent[]): string[] =>
  events.flatMap((event) => (event.type === "server" ? [`${event.status.name} ${event.status.state}`] : []));

describe("a server that ends at once", () => {
  it.each([0, 0.5, 0.999])("is started 12 times in five minutes at most (chance %d)", async (chance) => {
    const links = vi.fn(gone);
    const { host } = hostWith({ restart: { random: () => chance } });
    const status = await host.add("bad", { link: links });
    expect(status).toMatchObject({
      state: "waiting",
      failures: 1,
      reason: expect.stringContaining("exited with status 1") as string,
    });
    await host.add("good", shop("good"));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(host.servers()[0]?.state).toBe("broken");
    for (let minute = 0; minute < 5; minute++) {
      await vi.advanceTimersByTimeAsync(54_000);
      expect((await host.call("good__read", { key: "x" })).isError).not.toBe(true);
    }
    expect(links.mock.calls.length).toBeGreaterThan(4);
    expect(links.mock.calls.length).toBeLessThanOrEqual(12);
    await host.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is left alone once it is disabled, and tried at once when it is enabled", async () => {
    const links = vi.fn(gone);
    const { host } = hostWith();
    await host.add("bad", { link: links });
    await host.disable("bad");
    const before = links.mock.calls.length;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(links.mock.calls.length).toBe(before);
    expect((await host.enable("bad")).state).toBe("waiting");
    const enabled = links.mock.calls.length;
    expect(enabled).toBeGreaterThan(before);
    await host.enable("bad");
    expect(links.mock.calls.length).toBeGreaterThan(enabled);
    await host.remove("bad");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(links.mock.calls.length).toBe(enabled + (enabled - before));
    expect(host.servers()).toEqual([]);
    await host.add("bad", { link: links });
    await host.close();
    await expect(host.enable("bad")).rejects.toMatchObject({ code: "CLOSED" });
  });
});

it("a server that crashes is up again soon, and its tools with it", async () => {
  const { link, cut } = cuttable();
  const { host, events } = hostWith({ restart: { random: () => 0 } });
  await host.add("north", { link });
  expect(host.tools()).toHaveLength(2);
  cut();
  await vi.advanceTimersByTimeAsync(0);
  const [status] = host.servers();
  expect(status).toMatchObject({ state: "waiting", reason: expect.stringContaining("SIGKILL") as string });
  expect(status?.retryAt).toBe(Date.now() + 250);
  expect(host.tools()).toEqual([]);
  await vi.advanceTimersByTimeAsync(250);
  await vi.waitFor(() => expect(host.tools()).toHaveLength(2), { timeout: 10_000 });
  expect(states(events)).toEqual([
    "north asking",
    "north starting",
    "north ready",
    "north waiting",
    "north starting",
    "north ready",
  ]);
});

it("a server that never answers is given up after its time, and the others do not wait for it", async () => {
  const closed = vi.fn(() => Promise.resolve());
  const silent = (): Transport => ({ ...gone(), start: () => new Promise(() => undefined), close: closed });
  const { host } = hostWith({ startTimeoutMs: 10_000, startsAtOnce: 2 });
  const adding = host.add("silent", { link: silent });
  expect((await host.add("good", shop("good"))).state).toBe("ready");
  await vi.waitFor(() => expect(host.servers()[0]?.state).toBe("starting"), { timeout: 10_000 });
  const settled = vi.fn();
  void adding.then(settled);
  // What a start needs is loaded in true time: its own time may begin a moment after it says that it starts.
  await vi.waitFor(
    async () => {
      await vi.advanceTimersByTimeAsync(1_000);
      expect(settled).toHaveBeenCalled();
    },
    { timeout: 30_000 },
  );
  expect(await adding).toMatchObject({
    state: "waiting",
    reason: expect.stringContaining("did not start within 10000 ms") as string,
  });
  expect(closed).toHaveBeenCalled();
});

it("no more start at once than allowed", async () => {
  let starting = 0;
  let most = 0;
  const slow = (name: string) => (): Transport => {
    const inner = memoryTransport(shop(name));
    return {
      kind: "stdio",
      describe: () => name,
      start: async (sink) => {
        most = Math.max(most, ++starting);
        await new Promise((resolve) => setTimeout(resolve, 100));
        starting--;
        return inner.start(sink);
      },
      send: (message) => inner.send(message),
      forget: (id) => inner.forget?.(id) === true,
      close: () => inner.close(),
    };
  };
  const { host } = hostWith({ startsAtOnce: 3 });
  for (const name of "abcdefghjk") void host.add(name, { link: slow(name) });
  await vi.waitFor(() => expect(host.servers().map(({ state }) => state)).toEqual(Array(10).fill("ready")), {
    timeout: 10_000,
  });
  expect(most).toBe(3);
});

it("one that waits for its turn to start need not wait to be stopped", async () => {
  const silent = (): Transport => ({ ...gone(), start: () => new Promise(() => undefined) });
  const { host } = hostWith({ startsAtOnce: 1 });
  void host.add("silent", { link: silent });
  void host.add("queued", { link: silent });
  await vi.waitFor(() => expect(host.servers().map(({ state }) => state)).toEqual(["starting", "starting"]), {
    timeout: 10_000,
  });
  await host.remove("queued");
  expect(host.servers().map(({ name }) => name)).toEqual(["silent"]);
});

describe("the breaker", () => {
  it("doubles, opens after five failures in a minute, and stays open longer each time", () => {
    const breaker = new Breaker({ random: () => 0 });
    const pauses = Array.from({ length: 8 }, (_, index) => breaker.failed(index * 1_000, 1));
    expect(pauses.map(({ delayMs, open }) => [delayMs, open])).toEqual([
      [250, false],
      [500, false],
      [1_000, false],
      [2_000, false],
      [60_000, true],
      [120_000, true],
      [240_000, true],
      [480_000, true],
    ]);
    expect(breaker.failures).toBe(8);
  });

  it("forgets what was before a minute of work", () => {
    const breaker = new Breaker({ random: () => 0 });
    for (let failure = 0; failure < 6; failure++) breaker.failed(failure, 1);
    breaker.up(100_000);
    expect(breaker.failed(159_999, 1).open).toBe(true);
    breaker.up(300_000);
    expect(breaker.failed(360_000, 1)).toEqual({ delayMs: 250, open: false });
  });

  it("waits a minute at most while failures are rare", () => {
    const breaker = new Breaker({ random: () => 0.999_999 });
    const delays = Array.from({ length: 12 }, (_, index) => breaker.failed(index * 100_000, 1).delayMs);
    expect(Math.max(...delays)).toBe(60_000);
    expect(delays.at(-1)).toBe(60_000);
  });
});
