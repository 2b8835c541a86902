// The time of a request: it runs out once, stands still while a person is asked, and is over with the request.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Deadline, seconds } from "../../src/guard/compiled-policy.js";

type Asked = ConstructorParameters<typeof Deadline>[0];
const TIME = { callMs: 1_000, taskMs: 5_000 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** A request that its handler ends when told to, and what the deadline did to it. */
function started({ task = false } = {}) {
  const cancelled: unknown[] = [];
  const call = {
    record: {},
    ...(task ? { task: {} } : {}),
    whenCancelled: () => undefined,
    cancel: (why: unknown) => void cancelled.push(why),
  };
  let answer = (_text: never): void => undefined;
  const answered = new Promise<never>((resolve) => (answer = resolve));
  const deadline = new Deadline(call as unknown as Asked, TIME);
  const endings: unknown[] = [];
  void deadline.run(() => answered).then((ending) => endings.push(ending));
  const end = async (): Promise<void> => {
    answer("answer" as never);
    await vi.advanceTimersByTimeAsync(0);
  };
  const passes = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  return { deadline, cancelled, endings, end, passes };
}

describe("a deadline", () => {
  it("ends a call at its time and not before, once", async () => {
    const { cancelled, endings, end, passes } = started();
    await passes(999);
    expect(cancelled).toEqual([]);
    await passes(1);
    expect(cancelled).toEqual([{ reason: "timed out after 1 s", answered: false }]);
    expect(endings).toHaveLength(1);
    await end();
    await passes(10_000);
    expect([cancelled.length, endings.length]).toEqual([1, 1]);
  });

  it("lets a task go on to the time of tasks", async () => {
    const { cancelled, passes } = started({ task: true });
    await passes(4_999);
    expect(cancelled).toEqual([]);
    await passes(1);
    expect(cancelled).toEqual([{ reason: "timed out after 5 s", answered: false }]);
  });

  it("stands still while it is held, and counts how long, however often that is said", async () => {
    const { deadline, cancelled, passes } = started();
    await passes(600);
    deadline.hold();
    await passes(300);
    deadline.hold();
    await passes(60_000);
    expect(cancelled).toEqual([]);
    deadline.release();
    deadline.release();
    expect(deadline.heldMs).toBe(60_300);
    await passes(399);
    expect(cancelled).toEqual([]);
    await passes(1);
    expect(cancelled).toHaveLength(1);
    expect(deadline.heldMs).toBe(60_300);
  });

  it("does nothing more once the request has ended, whether it was held then or not", async () => {
    for (const held of [false, true]) {
      const { deadline, cancelled, endings, end, passes } = started();
      if (held) deadline.hold();
      await end();
      expect(endings).toEqual([{ answer: "answer" }]);
      deadline.release();
      deadline.hold();
      deadline.release();
      await passes(60_000);
      expect(cancelled).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("that was never held may be released", async () => {
    const { deadline, cancelled, passes } = started();
    await passes(500);
    deadline.release();
    await passes(500);
    expect(cancelled).toHaveLength(1);
    expect(deadline.heldMs).toBe(0);
  });
});

it.each([
  [1_000, "1 s"],
  [250, "0.25 s"],
  [90_000, "90 s"],
  [1_234.5, "1.23 s"],
])("%d ms are written as %s", (ms, text) => expect(seconds(ms)).toBe(text));
