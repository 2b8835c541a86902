// A stop ends requests as a signal does, before they are sent and while they wait; and one signal ends many.
import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { resolveLimits } from "../../src/jsonrpc/limits.js";
import { offAbort, onAbort, OutgoingTable, Stop } from "../../src/jsonrpc/outgoing.js";

it("rejects what waits and what comes later with CANCELLED, and tells why", async () => {
  const told: unknown[] = [];
  const table = new OutgoingTable(resolveLimits(), {
    abandoned: (id, _waiting, reason) => void told.push([id, reason]),
  });
  const stop = new Stop();
  const waiting = { method: "tools/call", timeoutMs: Number.POSITIVE_INFINITY, stop };
  const answered = table.add(1, waiting);
  const [second, third] = [table.add(2, waiting), table.add(3, { ...waiting, stop: new Stop() })];
  table.succeed({ jsonrpc: "2.0", id: 1, result: { ok: true } });
  expect(await answered).toEqual({ ok: true });
  stop.stop("enough");
  stop.stop("again");
  await expect(second).rejects.toMatchObject({ code: "CANCELLED", cause: "enough" });
  await expect(table.add(4, waiting)).rejects.toMatchObject({ code: "CANCELLED", cause: "enough" });
  expect(told).toEqual([[2, "enough"]]);
  expect(table.has(3)).toBe(true);
  table.close();
  await expect(third).rejects.toMatchObject({ code: "CLOSED" });
});

it("has a signal for who asks, however late", () => {
  const [early, late] = [new Stop(), new Stop()];
  const { signal } = early;
  expect(signal.aborted).toBe(false);
  for (const stop of [early, late]) {
    stop.stop("enough");
    expect(stop.signal).toMatchObject({ aborted: true, reason: "enough" });
  }
  expect(early.signal).toBe(signal);
});

it("is one listener of a signal, however many wait for it, and none once nobody does", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const told: number[] = [];
  const runs = Array.from({ length: 20 }, (_, at) => () => void told.push(at));
  const listener = { handleEvent: (): void => void told.push(20) };
  for (const run of [...runs, listener]) onAbort(signal, run);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  for (const run of [...runs.slice(1), listener]) offAbort(signal, run);
  offAbort(signal, runs[0] as () => void);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
  for (const run of [...runs, listener]) onAbort(signal, run);
  offAbort(signal, runs[3] as () => void);
  controller.abort();
  controller.abort();
  expect(told).toEqual([...Array.from({ length: 21 }, (_, at) => at).filter((at) => at !== 3)]);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

it.each([
  ["a signal", (signal: AbortSignal) => signal],
  ["one that depends on it", (signal: AbortSignal) => AbortSignal.any([signal])],
  [
    "one that depends on it and others",
    (signal: AbortSignal) => AbortSignal.any([signal, new AbortController().signal]),
  ],
  ["one that depends on one that does", (signal: AbortSignal) => AbortSignal.any([AbortSignal.any([signal])])],
])("is told of %s", (_, made) => {
  const controller = new AbortController();
  const signal = made(controller.signal);
  const told: number[] = [];
  for (const at of [1, 2]) onAbort(signal, () => void told.push(at));
  controller.abort();
  expect(told).toEqual([1, 2]);
});
