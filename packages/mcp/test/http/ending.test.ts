// How long an endpoint that ends waits for its tasks, by a clock of the test's own.
import { expect, it, onTestFinished, vi } from "vitest";
import { settle } from "../../src/http/server/ending.js";

type Ended = Parameters<typeof settle>[0];

const DRAIN_MS = 10_000;

/** Settles with tasks that end by themselves after so long, or once they are cut; what has ended is looked for so long. */
function settling({ endsMs, lookedForMs }: { readonly endsMs: number; readonly lookedForMs: number }) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const began = performance.now();
  const now = (): number => performance.now() - began;
  let ended = endsMs;
  const seen: { cutMs?: number; settledMs?: number } = {};
  const tasks = {
    get busy() {
      return now() < ended + lookedForMs;
    },
    close: async () => {
      if (now() >= ended) return;
      seen.cutMs = now();
      ended = now();
    },
  };
  const core = { dispatcher: { running: 0 }, parking: {}, tasks, report: vi.fn() };
  const endpoint = { site: { passes: {} }, limits: { drainMs: DRAIN_MS }, core, others: [] };
  void settle(endpoint as unknown as Ended, () => true).then((spent) => (seen.settledMs = spent));
  return { seen, core };
}

it("waits for tasks, and for those who look for them afterwards", async () => {
  const { seen } = settling({ endsMs: 2_000, lookedForMs: 1_500 });
  await vi.advanceTimersByTimeAsync(3_480);
  expect(seen).toEqual({});
  await vi.advanceTimersByTimeAsync(40);
  expect(seen.settledMs).toBeGreaterThanOrEqual(3_500);
  expect(seen.cutMs).toBeUndefined();
});

it("cuts tasks after four fifths of its time, and waits for those who look for them", async () => {
  const { seen } = settling({ endsMs: Infinity, lookedForMs: 1_000 });
  await vi.advanceTimersByTimeAsync(7_960);
  expect(seen).toEqual({});
  await vi.advanceTimersByTimeAsync(60);
  expect(seen.cutMs).toBeGreaterThanOrEqual(8_000);
  expect(seen.settledMs).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1_020);
  expect(seen.settledMs).toBeGreaterThanOrEqual(9_000);
});

it("keeps a twentieth of its time for the end, whoever looks for tasks", async () => {
  const { seen } = settling({ endsMs: Infinity, lookedForMs: 60_000 });
  await vi.advanceTimersByTimeAsync(9_540);
  expect(seen.settledMs).toBeLessThan(9_541);
});

it("reports tasks that cannot be ended, and ends without them", async () => {
  const { seen, core } = settling({ endsMs: Infinity, lookedForMs: 0 });
  const error = new Error("no room");
  vi.spyOn(core.tasks, "close").mockRejectedValue(error);
  await vi.advanceTimersByTimeAsync(9_540);
  expect(seen.settledMs).toBeLessThan(9_541);
  expect(core.report).toHaveBeenCalledWith("error", "The tasks that still ran could not be ended", { error });
});
