// The pair in memory: order, timing and ends.
import { beforeEach, describe, expect, it } from "vitest";
import type { Carrier } from "../../src/jsonrpc/transport.js";
import { type MemoryTransport, memoryTransports } from "../../src/transport/memory.js";

class Sink {
  readonly texts: string[] = [];
  carrier: Carrier | undefined;
  ends = 0;

  receive(text: string, carrier: Carrier): void {
    this.texts.push(text);
    this.carrier = carrier;
  }

  unreadable(): void {}

  closed(): void {
    this.ends++;
  }
}

let left: MemoryTransport;
let right: MemoryTransport;
let there: Sink;
let here: Sink;

beforeEach(() => {
  [left, right] = memoryTransports();
  here = new Sink();
  there = new Sink();
});

describe("memory transports", () => {
  it("deliver in order, later, also what was sent before the start", async () => {
    void left.send("a");
    right.start(there);
    void left.send("b");
    expect(there.texts).toEqual([]);
    await Promise.resolve();
    expect(there.texts).toEqual(["a", "b"]);
  });

  it("carry answers back", async () => {
    left.start(here);
    right.start(there);
    void left.send("question");
    await Promise.resolve();
    void there.carrier?.write("answer", "response");
    await Promise.resolve();
    expect(here.texts).toEqual(["answer"]);
    expect([there.carrier?.kind, there.carrier?.principal, there.carrier?.header("x")]).toEqual([
      "memory",
      undefined,
      undefined,
    ]);
  });

  it("ask a writer to wait while the other end is far behind", async () => {
    const waiting = left.send("x".repeat(2 ** 20));
    expect(waiting).toBeInstanceOf(Promise);
    right.start(there);
    await waiting;
    expect(left.send("y")).toBeUndefined();
  });

  it("close together, after what was sent has arrived", async () => {
    left.start(here);
    right.start(there);
    void left.send("last");
    await left.close();
    await right.done;
    expect([there.texts, there.ends, here.ends]).toEqual([["last"], 1, 1]);
    expect(there.carrier?.closed).toBe(true);
    void there.carrier?.write("too late", "response");
    await left.close();
    expect([here.texts, here.ends]).toEqual([[], 1]);
  });

  it("end even when nobody ever listened", async () => {
    await right.close();
    await left.done;
    expect(there.ends).toBe(0);
  });
});
