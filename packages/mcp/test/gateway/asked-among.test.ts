// A question that names no call, with several calls of one client under way: of a session it is open until the last of them is over; of a
// client without one it waits until it is known whose it is, and from then on such calls are alone on their connections.
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions, QuestionContext } from "../../src/client/options.js";
import type { Gateway } from "../../src/gateway/gateway.js";
import { connect } from "../../src/serve/connect-node.js";
import { Context } from "../../src/server/context.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";
import { Stage } from "./stage.js";

const stage = new Stage();
afterEach(async () => {
  vi.useRealTimers();
  await stage.close();
});

class Gate {
  open!: () => void;
  readonly opened: Promise<void> = new Promise((resolve) => (this.open = resolve));
}

/** A server of sessions in this program, whose `ask` and `wait` go on when their gates are opened; how it was opened and what it asked. */
class Upstream {
  readonly gates: Record<string, Gate> = {};
  readonly outcomes: string[] = [];
  opened = 0;
  /** Questions that have come to the gateway. */
  arrived = 0;
  /** Calls that have begun. */
  readonly begun = new Set<string>();

  gate(tag: string): Gate {
    return (this.gates[tag] ??= new Gate());
  }

  async begins(tag: string): Promise<void> {
    await expect.poll(() => this.begun.has(tag)).toBe(true);
  }

  server(): Server {
    const server = new Server({ name: "up", version: "1", report: false });
    const input = { type: "object", properties: { tag: { type: "string" } }, required: ["tag"] } as const;
    server.tool("ask", {
      input,
      run: async ({ tag }, ctx) => {
        this.begun.add(tag);
        await this.gate(tag).opened;
        const back = new AbortController();
        void this.gate(`${tag} taken back`).opened.then(() => back.abort());
        const asked = ctx.elicit({ message: tag, schema: { by: { type: "string" } } }, { signal: back.signal });
        const text = await asked.then(
          ({ action, content }) => `${tag}: ${action} ${content?.by}`,
          (error: unknown) => `${tag}: refused ${(error as Error).message}`,
        );
        this.outcomes.push(text);
        return text;
      },
    });
    server.tool("wait", {
      input,
      run: async ({ tag }, ctx) => {
        this.begun.add(tag);
        const gone = new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        await Promise.race([this.gate(tag).opened, gone]);
        return "done";
      },
    });
    return server;
  }

  open = (options: ClientOptions): Promise<Client> => {
    this.opened++;
    const { elicit } = options;
    const counted: ClientOptions["elicit"] = (request, context) => {
      this.arrived++;
      return elicit?.(request, context) ?? { action: "cancel" };
    };
    // Each connection is to a server of its own, as to a process.
    return connect(this.server(), {
      ...options,
      ...(elicit === undefined ? {} : { elicit: counted }),
      revision: "2025-11-25",
      verdicts: false,
    });
  };
}

/** A question that is open with its person. */
interface Open {
  readonly message: string;
  readonly about: QuestionContext;
  answer(): void;
}

async function mounted(): Promise<{ up: Upstream; gateway: Gateway }> {
  const up = new Upstream();
  const gateway = stage.gateway({ report: false });
  await gateway.mount("up", up.open, { prefix: "", timeoutMs: 60_000 });
  // One was opened to read its lists.
  up.opened = 0;
  return { up, gateway };
}

async function person(target: string | Gateway, revision: string, options: ClientOptions = {}) {
  const open: Open[] = [];
  const client = await stage.client(target, {
    revision,
    elicit: ({ message }, about) =>
      new Promise((resolve) => {
        const answer = (): void => resolve({ action: "accept", content: { by: "Ada" } });
        open.push({ message, about, answer });
      }),
    ...options,
  });
  const asked = async (count: number): Promise<Open> => {
    await expect.poll(() => open.length).toBe(count);
    return open.at(-1) as Open;
  };
  return { client, open, asked };
}

/** A call that can be cancelled; `ended` says how it did. */
function calling(client: Client, name: string, tag: string) {
  const stop = new AbortController();
  const ended = client
    .call(name, { tag }, { signal: stop.signal })
    .then(texts, (error: { code: string }) => error.code);
  return { cancel: () => stop.abort(), ended };
}

const WAYS: Readonly<Record<string, (gateway: Gateway) => Promise<string | Gateway>>> = {
  "one pipe": (gateway) => Promise.resolve(gateway),
  HTTP: (gateway) => stage.serve(gateway),
};

describe.each(Object.keys(WAYS))("in a session over %s", (way) => {
  /** Both calls are under way, in this order, when `ask` asks. */
  async function both(...names: readonly ("ask" | "wait")[]) {
    const { up, gateway } = await mounted();
    const target = await (WAYS[way] as (typeof WAYS)[string])(gateway);
    const { client, asked, open } = await person(target, "2025-11-25");
    const calls: Partial<Record<string, ReturnType<typeof calling>>> = {};
    for (const name of names) {
      calls[name] = calling(client, name, name);
      await up.begins(name);
    }
    up.gate("ask").open();
    const question = await asked(1);
    const [ask, wait] = [calls["ask"], calls["wait"]] as [ReturnType<typeof calling>, ReturnType<typeof calling>];
    return { up, question, ask, wait, open, client };
  }

  it.each([
    ["cancelled", ["ask", "wait"]],
    ["cancelled", ["wait", "ask"]],
    ["over", ["ask", "wait"]],
    ["over", ["wait", "ask"]],
  ] as const)("is good for the call that asks when another one is %s (%s)", async (how, order) => {
    const { up, question, ask, wait, open, client } = await both(...order);
    if (how === "cancelled") wait.cancel();
    else up.gate("wait").open();
    expect(await wait.ended).toBe(how === "cancelled" ? "CANCELLED" : "done");
    // Whatever was said of it has come before that.
    for (let twice = 0; twice < 2; twice++) await client.ping();
    expect(question.about.signal.aborted).toBe(false);
    question.answer();
    expect(await ask.ended).toBe("ask: accept Ada");
    expect(open).toHaveLength(1);
  });

  it.each([["ask", "wait"] as const, ["wait", "ask"] as const])(
    "is taken back when the last of them is cancelled (%s before %s)",
    async (...order) => {
      const { up, question, ask, wait } = await both(...order);
      wait.cancel();
      expect(await wait.ended).toBe("CANCELLED");
      expect(question.about.signal.aborted).toBe(false);
      ask.cancel();
      expect(await ask.ended).toBe("CANCELLED");
      await expect.poll(() => question.about.signal.aborted).toBe(true);
      await expect.poll(() => up.outcomes.length).toBe(1);
    },
  );

  it("is taken back when all are over, though the server says nothing of it, and the server gets an error", async () => {
    const gateway = stage.gateway({ report: false });
    const program = fileURLToPath(new URL("asking.mjs", import.meta.url));
    await gateway.mount("up", (options) => connect({ command: process.execPath, args: [program] }, options), {
      prefix: "",
    });
    const target = await (WAYS[way] as (typeof WAYS)[string])(gateway);
    const { client, asked } = await person(target, "2025-11-25");
    const ask = calling(client, "ask", "ask");
    const began = new Gate();
    const stop = new AbortController();
    const hold = client.call("hold", {}, { signal: stop.signal, onProgress: () => began.open() });
    await began.opened;
    const second = calling(client, "ask", "second");
    const question = await asked(2);
    expect(question.message).toBe("second");
    second.cancel();
    ask.cancel();
    expect(await Promise.all([ask.ended, second.ended])).toEqual(["CANCELLED", "CANCELLED"]);
    for (let twice = 0; twice < 2; twice++) await client.ping();
    expect(question.about.signal.aborted).toBe(false);
    stop.abort();
    await expect(hold).rejects.toMatchObject({ code: "CANCELLED" });
    await expect.poll(() => question.about.signal.aborted).toBe(true);
    await expect.poll(async () => texts(await client.call("ended"))).toContain("second -> refused");
  });
});

/** What an upstream asks, by the name it has for a handler. */
const QUESTIONS: Readonly<Record<string, (ctx: Context, signal: AbortSignal) => Promise<unknown>>> = {
  elicit: (ctx, signal) => ctx.elicit({ message: "who?", schema: { by: { type: "string" } } }, { signal }),
  sample: (ctx, signal) => ctx.sample({ messages: [], maxTokens: 1 }, { signal }),
  // By a server that keeps nothing of what it was told.
  roots: (ctx, signal) => Context.ask(ctx, "roots/list", {}, { signal }),
};

/** How its client deals with a question, given what takes the question back. */
const ENDS: Readonly<Record<string, (takeBack: () => void) => Promise<void>>> = {
  answered: () => Promise.resolve(),
  refused: () => Promise.reject(new Error("no")),
  "taken back": (takeBack) => new Promise(takeBack),
};

const KINDS = Object.keys(QUESTIONS).flatMap((kind) => Object.keys(ENDS).map((end) => [kind, end] as const));

describe("of a question that is settled while its calls go on", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;

  it.each(KINDS)("nothing is kept, and no call is listened to once more (%s, %s)", async (kind, end) => {
    let back = new AbortController();
    const server = new Server({ name: "up", version: "1", report: false });
    server.tool("ask", {
      async run(_args, ctx) {
        for (let n = 0; n < 20; n++) {
          back = new AbortController();
          await (QUESTIONS[kind] as (typeof QUESTIONS)[string])(ctx, back.signal).catch(() => undefined);
        }
        return "asked";
      },
    });
    const [waits, began] = [new Gate(), new Gate()];
    server.tool("wait", { run: () => (began.open(), waits.opened.then(() => "done")) });
    const gateway = stage.gateway({ report: false });
    const listeners: Record<string, number> = {};
    gateway.use((call, next) => {
      const { name } = call.params as { readonly name?: string };
      const listen = call.whenCancelled.bind(call);
      call.whenCancelled = (listener) => {
        listeners[String(name)] = (listeners[String(name)] ?? 0) + 1;
        listen(listener);
      };
      return next();
    });
    const asked: WeakRef<object>[] = [];
    const among: number[] = [];
    await gateway.mount("up", (options) => connect(server, { ...options, revision: "2025-11-25", verdicts: false }), {
      prefix: "",
      words: {
        question(question, pass) {
          among.push(question.among.length);
          asked.push(new WeakRef(question.among));
          return pass(question.params);
        },
      },
    });
    const settle = (): Promise<void> => (ENDS[end] as (typeof ENDS)[string])(() => back.abort());
    const client = await stage.client(gateway, {
      revision: "2025-11-25",
      elicit: () => settle().then(() => ({ action: "accept", content: { by: "Ada" } })),
      sample: () =>
        settle().then(() => ({ role: "assistant", content: { type: "text", text: "Ada" }, model: "none" }) as const),
      roots: () => settle().then(() => [{ uri: "file:///ada" }]),
    });
    const wait = client.call("wait", {});
    await began.opened;
    expect(texts(await client.call("ask", {}))).toBe("asked");
    expect(among).toEqual(Array.from({ length: 20 }, () => 2));
    const kept = (): number => asked.filter((each) => each.deref() !== undefined).length;
    for (let turns = 0; turns < 100 && kept() > 1; turns++) {
      await turn();
      collect();
    }
    // The last may be in a register.
    expect(kept()).toBeLessThanOrEqual(1);
    for (const name of ["ask", "wait"]) expect(listeners[name]).toBeLessThan(6);
    waits.open();
    expect(texts(await wait)).toBe("done");
  });
});

it("what is open with a person is taken back when something between has answered the server", async () => {
  const up = new Upstream();
  const gateway = stage.gateway({ report: false });
  const answered = new Gate();
  await gateway.mount("up", up.open, {
    prefix: "",
    words: {
      question: ({ params }, pass) => (void pass(params).catch(() => undefined), answered.opened.then(() => undefined)),
    },
  });
  const { client, asked } = await person(gateway, "2025-11-25");
  const [ask, wait] = [calling(client, "ask", "ask"), calling(client, "wait", "wait")];
  for (const tag of ["ask", "wait"]) await up.begins(tag);
  up.gate("ask").open();
  const { about } = await asked(1);
  expect(about.signal.aborted).toBe(false);
  answered.open();
  expect(await ask.ended).toBe("ask: cancel undefined");
  await expect.poll(() => about.signal.aborted).toBe(true);
  up.gate("wait").open();
  expect(await wait.ended).toBe("done");
});

/** Calls without sessions, of one client. */
describe.each(Object.keys(WAYS))("without a session over %s", (way) => {
  async function alone(answers = true) {
    const { up, gateway } = await mounted();
    const target = await (WAYS[way] as (typeof WAYS)[string])(gateway);
    const elicit: ClientOptions["elicit"] = () => ({ action: "accept", content: { by: "Ada" } });
    const { client, asked } = await person(target, "2026-07-28", answers ? { elicit } : {});
    /** Makes calls that are all under way before one of them asks. */
    const atOnce = async (...tags: string[]) => {
      const calls = tags.map((tag) => calling(client, "ask", tag));
      for (const tag of tags) await up.begins(tag);
      for (const tag of tags) up.gate(tag).open();
      return Promise.all(calls.map(({ ended }) => ended));
    };
    return { up, client, asked, atOnce, target };
  }

  it.each(["over", "cancelled"])(
    "it waits until the other call is over, and is refused where that may have asked (%s)",
    async (how) => {
      const { up, client, atOnce } = await alone();
      const wait = calling(client, "wait", "wait");
      const ask = calling(client, "ask", "ask");
      for (const tag of ["wait", "ask"]) await up.begins(tag);
      up.gate("ask").open();
      await expect.poll(() => up.arrived).toBe(1);
      expect(up.outcomes).toEqual([]);
      if (how === "over") up.gate("wait").open();
      else wait.cancel();
      expect(await ask.ended).toMatch(how === "over" ? "ask: accept Ada" : "Make the call again");
      expect(await wait.ended).toBe(how === "over" ? "done" : "CANCELLED");
      expect(await atOnce("again")).toEqual(["again: accept Ada"]);
    },
  );

  it("calls at once are each asked their own, from the second time on, and those refused before are told what to do", async () => {
    const { up, atOnce } = await alone();
    const first = await atOnce("1", "2", "3");
    expect(up.opened).toBe(1);
    expect(first.filter((text) => text.includes("accept Ada"))).toHaveLength(1);
    for (const text of first) expect(text).toMatch(/^\d: (?:accept Ada|refused .*Make the call again)/);
    const tags = ["4", "5", "6", "7"];
    expect(await atOnce(...tags)).toEqual(tags.map((tag) => `${tag}: accept Ada`));
    // The one that was there already is one of theirs.
    expect(up.opened).toBe(tags.length);
  });

  it("a call after one that was left while it was asked is asked as well", async () => {
    const { up, client, asked } = await alone(false);
    up.gate("left").open();
    const left = new AbortController();
    const abandoned = client
      .call("ask", { tag: "left" }, { signal: left.signal })
      .catch((error: { code: string }) => error.code);
    await asked(1);
    // It stays parked: its client does not come back, which nobody is told.
    left.abort();
    expect(await abandoned).toBe("CANCELLED");
    for (const [number, tag] of ["1", "2"].entries()) {
      up.gate(tag).open();
      const { ended } = calling(client, "ask", tag);
      (await asked(number + 2)).answer();
      expect(await ended).toBe(`${tag}: accept Ada`);
    }
    expect(up.outcomes).toEqual(["1: accept Ada", "2: accept Ada"]);
    expect(up.opened).toBe(2);
  });

  it("calls that are asked nothing share a connection, and so do calls one after another", async () => {
    const { up, client, atOnce } = await alone();
    const plain = ["a", "b", "c"].map((tag) => calling(client, "wait", tag));
    for (const tag of ["a", "b", "c"]) await up.begins(tag);
    for (const tag of ["a", "b", "c"]) up.gate(tag).open();
    await Promise.all(plain.map(({ ended }) => ended));
    for (const tag of ["1", "2", "3"]) expect(await atOnce(tag)).toEqual([`${tag}: accept Ada`]);
    expect(up.opened).toBe(1);
  });

  it("it waits for half a minute at most", async () => {
    const { up, client } = await alone();
    const wait = calling(client, "wait", "wait");
    const ask = calling(client, "ask", "ask");
    for (const tag of ["wait", "ask"]) await up.begins(tag);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    up.gate("ask").open();
    while (up.arrived === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(30_000);
    vi.useRealTimers();
    expect(await ask.ended).toMatch("Make the call again");
    up.gate("wait").open();
    expect(await wait.ended).toBe("done");
  });

  it("one that its server takes back waits no more", async () => {
    const { up, client } = await alone();
    const calls = ["wait", "ask", "other"].map((tag) => calling(client, tag === "wait" ? "wait" : "ask", tag));
    const [wait, ask, other] = calls as [(typeof calls)[0], (typeof calls)[0], (typeof calls)[0]];
    for (const tag of ["wait", "ask", "other"]) await up.begins(tag);
    up.gate("ask").open();
    await expect.poll(() => up.arrived).toBe(1);
    up.gate("ask taken back").open();
    expect(await ask.ended).toMatch(/^ask: refused/);
    up.gate("other").open();
    await expect.poll(() => up.arrived).toBe(2);
    up.gate("wait").open();
    expect(await Promise.all([wait.ended, other.ended])).toEqual(["done", "other: accept Ada"]);
  });
});
