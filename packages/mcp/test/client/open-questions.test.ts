// A call whose question nobody answers: it ends when its caller says so, in time, and with the client, in every revision.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Elicit } from "../../src/client/options.js";
import type { Client } from "../../src/client/client.js";
import { OpenQuestions } from "../../src/client/questions.js";
import { Stop } from "../../src/jsonrpc/outgoing.js";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";
import { start } from "../http/http-fixture.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function asking(): Server {
  const server = new Server({ name: "asking", version: "1", report: false });
  server.tool("ask", {
    run: async (_, ctx) => (await ctx.elicit({ message: "?", schema: { yes: { type: "boolean" } } })).action,
  });
  return server;
}

/** How a call ends, and with which code. */
const ENDS: Readonly<Record<string, (client: Client, asked: Promise<void>) => Promise<unknown>>> = {
  async CANCELLED(client, asked) {
    const stop = new AbortController();
    void asked.then(() => stop.abort());
    return client.call("ask", {}, { signal: stop.signal });
  },
  async TIMEOUT(client, asked) {
    let isAsked = false;
    void asked.then(() => (isAsked = true));
    // On a busy machine the question comes later than the first of them ends.
    for (let timeoutMs = 100; ; timeoutMs *= 4) {
      const call = client.call("ask", {}, { timeoutMs, maxTimeoutMs: 2 * timeoutMs });
      const outcome = await call.catch((error: unknown) => error);
      if (isAsked || timeoutMs > 10_000) throw outcome;
    }
  },
  CLOSED(client, asked) {
    void asked.then(() => client.close());
    return client.call("ask");
  },
};
const PLACES: Readonly<Record<string, (server: Server) => Promise<Server | string>>> = {
  memory: (server) => Promise.resolve(server),
  http: async (server) => (await start(server)).url,
};

it.each(
  Object.keys(ENDS).flatMap((code) =>
    Object.keys(PLACES).flatMap((place) =>
      ["2025-11-25", "2026-07-28"].flatMap((revision) =>
        [true, false].map((heeds) => ({ code, place, revision, heeds })),
      ),
    ),
  ),
)("ends with $code over $place in $revision, whether who is asked heeds the signal ($heeds)", async (given) => {
  const { code, place, revision, heeds } = given;
  let [told, open] = [false, (): void => undefined];
  const asked = new Promise<void>((resolve) => (open = resolve));
  const elicit: Elicit = (_, { signal }) =>
    new Promise((resolve) => {
      open();
      signal.addEventListener("abort", () => {
        told = true;
        if (heeds) resolve({ action: "cancel" });
      });
    });
  const client = await connect(await (PLACES[place] as (server: Server) => Promise<Server | string>)(asking()), {
    revision,
    elicit,
    verdicts: false,
  });
  closing.push(() => client.close());
  await expect((ENDS[code] as (typeof ENDS)[string])(client, asked)).rejects.toMatchObject({ code });
  // Over HTTP in a session the server's word would come by the stream that ended with the call.
  if (code === "CLOSED" || place === "memory" || revision === "2026-07-28") await expect.poll(() => told).toBe(true);
});

it.each(Object.keys(PLACES).flatMap((place) => ["2025-11-25", "2026-07-28"].map((revision) => ({ place, revision }))))(
  "many at once over $place in $revision, ended by one signal, leave no warning of a leak",
  async ({ place, revision }) => {
    const warned: Error[] = [];
    const hear = (warning: Error): void => void warned.push(warning);
    process.on("warning", hear);
    closing.push(async () => process.off("warning", hear));
    const stop = new AbortController();
    let asked = 0;
    const elicit = (): Promise<never> => {
      if (++asked === 20) stop.abort();
      return new Promise(() => undefined);
    };
    const client = await connect(await (PLACES[place] as (server: Server) => Promise<Server | string>)(asking()), {
      revision,
      elicit,
    });
    closing.push(() => client.close());
    const calls = Array.from({ length: 20 }, () => client.call("ask", {}, { signal: stop.signal }));
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CANCELLED" } });
    // Node tells of them a turn later.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warned).toEqual([]);
  },
);

it("answers a hundred questions that are open at once", async () => {
  const server = new Server({ name: "asking", version: "1", report: false });
  const question = { message: "?", schema: { yes: { type: "boolean" } } } as const;
  server.tool("many", {
    async run(_, ctx) {
      const asked = await Promise.all(Array.from({ length: 100 }, () => ctx.elicit(question)));
      return `${asked.filter(({ action }) => action === "accept").length} accepted`;
    },
  });
  let [waiting, open] = [0, (): void => undefined];
  const opened = new Promise<void>((resolve) => (open = resolve));
  const elicit: Elicit = async () => {
    if (++waiting === 100) open();
    await opened;
    return { action: "accept", content: { yes: true } };
  };
  const client = await connect((await start(server)).url, { revision: "2025-11-25", elicit, verdicts: false });
  closing.push(() => client.close());
  expect((await client.call("many")).content).toEqual([{ type: "text", text: "100 accepted" }]);
});

describe("questions that share a timer", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  const closing = new AbortController().signal;
  /** As no test beside this waits: theirs would share a timer of the real clock with these. */
  const LONG = 1_037;

  interface Asked {
    readonly open: OpenQuestions;
    readonly answer: () => void;
    /** When it ended, in milliseconds from the start, and how; empty while it is open. */
    readonly ended: string[];
  }

  function ask(withinMs: number, call: { readonly stop?: Stop } = {}): Asked {
    const ended: string[] = [];
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const open = new OpenQuestions({ call, closing, withinMs });
    const note = (how: string): void => void ended.push(`${how} at ${Math.round(performance.now() - began)}`);
    open.until(answered).then(
      () => note("answered"),
      (error: unknown) => note((error as { readonly code: string }).code),
    );
    return { open, answer, ended };
  }
  let began = 0;
  beforeEach(() => (began = performance.now()));
  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

  it("each ends in its own time, whatever became of those before it", async () => {
    const first = ask(LONG);
    await pass(300);
    const second = ask(LONG);
    const other = ask(403);
    await pass(100);
    const third = ask(LONG);
    first.answer();
    await pass(100);
    third.answer();
    await pass(3_000);
    expect([first, second, third, other].map(({ ended }) => ended)).toEqual([
      ["answered at 400"],
      [`TIMEOUT at ${300 + LONG}`],
      ["answered at 500"],
      ["TIMEOUT at 703"],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("one that is asked when all before it have ended ends as well", async () => {
    ask(LONG).answer();
    await pass(10);
    expect(vi.getTimerCount()).toBe(0);
    const again = ask(LONG);
    await pass(2_000);
    const late = ask(LONG);
    await pass(2_000);
    expect([again.ended, late.ended]).toEqual([[`TIMEOUT at ${10 + LONG}`], [`TIMEOUT at ${2_010 + LONG}`]]);
  });

  it("one that is stopped, or asked when another ends, changes nothing for the rest", async () => {
    const stop = new Stop();
    const [stopped, first, second] = [ask(LONG, { stop }), ask(LONG), ask(LONG)];
    let more: Asked | undefined;
    first.open.stop.listen({ stopped: () => void (more = ask(LONG)) });
    await pass(500);
    stop.stop("enough");
    await pass(2_000);
    expect([stopped, first, second, more].map((each) => each?.ended)).toEqual([
      ["CANCELLED at 500"],
      [`TIMEOUT at ${LONG}`],
      [`TIMEOUT at ${LONG}`],
      [`TIMEOUT at ${2 * LONG}`],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("those behind one whose end cannot be told end all the same", async () => {
    const [first, second] = [ask(LONG), ask(LONG)];
    const failure = new Error("no listener");
    first.open.stop.listen({
      stopped() {
        throw failure;
      },
    });
    await pass(500);
    const third = ask(LONG);
    await expect(pass(700)).rejects.toBe(failure);
    await pass(2_000);
    const after = ask(LONG);
    await pass(2_000);
    expect([first, second, third].map(({ ended }) => ended[0]?.split(" ")[0])).toEqual(Array(3).fill("TIMEOUT"));
    expect(third.ended).toEqual([`TIMEOUT at ${500 + LONG}`]);
    expect(after.ended).toHaveLength(1);
  });

  it("waits for as long as a timer can, and without an end where none is given", async () => {
    const longest = 2 ** 31 - 1;
    const now = vi.spyOn(performance, "now").mockReturnValue(began + 0.25);
    const timers = vi.spyOn(globalThis, "setTimeout");
    const [long, endless] = [ask(longest), ask(Infinity)];
    now.mockRestore();
    expect(timers.mock.calls.map(([, delay]) => delay)).toEqual([longest]);
    timers.mockRestore();
    await pass(60_000);
    expect([long.ended, endless.ended]).toEqual([[], []]);
    await pass(longest);
    expect(long.ended).toHaveLength(1);
    expect(endless.ended).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
