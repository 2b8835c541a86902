// A stop ends requests as a signal does, before they are sent and while they wait.
import { expect, it } from "vitest";
import { resolveLimits } from "../../src/jsonrpc/limits.js";
import { OutgoingTable, Stop } from "../../src/jsonrpc/outgoing.js";

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
