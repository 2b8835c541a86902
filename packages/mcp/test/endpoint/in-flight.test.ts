// The calls of one conversation, found by their ids: few of them and many, and never one for another.
import { describe, expect, it } from "vitest";
import type { Call } from "../../src/endpoint/call.js";
import type { Dispatcher, Done } from "../../src/endpoint/dispatcher.js";
import { InFlight } from "../../src/endpoint/in-flight.js";

const call = (id: number | string): Call => ({ id, seat: undefined, method: "tools/call" }) as unknown as Call;

/** Serves nothing: the test says when a call is done. */
function waiting(): { dispatcher: Dispatcher; done: (call: Call) => void; cancelled: unknown[] } {
  const pending = new Map<Call, Done>();
  const cancelled: unknown[] = [];
  const dispatcher = {
    serve: (served: Call, done: Done) => pending.set(served, done),
    cancel: (served: Call) => cancelled.push(served.id),
  } as unknown as Dispatcher;
  return { dispatcher, cancelled, done: (ended) => pending.get(ended)?.(ended) };
}

describe("calls in flight", () => {
  it.each([1, 64, 65, 300])("finds each of %i by its id, and none that has ended", (count) => {
    const { dispatcher, done, cancelled } = waiting();
    const inFlight = new InFlight(1_000);
    const calls = Array.from({ length: count }, (_, index) => call(index % 2 === 0 ? index : String(index)));
    for (const one of calls) expect(inFlight.serve(one, dispatcher)).toBeUndefined();
    expect(inFlight.size).toBe(count);
    for (const { id } of calls) {
      expect(inFlight.has(id)).toBe(true);
      // The same digits as a string are another id.
      expect(inFlight.has(typeof id === "number" ? String(id) : Number(id))).toBe(false);
      expect(inFlight.cancel(id, { reason: "", answered: false }, dispatcher)).toBe(true);
    }
    expect(cancelled).toEqual(calls.map(({ id }) => id));
    const gone = calls.filter((_, index) => index % 3 === 0);
    for (const one of gone) done(one);
    for (const one of calls) expect(inFlight.has(one.id)).toBe(!gone.includes(one));
    for (const one of gone) expect(inFlight.serve(one, dispatcher)).toBeUndefined();
    for (const one of calls) expect(inFlight.has(one.id)).toBe(true);
    for (const one of calls) done(one);
    expect(inFlight.size).toBe(0);
    for (const { id } of calls) expect(inFlight.has(id)).toBe(false);
  });
});
