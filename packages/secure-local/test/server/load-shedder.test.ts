// How calls are let in by the memory there is: told from readings that the test makes up.
import type { Answer, Call } from "@secure-local/mcp/server";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LOOK_MS, LoadShedder, MemoryMonitor } from "../../src/server/load-shedder.js";

const MB = 2 ** 20;
const LIMIT = 1_000 * MB;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

/** A watch over memory that is whatever `state` says. */
function watching(limit = LIMIT): { watch: MemoryMonitor; state: { resident: number; heap: number; looks: number } } {
  const state = { resident: 0, heap: 0, looks: 0 };
  const read = () => {
    state.looks += 1;
    return { resident: state.resident, heap: state.heap, heapLimit: 0.4 * limit };
  };
  return { watch: new MemoryMonitor({ limit, read }), state };
}

describe("the watch", () => {
  it("finds memory short above 85 % of what the process has, or of what the engine has", () => {
    const { watch, state } = watching();
    for (const [resident, heap, short] of [
      [0, 0, false],
      [849, 339, false],
      [851, 100, true],
      [400, 341, true],
      [850, 340, false],
    ] as const) {
      Object.assign(state, { resident: resident * MB, heap: heap * MB });
      vi.advanceTimersByTime(LOOK_MS);
      expect([resident, heap, watch.short]).toEqual([resident, heap, short]);
    }
    expect(watch.room).toBe(0);
  });

  it("looks only when asked, and not again within a tenth of a second", () => {
    const { watch, state } = watching();
    vi.advanceTimersByTime(60_000);
    expect(state.looks).toBe(0);
    for (let n = 0; n < 100; n += 1) expect(watch.short).toBe(false);
    expect(state.looks).toBe(1);
    vi.advanceTimersByTime(LOOK_MS);
    expect([watch.short, state.looks]).toEqual([false, 2]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("reads this process when nothing else is given", () => {
    expect(new MemoryMonitor({ limit: 2 ** 50 }).short).toBe(false);
    expect(new MemoryMonitor({ limit: 1 }).short).toBe(true);
  });
});

interface Begun {
  readonly end: () => void;
}

/** A gate, calls that stay under way until they are ended, and what became of those that have an answer. */
function gated(busy = false, limit = LIMIT) {
  const { watch, state } = watching(limit);
  let refused = 0;
  const gate = new LoadShedder({ watch, onRefused: () => void (refused += 1), busy: () => busy });
  const begun: Begun[] = [];
  const outcomes: unknown[] = [];
  const call = (method = "tools/call"): void => {
    const next = (): Promise<Answer> => new Promise((resolve) => begun.push({ end: () => resolve({ content: [] }) }));
    void Promise.resolve(gate.middleware({ method } as Call, next)).then(
      () => outcomes.push("done"),
      (error: unknown) => outcomes.push(error),
    );
  };
  const turn = async (ms = 0): Promise<void> => void (await vi.advanceTimersByTimeAsync(ms));
  const finish = async (count = begun.length): Promise<void> => {
    for (const { end } of begun.splice(0, count)) end();
    await turn();
  };
  return { gate, state, begun, outcomes, call, turn, finish, refused: () => refused };
}

const FOR_NOW = expect.objectContaining({ code: -32603, data: { retryAfterMs: 1_000 } }) as unknown;

describe("the gate", () => {
  it("refuses a call for now while memory is short and another is under way, and lets one alone through", async () => {
    const { state, begun, outcomes, call, turn, finish, refused } = gated();
    state.resident = 900 * MB;
    call();
    call();
    call("tools/list");
    await turn();
    expect([begun.length, outcomes, refused()]).toEqual([2, [FOR_NOW], 1]);
    await finish();
    call();
    await turn();
    expect(begun).toHaveLength(1);
    state.resident = 100 * MB;
    await turn(LOOK_MS);
    call();
    await turn();
    expect([begun.length, outcomes.length, refused()]).toEqual([2, 3, 1]);
  });

  it("begins no more calls together than might fit, and the others as those end or a look has shown what they take", async () => {
    const { state, begun, outcomes, call, turn, finish } = gated();
    state.resident = 850 * MB - 100 * MB; // room for three
    for (let n = 0; n < 10; n += 1) call();
    await turn();
    expect(begun).toHaveLength(3);
    await finish(1);
    expect(begun).toHaveLength(3);
    await turn(2 * LOOK_MS);
    expect(begun).toHaveLength(6);
    state.resident = 840 * MB;
    await turn(2 * LOOK_MS);
    expect(begun).toHaveLength(6);
    for (let n = 0; n < 6; n += 1) await finish(1);
    expect(begun.length).toBeGreaterThan(0);
    while (begun.length > 0) await finish(1);
    expect(outcomes).toEqual(Array.from({ length: 10 }, () => "done"));
    await turn(LOOK_MS);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("has no more under way than sixteen times what might fit, however long they last", async () => {
    const { state, begun, call, turn, finish } = gated();
    state.resident = 850 * MB - 100 * MB;
    for (let n = 0; n < 60; n += 1) call();
    await turn(4_000);
    expect(begun).toHaveLength(50); // 100 MB are three calls and an eighth
    await finish(1);
    expect(begun).toHaveLength(50);
  });

  it("takes longer to let in more where the process hardly gets to what it has begun", async () => {
    const { state, begun, call, turn } = gated(true);
    state.resident = 850 * MB - 100 * MB;
    for (let n = 0; n < 10; n += 1) call();
    await turn(19 * LOOK_MS);
    expect(begun).toHaveLength(3);
    await turn(2 * LOOK_MS);
    expect(begun).toHaveLength(6);
  });

  it("lets in hundreds within a second where there is room for them, busy or not", async () => {
    const { begun, call, turn } = gated(true, 10_000 * MB);
    for (let n = 0; n < 500; n += 1) call();
    await turn(10 * LOOK_MS);
    expect(begun).toHaveLength(500);
  });

  it("tells by the event loop of its own whether the process is busy", async () => {
    vi.useRealTimers(); // pretended ones leave the event loop out
    const { watch } = watching();
    let time = 0;
    const { middleware } = new LoadShedder({ watch, onRefused: () => undefined, now: () => time });
    time = LOOK_MS;
    const answer: Answer = { content: [] };
    expect(await middleware({ method: "tools/call" } as Call, () => Promise.resolve(answer))).toBe(answer);
  });

  it("refuses for now who has waited for seconds, and whoever comes when too many wait", async () => {
    const { state, begun, outcomes, call, turn, refused } = gated();
    state.resident = 840 * MB;
    for (let n = 0; n < 1_028; n += 1) call();
    await turn();
    expect([begun.length, outcomes]).toEqual([2, [FOR_NOW, FOR_NOW]]);
    await turn(5_100);
    expect([begun.length, outcomes.length, refused()]).toEqual([2, 1_026, 1_026]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("turns away over HTTP, unread, what is a call or long", async () => {
    const { gate, state, call, turn } = gated();
    const refusal = (method: string, headers: Readonly<Record<string, string>>) =>
      gate.refusal({ method, header: (name) => headers[name] })?.status;
    const CALL = { "content-length": "100", "mcp-method": "tools/call" };
    state.resident = 900 * MB;
    expect(refusal("POST", CALL)).toBeUndefined(); // nothing is under way
    call();
    await turn();
    expect(refusal("POST", CALL)).toBe(503);
    expect(refusal("POST", { "content-length": "70000" })).toBe(503);
    expect(refusal("POST", {})).toBe(503);
    expect(refusal("POST", { "content-length": "100" })).toBeUndefined();
    expect(refusal("POST", { "content-length": "100", "mcp-method": "notifications/cancelled" })).toBeUndefined();
    expect(refusal("GET", {})).toBeUndefined();
    expect(gate.refusal({ method: "POST", header: () => undefined })?.headers).toEqual({ "retry-after": "1" });
    state.resident = 0;
    await turn(LOOK_MS);
    expect(refusal("POST", CALL)).toBeUndefined();
  });
});
