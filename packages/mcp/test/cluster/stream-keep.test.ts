// What one process keeps of its streams for the others: all of it together is bounded, and no stream waits for a store that is away.
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { BEAT_MS, memoryStores, type SharedStores, type StreamStore } from "../../src/cluster/stores.js";
import type { ClusterMember, LocalEnd, StreamBounds } from "../../src/http/server/exchange.js";
import { KEY } from "./cluster-fixture.js";

const KEPT_MS = 1_000;
const BOUNDS: StreamBounds = { pieces: 100, bytes: 1_000, allBytes: 100, lifeMs: 60_000 };
const LOCAL = { report: () => undefined, hear: () => undefined, holds: () => false } as unknown as LocalEnd;

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] }),
);
afterEach(() => void vi.useRealTimers());

interface Keeping {
  readonly stores: SharedStores;
  readonly member: ClusterMember;
  /** Keeps so many characters more of a stream. */
  keep(stream: string, characters: number, bounds?: Partial<StreamBounds>): Promise<boolean> | undefined;
  /** The streams that are kept, of those that were written to. */
  kept(): Promise<readonly string[]>;
}

async function keeping(append?: StreamStore["append"]): Promise<Keeping> {
  const stores = memoryStores();
  if (append !== undefined) stores.streams.append = append;
  const member = (await shareOver(stores, { key: KEY, node: "one" }).join()) as ClusterMember;
  await member.open(LOCAL);
  onTestFinished(() => member.leave());
  const positions = new Map<string, number>();
  return {
    stores,
    member,
    keep(stream, characters, bounds = {}) {
      const after = positions.get(stream) ?? 0;
      positions.set(stream, after + 1);
      const events = [{ sequence: after + 1, text: "x".repeat(characters) }];
      return member.keepEvents(stream, { about: "", after, events, ended: false }, { ...BOUNDS, ...bounds });
    },
    async kept() {
      const found: string[] = [];
      for (const stream of positions.keys())
        if ((await stores.streams.read(stream, 0)) !== undefined) found.push(stream);
      return found;
    },
  };
}

describe("what a process keeps of its streams", () => {
  it("is so much in all: the one that was silent for longest goes first, never the one that speaks", async () => {
    const { keep, kept } = await keeping();
    await keep("a", 40);
    await keep("b", 40);
    await keep("a", 20);
    expect(await kept()).toEqual(["a", "b"]);
    await keep("c", 1);
    expect(await kept()).toEqual(["a", "c"]);
    await keep("d", 500);
    expect(await kept()).toEqual(["d"]);
    await keep("e", 1);
    expect(await kept()).toEqual(["e"]);
  });

  it("does not count what has ended by itself", async () => {
    const { keep, kept, stores } = await keeping();
    const forget = vi.spyOn(stores.streams, "delete");
    await keep("a", 90, { lifeMs: 1_000 });
    await vi.advanceTimersByTimeAsync(1_001);
    await keep("b", 90);
    await keep("c", 10);
    expect(await kept()).toEqual(["b", "c"]);
    expect(forget).not.toHaveBeenCalled();
  });

  it("says so where another process has ended the stream", async () => {
    const { keep, stores } = await keeping();
    expect(await keep("a", 1)).toBe(true);
    await stores.streams.append("a", { about: "", after: 1, events: [], ended: true }, BOUNDS);
    expect(await keep("a", 1)).toBe(false);
  });
});

describe("a store of streams", () => {
  it("that does not answer is waited for once, and asked again when somebody has heard of it", async () => {
    const { keep } = await keeping(() => new Promise(() => undefined));
    const waiting = keep("a", 1);
    let sent: boolean | undefined;
    void waiting?.then((kept) => (sent = kept));
    await vi.advanceTimersByTimeAsync(KEPT_MS - 1);
    expect(sent).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect([sent, keep("a", 1)]).toEqual([true, undefined]);
    await vi.advanceTimersByTimeAsync(BEAT_MS);
    expect(keep("a", 1)).toBeInstanceOf(Promise);
  });

  it("that refuses holds nobody up", async () => {
    const { keep } = await keeping(() => Promise.reject(new Error("away")));
    expect(await keep("a", 1)).toBe(true);
    expect(keep("a", 1)).toBeUndefined();
  });
});
