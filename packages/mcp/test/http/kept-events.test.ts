// An event of a stream that other processes could replay leaves once they could, and never after another one has ended the stream.
import { describe, expect, it } from "vitest";
import { StreamKeeper } from "../../src/http/server/event-stream.js";
import type { HttpCluster, HttpExchange, StreamPiece } from "../../src/http/server/exchange.js";
import { DEFAULT_HTTP_LIMITS, DEFAULT_SESSION_LIMITS } from "../../src/http/server/http-limits.js";
import {
  MemoryEventStore,
  missedOf,
  ResumableStream,
  type StreamHome,
} from "../../src/http/server/resumable-stream.js";
import { events, gate } from "./http-fixture.js";

type Settle = (kept: boolean) => void;

function reader(): { readonly exchange: HttpExchange; readonly texts: () => unknown[]; readonly ended: () => boolean } {
  let text = "";
  let over = false;
  const stream = {
    ...{ buffered: 0, onDrain: undefined },
    write: (more: string) => ((text += more), true),
    end: () => void (over = true),
    destroy: () => void (over = true),
  };
  const exchange = { open: () => stream, over: false, identity: undefined } as unknown as HttpExchange;
  const texts = (): unknown[] =>
    events(text)
      .map(({ data }) => data)
      .filter(Boolean);
  return { exchange, texts, ended: () => over };
}

/** A session whose pieces are kept when the test says so. */
function home(kept: HttpCluster["keepEvents"], more: Partial<StreamHome> = {}): StreamHome {
  return {
    ...{ id: "s", polling: true, closed: false, closing: false, keeper: new StreamKeeper(DEFAULT_HTTP_LIMITS) },
    store: new MemoryEventStore(DEFAULT_SESSION_LIMITS),
    bounds: { pieces: 9, bytes: 9_000, allBytes: 9_000, lifeMs: 9_000 },
    cluster: { keepEvents: kept, eventsOf: async () => undefined },
    ...more,
  };
}

function begun(more: Partial<StreamHome> = {}) {
  const waiting: Settle[] = [];
  const pieces: StreamPiece[] = [];
  let away = false;
  const kept: HttpCluster["keepEvents"] = (_, piece) => {
    if (away) return undefined;
    pieces.push(piece);
    return new Promise((resolve) => waiting.push(resolve));
  };
  const stream = new ResumableStream(home(kept, more), 1, { asked: 7 });
  const first = reader();
  stream.open(first.exchange);
  return { stream, waiting, pieces, first, away: (is: boolean) => void (away = is) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("an event", () => {
  it("leaves once it is kept, those behind it after it, and the end last", async () => {
    const { stream, waiting, pieces, first } = begun();
    for (const text of ["a", "b"]) void stream.send(text, false);
    void stream.finish("c");
    expect(pieces.map(({ about, after, ended }) => [about, after, ended])).toEqual([
      ["7", 0, false],
      ["7", 0, false],
      ["7", 1, false],
      ["7", 2, true],
    ]);
    const [beginning, ...rest] = waiting as [Settle, Settle, Settle, Settle];
    rest[1]?.(true);
    rest[2]?.(true);
    await settled();
    expect(first.texts()).toEqual([]);
    rest[0]?.(true);
    await settled();
    expect(first.texts()).toEqual([]);
    beginning(true);
    await settled();
    expect(first.texts()).toEqual(["a", "b", "c"]);
    expect(first.ended()).toBe(true);
  });

  it("that waits does not reach who comes back meanwhile, but once", async () => {
    const { stream, waiting, first } = begun();
    waiting[0]?.(true);
    void stream.send("a", false);
    waiting[1]?.(true);
    await settled();
    void stream.send("b", false);
    stream.hangUp();
    const second = reader();
    expect(await stream.resume(second.exchange, 0)).toBe(true);
    expect([first.texts(), second.texts()]).toEqual([["a"], ["a"]]);
    waiting[2]?.(true);
    await settled();
    expect(second.texts()).toEqual(["a", "b"]);
  });

  it("leaves at once while nothing can be kept, behind those that still wait", async () => {
    const { stream, waiting, first, away } = begun();
    void stream.send("a", false);
    away(true);
    void stream.send("b", false);
    expect(first.texts()).toEqual([]);
    for (const each of waiting) each(true);
    await settled();
    void stream.send("c", false);
    expect(first.texts()).toEqual(["a", "b", "c"]);
  });

  it("does not leave when another process has ended the stream, nor does any after it", async () => {
    const { stream, waiting, first } = begun();
    waiting[0]?.(true);
    void stream.send("a", false);
    waiting[1]?.(false);
    await settled();
    void stream.finish("b");
    expect(first.texts()).toEqual([]);
    expect(first.ended()).toBe(true);
    expect(waiting).toHaveLength(2);
  });
});

it("what a process gives up because it ends is not kept as an end: the next one says that nobody knows it", () => {
  const { stream, pieces } = begun({ closing: true });
  void stream.finish();
  expect(pieces.some(({ ended }) => ended)).toBe(false);
});

describe("a stream whose process has ended", () => {
  const position = { node: undefined, stream: 1, sequence: 1, standing: false, tag: "0".repeat(12) };

  it("is given the end that another process was quicker to write", async () => {
    const ended = { about: "7", events: [{ sequence: 2, text: "theirs" }], ended: true };
    const asked = gate();
    let reads = 0;
    const cluster = {
      keepEvents: () => (asked.open(), Promise.resolve(false)),
      eventsOf: async () => (reads++ === 0 ? { about: "7", events: [], ended: false } : ended),
    };
    const missed = await missedOf(
      home(() => undefined, { cluster }),
      position,
    );
    await asked.opened;
    expect(events(missed?.text ?? "").map(({ data }) => data)).toEqual(["theirs"]);
  });

  it("is ended for its reader where that cannot be kept", async () => {
    const cluster = {
      keepEvents: () => undefined,
      eventsOf: async () => ({ about: "[1,2]", events: [], ended: false }),
    };
    const missed = await missedOf(
      home(() => undefined, { cluster }),
      position,
    );
    const [end] = events(missed?.text ?? "");
    expect((JSON.parse(end?.data ?? "") as { id: number }[]).map(({ id }) => id)).toEqual([1, 2]);
    expect(end?.id).toBe("1-2-000000000000");
  });
});
