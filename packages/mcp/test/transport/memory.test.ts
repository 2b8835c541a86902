// The pair in memory: order, timing and ends.
import { beforeEach, describe, expect, it } from "vitest";
import type { Arrival, Carrier, Outgoing, Transport } from "../../src/jsonrpc/transport.js";
import { memoryTransports } from "../../src/transport/memory.js";

class Sink {
  readonly texts: string[] = [];
  carrier: Carrier | undefined;
  ends = 0;

  receive(text: string, arrival?: Arrival): void {
    this.texts.push(text);
    this.carrier = arrival?.reply;
  }

  unreadable(): void {}

  lost(): void {}

  noise(): void {}

  closed(): void {
    this.ends++;
  }
}

const message = (text: string): Outgoing => ({ text, kind: "request" });

let left: Transport;
let right: Transport;
let there: Sink;
let here: Sink;

beforeEach(() => {
  [left, right] = memoryTransports();
  here = new Sink();
  there = new Sink();
});

describe("memory transports", () => {
  it("deliver in order, later, also what was sent before the start", async () => {
    void left.send(message("a"));
    void right.start(there);
    void left.send(message("b"));
    expect(there.texts).toEqual([]);
    await Promise.resolve();
    expect(there.texts).toEqual(["a", "b"]);
  });

  it("carry answers back", async () => {
    void left.start(here);
    void right.start(there);
    void left.send(message("question"));
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
    const waiting = left.send(message("x".repeat(2 ** 20)));
    expect(waiting).toBeInstanceOf(Promise);
    void right.start(there);
    await waiting;
    expect(left.send(message("y"))).toBeUndefined();
  });

  it("close together, after what was sent has arrived", async () => {
    void left.start(here);
    void right.start(there);
    void left.send(message("last"));
    await left.close();
    await right.close();
    expect([there.texts, there.ends, here.ends]).toEqual([["last"], 1, 1]);
    expect(there.carrier?.closed).toBe(true);
    void there.carrier?.write("too late", "response");
    await left.close();
    expect([here.texts, here.ends]).toEqual([[], 1]);
  });

  it("end even when nobody ever listened", async () => {
    await right.close();
    await left.close();
    expect(there.ends).toBe(0);
  });
});
