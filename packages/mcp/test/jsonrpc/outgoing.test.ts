// Requests that wait for an answer share one timer: it keeps a process alive as long as one of them has an end, and tells each when it is over.
import { afterEach, expect, it, vi } from "vitest";
import { resolveLimits } from "../../src/jsonrpc/limits.js";
import { OutgoingTable, type Waiting } from "../../src/jsonrpc/outgoing.js";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const waiting = (timeoutMs: number): Waiting => ({ method: "tools/call", timeoutMs });
const answer = (id: number): { jsonrpc: "2.0"; id: number; result: object } => ({ jsonrpc: "2.0", id, result: {} });

it("the process lives while a request has an end, again once there is another, and not for one without", async () => {
  const begun = vi.spyOn(globalThis, "setTimeout");
  const table = new OutgoingTable(resolveLimits(), {});
  const isHeld = (): boolean => (begun.mock.results.at(-1) as { value: NodeJS.Timeout }).value.hasRef();
  const endless = table.add(1, waiting(Number.POSITIVE_INFINITY));
  const held: boolean[] = [];
  for (const id of [2, 3]) {
    const answered = table.add(id, waiting(60_000));
    held.push(isHeld());
    table.succeed(answer(id) as never);
    await answered;
    held.push(isHeld());
  }
  expect(held).toEqual([true, false, true, false]);
  expect(begun).toHaveBeenCalledTimes(1);
  table.close();
  await expect(endless).rejects.toMatchObject({ code: "CLOSED" });
});

it("one that is answered takes the time of no other away, and the last one leaves no timer that would fire soon", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  const table = new OutgoingTable(resolveLimits(), {});
  const [first, second] = [table.add(1, waiting(50)), table.add(2, waiting(50))];
  table.succeed(answer(1) as never);
  expect(await first).toEqual({});
  const ended: string[] = [];
  second.catch(({ code }: { code: string }) => ended.push(code));
  await vi.advanceTimersByTimeAsync(51);
  expect(ended).toEqual(["TIMEOUT"]);
  const third = table.add(3, waiting(50));
  expect(vi.getTimerCount()).toBe(1);
  table.succeed(answer(3) as never);
  await third;
  expect(vi.getTimerCount()).toBe(0);
});
