// One call by itself: who is told of its cancellation, and a result that knows its own text.
import { describe, expect, it } from "vitest";
import { Call, NO_LOGS, ReadyResult } from "../../src/endpoint/call.js";
import { codecFor } from "../../src/era/select.js";
import { Connection } from "../../src/jsonrpc/connection.js";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import type { Carrier } from "../../src/jsonrpc/transport.js";
import { revision } from "../../src/protocol/revisions/all.js";

const CODEC = codecFor(revision("2025-11-25") as NonNullable<ReturnType<typeof revision>>);
const OTHER = codecFor(revision("2026-07-28") as NonNullable<ReturnType<typeof revision>>);

function call(): Call {
  const handler = {
    rules: () => ({ batches: false, unreadableId: "null" as const }),
    request: () => undefined,
    notification: () => undefined,
  };
  const carrier: Carrier = {
    kind: "memory",
    principal: undefined,
    closed: false,
    header: () => undefined,
    write: () => undefined,
  };
  const caller = { codec: CODEC, capabilities: {}, client: undefined, logLevel: NO_LOGS };
  return new Call({ id: 1, method: "tools/call" }, caller, carrier, new Connection<Call>(handler, DEFAULT_LIMITS));
}

describe("a call", () => {
  it("tells each listener once that it was cancelled", () => {
    const told: string[] = [];
    const one = call();
    one.whenCancelled(() => told.push("first"));
    one.whenCancelled(() => told.push("second"));
    one.cancel({ reason: "enough", answered: false });
    one.cancel({ reason: "again", answered: true });
    expect(told).toEqual(["first", "second"]);
    expect(one.cancellation?.reason).toBe("enough");
    expect(one.signal.aborted).toBe(true);
  });

  it("that has ended is cancelled no more", () => {
    const told: string[] = [];
    const one = call();
    one.whenCancelled(() => told.push("cancelled"));
    one.ended = true;
    one.cancel({ reason: "late", answered: false });
    expect(told).toEqual([]);
  });
});

describe("a ready result", () => {
  it("is encoded once for each codec", () => {
    let asked = 0;
    const ready = new ReadyResult((codec) => {
      asked++;
      return codec === CODEC ? "{}" : '{"resultType":"complete"}';
    });
    expect(ready.bytesFor(CODEC)).toBe(ready.bytesFor(CODEC));
    expect(ready.bytesFor(OTHER)).toBe(ready.bytesFor(OTHER));
    expect(asked).toBe(2);
  });
});
