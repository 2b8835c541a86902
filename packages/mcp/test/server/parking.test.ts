import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { aesSeal, type Seal, Server, type ServerOptions } from "@secure-local/mcp/server";
import { type Message, serveStub, stateless, turns } from "../support/stub-transport.js";

const CAN = { elicitation: {} };
const YES = { "ask-1": { action: "accept", content: { sure: true } } };
const NO = { "ask-1": { action: "accept", content: { sure: false } } };

/** A server with tools that ask, and a count of how often each handler was started and ended. */
function asking(options: Partial<ServerOptions> = {}) {
  const server = new Server({ name: "asking", version: "1.0.0", ...options });
  const count = { started: 0, ended: 0 };
  for (const [name, replay] of [
    ["ask", false],
    ["ask_again", true],
  ] as const) {
    server.tool(name, {
      input: { type: "object", properties: { n: { type: "integer" } } },
      replay,
      async run({ n }, ctx) {
        count.started++;
        const { content } = await ctx.elicit({ message: `Sure about ${n}?`, schema: { sure: { type: "boolean" } } });
        count.ended++;
        return `${n}: ${content?.sure}`;
      },
    });
  }
  server.tool("endless", {
    async run(_args, ctx) {
      for (;;) await ctx.elicit({ message: "Again?", schema: { sure: { type: "boolean" } } });
    },
  });
  return { server, count };
}

type Peer = ReturnType<typeof serveStub>;
let ids = 0;

async function call(peer: Peer, params: Message, method = "tools/call"): Promise<Message> {
  const id = ++ids;
  peer.send(stateless(id, method, params, CAN));
  return peer.answer(id);
}

const resultOf = (answer: Message): Message => answer["result"] as Message;
const stateOf = (answer: Message): string => resultOf(answer)["requestState"] as string;
const textOf = (answer: Message): string => (resultOf(answer)["content"] as { text: string }[])[0]?.text ?? "";
const errorOf = (answer: Message): { code: number; message: string } =>
  answer["error"] as { code: number; message: string };

async function ask(peer: Peer, name = "ask", n = 1) {
  const params = { name, arguments: { n } };
  const requestState = stateOf(await call(peer, params));
  return (inputResponses: Message, more: Message = {}) =>
    call(peer, { ...params, inputResponses, requestState, ...more });
}

/** The calls, from now on, whose end a parked handler wants to be told of. */
function servedCalls(server: Server): ReadonlySet<unknown> {
  const served = new Set<unknown>();
  server.use((call, next) => {
    const listen = call.whenCancelled;
    call.whenCancelled = (listener) => {
      served.add(call);
      listen.call(call, listener);
    };
    return next();
  });
  return served;
}

/** Opens states in the order they come: by itself the thread pool may be done with a later one first. */
function inOrder(seal: Seal): Seal {
  let before: Promise<unknown> = Promise.resolve();
  return {
    seal: (text) => seal.seal(text),
    open(sealed) {
      const opened = before.then(() => seal.open(sealed));
      before = opened;
      return opened;
    },
  };
}

describe("a parked handler", () => {
  it("asks in the next round what it asks while the state of this one is sealed", async () => {
    const seal = aesSeal();
    let more = (): void => undefined;
    const sealing = new Promise<void>((resolve) => (more = resolve));
    const slow: Seal = {
      open: (sealed) => seal.open(sealed),
      async seal(text) {
        more();
        // Until the timer of what is asked meanwhile would have fired.
        await new Promise((resolve) => setTimeout(resolve, 5));
        return seal.seal(text);
      },
    };
    const { server } = asking({ seal: slow });
    server.tool("two", {
      async run(_args, ctx) {
        const one = (message: string) => ctx.elicit({ message, schema: { v: { type: "string" } } });
        const both = await Promise.all([one("first"), sealing.then(() => one("second"))]);
        return both.map(({ content }) => content?.["v"]).join(" ");
      },
    });
    const peer = serveStub(server);
    const params = { name: "two", arguments: {} };
    let answer = await call(peer, params);
    for (const [key, v] of [
      ["ask-1", "one"],
      ["ask-2", "two"],
    ] as const) {
      expect(Object.keys(resultOf(answer)["inputRequests"] as Message)).toEqual([key]);
      const inputResponses = { [key]: { action: "accept", content: { v } } };
      answer = await call(peer, { ...params, inputResponses, requestState: stateOf(answer) });
    }
    expect(textOf(answer)).toBe("one two");
  });

  it("runs once, whatever the number of its rounds (M44)", async () => {
    const { server, count } = asking();
    const retry = await ask(serveStub(server));
    expect(textOf(await retry(YES))).toBe("1: true");
    expect(count).toEqual({ started: 1, ended: 1 });
  });

  it("is found again over another connection: the table belongs to the server (M05)", async () => {
    const { server, count } = asking();
    const params = { name: "ask", arguments: { n: 2 } };
    const requestState = stateOf(await call(serveStub(server, "ada"), params));
    const answer = await call(serveStub(server, "ada"), { ...params, requestState, inputResponses: YES });
    expect(textOf(answer)).toBe("2: true");
    expect(count.started).toBe(1);
  });

  it("is bound to who asked: another caller gets nothing (M46)", async () => {
    const { server, count } = asking();
    const params = { name: "ask", arguments: { n: 1 } };
    const requestState = stateOf(await call(serveStub(server, "ada"), params));
    for (const other of ["eve", undefined]) {
      const answer = await call(serveStub(server, other), { ...params, requestState, inputResponses: YES });
      expect(errorOf(answer)).toMatchObject({ code: -32602, message: "params.requestState belongs to another caller" });
    }
    expect(count.ended).toBe(0);
  });

  it("is bound to the very request, but not to the order of its keys (M46)", async () => {
    const { server } = asking();
    const peer = serveStub(server);
    const retry = await ask(peer);
    for (const other of [{ arguments: { n: 2 } }, { name: "ask_again" }, { arguments: {} }]) {
      expect(errorOf(await retry(YES, other)).message).toContain("belongs to another request");
    }
    const answer = await retry(YES, { name: "ask" });
    expect(textOf(answer)).toBe("1: true");
  });

  it("gives a used state its answer again, and only to the same answers", async () => {
    const { server, count } = asking({ seal: inOrder(aesSeal()) });
    const retry = await ask(serveStub(server));
    const both = await Promise.all([retry(YES), retry(YES), retry(NO)]);
    expect(both.map((answer) => ("error" in answer ? errorOf(answer).code : textOf(answer)))).toEqual([
      "1: true",
      "1: true",
      -32602,
    ]);
    expect(textOf(await retry(YES))).toBe("1: true");
    expect(count).toEqual({ started: 1, ended: 1 });
  });

  describe("whose retry came twice at once", () => {
    const cancel = (peer: Peer, id: unknown): void =>
      peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });

    /** A handler that goes on until it is let go, looks at its signal and asks once more; and both retries, in service. */
    async function twice(first: "at once" | "while it runs") {
      const server = new Server({ name: "asking", version: "1.0.0", seal: inOrder(aesSeal()) });
      const seen = { running: 0, aborted: 0 };
      let goOn = (): void => undefined;
      const letGo = new Promise<void>((resolve) => (goOn = resolve));
      server.tool("ask", {
        async run(_args, ctx) {
          await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
          const { signal } = ctx;
          signal.addEventListener("abort", () => seen.aborted++);
          seen.running++;
          await letGo;
          signal.throwIfAborted();
          const { content } = await ctx.elicit({ message: "Really?", schema: { sure: { type: "boolean" } } });
          return `${content?.sure}`;
        },
      });
      const peer = serveStub(server);
      const params = { name: "ask", arguments: {} };
      const requestState = stateOf(await call(peer, params));
      const retry = { ...params, requestState, inputResponses: YES };
      const both = [++ids, ++ids] as const;
      const served = servedCalls(server);
      const running = (): Promise<void> => vi.waitFor(() => expect(seen.running).toBe(1), { timeout: 10_000 });
      peer.send(stateless(both[0], "tools/call", retry, CAN));
      if (first === "while it runs") await running();
      peer.send(stateless(both[1], "tools/call", retry, CAN));
      await running();
      await vi.waitFor(() => expect(served.size).toBe(2), { timeout: 10_000 });
      return { peer, params, both, seen, goOn };
    }

    const WHEN = ["at once", "while it runs"] as const;
    it.each(WHEN.flatMap((when) => ([0, 1] as const).map((dies) => [when, dies] as const)))(
      "goes on for the one that lives (the second comes %s, number %i dies)",
      async (when, dies) => {
        const { peer, params, both, seen, goOn } = await twice(when);
        cancel(peer, both[dies]);
        goOn();
        const requestState = stateOf(await peer.answer(both[1 - dies]));
        const inputResponses = { "ask-2": { action: "accept", content: { sure: true } } };
        expect(textOf(await call(peer, { ...params, requestState, inputResponses }))).toBe("true");
        expect(seen).toEqual({ running: 1, aborted: 0 });
        expect(peer.written.filter(({ id }) => id === both[dies])).toEqual([]);
      },
    );

    it.each([
      [0, 1],
      [1, 0],
    ])("is given up when both die, whichever is the first (%i, %i)", async (...order) => {
      const { peer, both, seen } = await twice("at once");
      for (const [number, aborted] of [
        [order[0], 0],
        [order[1], 1],
      ] as const) {
        cancel(peer, both[number as 0 | 1]);
        await turns();
        expect(seen.aborted).toBe(aborted);
      }
    });

    it("goes on for a second one where the first died before it was read", async () => {
      const seal = aesSeal();
      let opened = (): void => undefined;
      const reading = new Promise<void>((resolve) => (opened = resolve));
      const slow: Seal = { seal: (text) => seal.seal(text), open: (sealed) => reading.then(() => seal.open(sealed)) };
      const peer = serveStub(asking({ seal: slow }).server);
      const params = { name: "ask", arguments: { n: 1 } };
      const retry = { ...params, requestState: stateOf(await call(peer, params)), inputResponses: YES };
      const [dead, living] = [++ids, ++ids];
      for (const id of [dead, living]) peer.send(stateless(id, "tools/call", retry, CAN));
      cancel(peer, dead);
      opened();
      expect(textOf(await peer.answer(living))).toBe("1: true");
    });
  });

  it("keeps its answer no longer than there is room for it", async () => {
    const server = new Server({ name: "s", version: "1", limits: { parkedBytes: 5_000 } });
    server.tool("long", {
      input: { type: "object" },
      async run(_args, ctx) {
        await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
        return "x".repeat(3_000);
      },
    });
    const peer = serveStub(server);
    const waiting = await ask(peer, "long", 0);
    const first = await ask(peer, "long", 1);
    expect(textOf(await first(YES))).toHaveLength(3_000);
    expect(textOf(await first(YES))).toHaveLength(3_000);
    const second = await ask(peer, "long", 2);
    expect(textOf(await second(YES))).toHaveLength(3_000);
    expect(errorOf(await first(YES)).message).toContain("no longer has");
    for (const retry of [second, waiting]) expect(textOf(await retry(YES))).toHaveLength(3_000);
  });

  it("is given up when it is not asked for in time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    try {
      const { server, count } = asking({ limits: { parkedMs: 1_000 } });
      const peer = serveStub(server);
      const id = ++ids;
      peer.send(stateless(id, "tools/call", { name: "ask", arguments: { n: 1 } }, CAN));
      await vi.advanceTimersByTimeAsync(0);
      const requestState = stateOf(await peer.answer(id));
      await vi.advanceTimersByTimeAsync(1_001);
      const answer = await call(peer, { name: "ask", arguments: { n: 1 }, inputResponses: YES, requestState });
      expect(errorOf(answer).message).toBe(
        "params.requestState has expired, and whether the call did its work is not known: look, before you make it again without it",
      );
      expect(count).toEqual({ started: 1, ended: 0 });
    } finally {
      vi.useRealTimers();
    }
  });

  it("is given up in its own time, whatever was parked before it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    try {
      const server = new Server({ name: "asking", version: "1.0.0", limits: { parkedMs: 1_000 } });
      const givenUp: unknown[] = [];
      server.tool("ask", {
        input: { type: "object", properties: { n: { type: "integer" } } },
        run: ({ n }, ctx) =>
          ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } }).then(
            () => "answered",
            () => `${givenUp.push(n)}`,
          ),
      });
      const peer = serveStub(server);
      const park = async (n: number): Promise<void> => {
        const id = ++ids;
        peer.send(stateless(id, "tools/call", { name: "ask", arguments: { n } }, CAN));
        await vi.advanceTimersByTimeAsync(0);
        await peer.answer(id);
      };
      await park(1);
      await vi.advanceTimersByTimeAsync(600);
      await park(2);
      await vi.advanceTimersByTimeAsync(402);
      expect(givenUp).toEqual([1]);
      await vi.advanceTimersByTimeAsync(600);
      expect(givenUp).toEqual([1, 2]);
      await park(3);
      await vi.advanceTimersByTimeAsync(1_001);
      expect(givenUp).toEqual([1, 2, 3]);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([2 ** 31 - 1, 2 ** 31, 30 * 86_400_000])(
    "may wait for %i ms, in timers that are not too long",
    async (parkedMs) => {
      const { server } = asking({ limits: { parkedMs } });
      const armed = vi.spyOn(globalThis, "setTimeout");
      try {
        await ask(serveStub(server));
        const longest = Math.max(...armed.mock.calls.map(([, ms]) => ms ?? 0));
        expect(longest).toBe(2 ** 31 - 1);
      } finally {
        armed.mockRestore();
      }
    },
  );

  it("makes place for new ones: the oldest is given up", async () => {
    const { server, count } = asking({ limits: { parked: 2 } });
    const peer = serveStub(server);
    const retries = [await ask(peer, "ask", 1), await ask(peer, "ask", 2), await ask(peer, "ask", 3)];
    const answers = [];
    for (const retry of retries) answers.push(await retry(YES));
    expect(errorOf(answers[0] as Message).message).toContain("belongs to a call this server no longer has");
    expect(answers.slice(1).map((answer) => textOf(answer))).toEqual(["2: true", "3: true"]);
    expect(count).toEqual({ started: 3, ended: 2 });
  });

  it("stays when there is an answered one to give up instead", async () => {
    const { server } = asking({ limits: { parked: 2 } });
    const peer = serveStub(server);
    const waiting = await ask(peer, "ask", 1);
    const answered = await ask(peer, "ask", 2);
    await answered(YES);
    await ask(peer, "ask", 3);
    expect(textOf(await waiting(YES))).toBe("1: true");
    expect(errorOf(await answered(YES)).message).toContain("belongs to a call this server no longer has");
  });

  it("may ask a bounded number of rounds", async () => {
    const { server } = asking({ limits: { rounds: 3 } });
    const peer = serveStub(server);
    let answer = await call(peer, { name: "endless" });
    for (let round = 1; round <= 3; round++) {
      const inputResponses = { [`ask-${round}`]: { action: "accept", content: { sure: true } } };
      answer = await call(peer, { name: "endless", inputResponses, requestState: stateOf(answer) });
    }
    expect(errorOf(answer)).toMatchObject({ code: -32603, message: "This call asked more than 3 rounds of questions" });
  });

  it("asks nothing again of a retry that no longer declares the capability (M47)", async () => {
    const peer = serveStub(asking().server);
    const params = { name: "ask", arguments: { n: 1 } };
    const requestState = stateOf(await call(peer, params));
    peer.send(stateless("bare", "tools/call", { ...params, requestState, inputResponses: {} }));
    expect(errorOf(await peer.answer("bare"))).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: {} } },
    });
  });

  it("ends when its request is cancelled while it runs", async () => {
    const { server } = asking();
    let waiting = false;
    let aborted = false;
    server.tool("slow", {
      async run(_args, ctx) {
        await ctx.elicit({ message: "Go on?", schema: { sure: { type: "boolean" } } });
        await new Promise<void>((resolve) => {
          ctx.signal.addEventListener("abort", () => resolve());
          waiting = true;
        });
        aborted = true;
        return "too late";
      },
    });
    const peer = serveStub(server);
    const requestState = stateOf(await call(peer, { name: "slow" }));
    const id = ++ids;
    peer.send(stateless(id, "tools/call", { name: "slow", inputResponses: YES, requestState }, CAN));
    await vi.waitFor(() => expect(waiting).toBe(true), { timeout: 10_000 });
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    await vi.waitFor(() => expect(aborted).toBe(true), { timeout: 10_000 });
    await turns();
    expect(peer.written.filter((message) => message["id"] === id)).toEqual([]);
  });
});

describe("a handler that is gone", () => {
  const sealKey = (): Uint8Array<ArrayBuffer> => new Uint8Array(randomBytes(32));

  it("is run again with the answers so far when it is safe to, also after a restart with the same key", async () => {
    const key = sealKey();
    const before = asking({ seal: aesSeal(key) });
    const after = asking({ seal: aesSeal(key) });
    const params = { name: "ask_again", arguments: { n: 7 } };
    const requestState = stateOf(await call(serveStub(before.server), params));
    const answer = await call(serveStub(after.server), { ...params, requestState, inputResponses: YES });
    expect(textOf(answer)).toBe("7: true");
    expect(after.count).toEqual({ started: 1, ended: 1 });
  });

  it("is not run again when that is not safe, and the client is told so", async () => {
    const key = sealKey();
    const params = { name: "ask", arguments: { n: 7 } };
    const requestState = stateOf(await call(serveStub(asking({ seal: aesSeal(key) }).server), params));
    const after = asking({ seal: aesSeal(key) });
    const answer = await call(serveStub(after.server), { ...params, requestState, inputResponses: YES });
    expect(errorOf(answer).message).toContain("look, before you make it again without it");
    expect(after.count.started).toBe(0);
  });

  it("is unknown to a process with another key", async () => {
    const params = { name: "ask_again", arguments: { n: 7 } };
    const requestState = stateOf(await call(serveStub(asking().server), params));
    const answer = await call(serveStub(asking().server), { ...params, requestState, inputResponses: YES });
    expect(errorOf(answer).message).toContain("is not one this server made");
  });

  it("is safe to run again when its annotations say so", async () => {
    const key = sealKey();
    const make = (): Server => {
      const server = new Server({ name: "s", version: "1", seal: aesSeal(key) });
      const run = async (_args: unknown, ctx: import("@secure-local/mcp/server").Context): Promise<string> => {
        const first = await ctx.elicit({ message: "One?", schema: { a: { type: "string" } } });
        const second = await ctx.elicit({ message: "Two?", schema: { b: { type: "string" } } });
        return `${first.content?.a}${second.content?.b}`;
      };
      server.tool("read_only", { annotations: { readOnlyHint: true }, run });
      server.tool("idempotent", { annotations: { idempotentHint: true }, run });
      server.tool("neither", { annotations: { destructiveHint: false }, run });
      return server;
    };
    for (const [name, expected] of [
      ["read_only", "xy"],
      ["idempotent", "xy"],
      ["neither", undefined],
    ] as const) {
      const peers = [serveStub(make()), serveStub(make()), serveStub(make())] as const;
      const first = stateOf(await call(peers[0], { name }));
      const one = { "ask-1": { action: "accept", content: { a: "x" } } };
      const again = await call(peers[1], { name, requestState: first, inputResponses: one });
      if (expected === undefined) {
        expect(errorOf(again).code).toBe(-32602);
        continue;
      }
      const two = { "ask-2": { action: "accept", content: { b: "y" } } };
      expect(textOf(await call(peers[2], { name, requestState: stateOf(again), inputResponses: two }))).toBe(expected);
    }
  });
});

describe("states", () => {
  it("are refused over their size", async () => {
    const { server } = asking({ limits: { stateCharacters: 200 } });
    const answer = await call(serveStub(server), { name: "ask", arguments: { n: 1 } });
    expect(errorOf(answer)).toMatchObject({ code: -32603, message: "The state of this call is over 200 characters" });
  });

  it("carry answers only where a replay may need them", async () => {
    const server = new Server({ name: "s", version: "1", limits: { stateCharacters: 2_000 } });
    for (const replay of [false, true]) {
      server.tool(`replay ${replay}`.replace(" ", "_"), {
        replay,
        async run(_args, ctx) {
          for (const message of ["One?", "Two?"]) await ctx.elicit({ message, schema: { a: { type: "string" } } });
          return "done";
        },
      });
    }
    const peer = serveStub(server);
    const long = { "ask-1": { action: "accept", content: { a: "x".repeat(5_000) } } };
    for (const name of ["replay_false", "replay_true"]) {
      const requestState = stateOf(await call(peer, { name }));
      const next = await call(peer, { name, requestState, inputResponses: long });
      if (name === "replay_true") expect(errorOf(next).message).toContain("over 2000 characters");
      else expect(stateOf(next).length).toBeLessThan(2_000);
    }
  });

  it("say nothing to who carries them", async () => {
    const { server } = asking();
    const state = stateOf(await call(serveStub(server, "ada"), { name: "ask", arguments: { n: 1 } }));
    expect(Buffer.from(state.slice(3), "base64").toString("latin1")).not.toMatch(/ada|principal|ask|round/);
  });
});
