import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import fc from "fast-check";
import { Server } from "@secure-local/mcp/server";
import { envelope, type Message, serveStub } from "../support/stub-transport.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

type Report = (value: number, total?: number, message?: string) => Promise<void>;

/** Runs one call that reports as `work` says, and gives every message written for it. */
async function run(
  work: (report: Report) => Promise<void>,
  token: string | number | object | null = "t",
): Promise<Message[]> {
  const server = new Server({ name: "s", version: "1" });
  server.tool("work", {
    async run(_args, ctx) {
      await work((value, total, message) => ctx.progress(value, total, message));
      return "done";
    },
  });
  const peer = serveStub(server);
  const _meta = envelope({}, token === null ? {} : { progressToken: token });
  peer.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work", _meta } });
  await peer.answer(1);
  return peer.written;
}

const values = (written: Message[]): number[] =>
  written.filter((each) => "method" in each).map((each) => (each["params"] as Message)["progress"] as number);

describe("progress (M40)", () => {
  it("of a tight loop is bounded, and its first and last report are never lost", async () => {
    const written = await run(async (report) => {
      for (let n = 1; n <= 10_000; n++) await report(n, 10_000);
    });
    const sent = values(written);
    expect(sent).toHaveLength(51);
    expect([sent[0], sent.at(-1)]).toEqual([1, 10_000]);
    expect("result" in (written.at(-1) as Message)).toBe(true);
  });

  it("goes on in every second, with the newest value of those held back", async () => {
    const written = await run(async (report) => {
      for (let second = 0; second < 3; second++) {
        for (let n = 1; n <= 100; n++) await report(second * 100 + n);
        await vi.advanceTimersByTimeAsync(1_000);
      }
    });
    const sent = values(written);
    expect(sent.length).toBeLessThanOrEqual(3 * 50 + 3);
    expect(sent).toContain(100);
    expect(sent).toContain(200);
    expect(sent.at(-1)).toBe(300);
  });

  it("strictly grows, whatever is reported", async () => {
    const numbers = fc.array(fc.oneof(fc.double(), fc.integer({ min: -5, max: 60 })), { maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(numbers, async (reported) => {
        const sent = values(
          await run(async (report) => {
            for (const value of reported) await report(value);
          }),
        );
        for (let at = 1; at < sent.length; at++) expect(sent[at]).toBeGreaterThan(sent[at - 1] as number);
        // JSON has no negative zero.
        const finite = reported.filter(Number.isFinite).map((value) => value + 0);
        expect(sent[0]).toBe(finite[0]);
        if (finite.length > 0) expect(sent.at(-1)).toBe(Math.max(...finite));
      }),
      { numRuns: 60 },
    );
  });

  it("is not sent to who brought no token, and never after the answer", async () => {
    let late: Promise<void> | undefined;
    const written = await run(async (report) => {
      await report(1);
      late = vi.advanceTimersByTimeAsync(10).then(() => report(2));
    });
    await late;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(values(written)).toEqual([1]);
    for (const token of [null, 1.5, {}] as const) expect(await run((report) => report(1), token)).toHaveLength(1);
  });

  it("keeps pace with a reader that is behind", async () => {
    const server = new Server({ name: "s", version: "1" });
    let reported = 0;
    server.tool("work", {
      async run(_args, ctx) {
        for (let n = 1; n <= 5; n++) {
          await ctx.progress(n);
          reported = n;
        }
        return "done";
      },
    });
    const peer = serveStub(server);
    peer.fallBehind();
    peer.send({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "work", _meta: envelope({}, { progressToken: 1 }) },
    });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(reported).toBe(0);
    await peer.catchUp();
    await peer.answer(1);
    expect(reported).toBe(5);
  });
});
