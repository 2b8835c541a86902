// The grace time at the end: what is done ends it, it runs out, and time in which the process stood still does not count.
import { afterEach, expect, it, vi } from "vitest";
import { withinGrace } from "../../src/jsonrpc/message.js";

const NEVER = new Promise<void>(() => undefined);

afterEach(() => {
  vi.useRealTimers();
});

it("is over as soon as all is done, and leaves no timer", async () => {
  vi.useFakeTimers();
  await withinGrace(Promise.resolve(), 50);
  expect(vi.getTimerCount()).toBe(0);
});

it("runs out, at once where there is none", async () => {
  vi.useFakeTimers();
  const over = vi.fn();
  void withinGrace(NEVER, 50).then(over);
  await vi.advanceTimersByTimeAsync(49);
  expect(over).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(over).toHaveBeenCalledOnce();
  const none = withinGrace(NEVER, 0);
  await vi.runAllTimersAsync();
  await none;
});

it("does not run out while the process stands still, with an answer nearly there", async () => {
  const slept = new Int32Array(new SharedArrayBuffer(4));
  let answered = false;
  const answer = (async () => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    answered = true;
  })();
  const over = withinGrace(answer, 50).then(() => answered);
  // As if others had the processor: the whole time passes before the loop turns again.
  Atomics.wait(slept, 0, 0, 60);
  expect(await over).toBe(true);
});
