// What is asked when nobody can be asked any more is refused at once with a sentence: after the call was answered, or was given up.
import { describe, expect, it, onTestFinished } from "vitest";
import { type Context, inputRequired, Server, type ServerOptions } from "@secure-local/mcp/server";
import { RpcError } from "@secure-local/mcp/client";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { connect } from "../../src/serve/connect.js";

const QUESTIONS: Readonly<Record<string, (ctx: Context) => Promise<unknown>>> = {
  elicit: (ctx) => ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } }),
  sample: (ctx) => ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "x" } }], maxTokens: 5 }),
  roots: (ctx) => ctx.roots(),
};

type Add = (server: Server, run: (ctx: Context) => string) => void;
const HANDLERS: readonly (readonly [string, Add, method: string, params: JsonObject])[] = [
  ["a tool", (server, run) => server.tool("t", { run: (_, ctx) => run(ctx) }), "tools/call", { name: "t" }],
  ["a prompt", (server, run) => server.prompt("p", { run: (_, ctx) => run(ctx) }), "prompts/get", { name: "p" }],
  ["a resource", (server, run) => server.resource("r://x", { read: run }), "resources/read", { uri: "r://x" }],
];

const CLIENT = {
  revision: "2026-07-28",
  elicit: () => ({ action: "accept" as const, content: { sure: true } }),
  sample: () => ({ role: "assistant" as const, model: "m", content: { type: "text" as const, text: "x" } }),
  roots: [{ uri: "file:///a" }],
};

describe.each(HANDLERS)("of %s that was answered", (_what, add, method, params) => {
  it.each(Object.entries(QUESTIONS))("%s is refused at once", async (_name, ask) => {
    const server = new Server({ name: "s", version: "1", report: false });
    let answered: Context | undefined;
    add(server, (ctx) => {
      answered = ctx;
      return "ok";
    });
    await using client = await connect(server, CLIENT);
    await client.request(method, params);
    await expect(ask(answered as Context)).rejects.toMatchObject({
      code: "EXPIRED",
      message: expect.stringContaining("await what is asked before the handler returns") as string,
    });
  });

  it.each(Object.entries(QUESTIONS))("%s is refused after other questions, too", async (_name, ask) => {
    const server = new Server({ name: "s", version: "1", report: false });
    let late: Promise<unknown> | undefined;
    server.tool("t", {
      run: async (_, ctx) => {
        await ctx.roots();
        setTimeout(() => {
          late = ask(ctx).catch((error: unknown) => error);
        }, 0);
        return "ok";
      },
    });
    await using client = await connect(server, CLIENT);
    await client.call("t");
    await expect.poll(() => late).toBeDefined();
    expect(await late).toMatchObject({ code: "EXPIRED" });
  });
});

it.each(Object.entries(QUESTIONS))("after the call was given up, %s is refused, too", async (_name, ask) => {
  const server = new Server({ name: "s", version: "1", report: false, limits: { parkedMs: 20 } });
  const errors: unknown[] = [];
  server.tool("t", {
    run: async (_, ctx) => {
      for (let round = 0; round < 2; round++) errors.push(await ask(ctx).catch((error: unknown) => error));
      return "ok";
    },
  });
  await using client = await connect(server, {
    ...CLIENT,
    elicit: async () => Promise.reject(new Error("nobody here")),
    sample: async () => Promise.reject(new Error("nobody here")),
    roots: async () => Promise.reject(new Error("nobody here")),
  });
  await client.call("t").catch(() => undefined);
  await expect.poll(() => errors.length).toBe(2);
  for (const error of errors) expect(error).toMatchObject({ code: "EXPIRED" });
});

it.each(Object.entries(QUESTIONS))(
  "%s that fails before anybody waits for its answer ends no process",
  async (_name, ask) => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", hear);
    onTestFinished(() => void process.off("unhandledRejection", hear));
    const server = new Server({ name: "s", version: "1", report: false });
    const turns = async (): Promise<void> => {
      for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
    };
    server.tool("late", {
      async run(_, ctx) {
        const asked = ask(ctx);
        await turns();
        return asked.then(
          () => "answered",
          () => "refused",
        );
      },
    });
    server.tool("never", {
      run(_, ctx) {
        void ask(ctx);
        return "done";
      },
    });
    await using client = await connect(server, { revision: "2026-07-28" });
    expect((await client.call("late")).content).toMatchObject([{ text: "refused" }]);
    expect((await client.call("never")).content).toMatchObject([{ text: "done" }]);
    await turns();
    expect(unhandled).toEqual([]);
  },
);

// A question that nobody waits for is the one mistake of asking that fails nothing: only the log can tell of it.
describe.each(["2025-06-18", "2026-07-28"])("a question that is not awaited, in %s", (revision) => {
  type Run = (ctx: Context) => unknown;
  /** Calls the tool, and gives what was reported in the end. */
  const reported = async (run: Run, client: Partial<Parameters<typeof connect>[1]> = CLIENT): Promise<string[]> => {
    const told: string[] = [];
    const server = new Server({ name: "s", version: "1", report: (level, text) => told.push(`${level}: ${text}`) });
    server.tool("t", { run: async (_, ctx) => (await run(ctx), "done") });
    // Its client hears everything in order: the answers to what was asked before are there when this one is.
    server.tool("afterwards", {
      async run(_, ctx) {
        for (const ask of Object.values(QUESTIONS)) await ask(ctx).catch(() => undefined);
        return "done";
      },
    });
    await using peer = await connect(server, { ...client, revision });
    await peer.call("t").catch(() => undefined);
    await peer.call("afterwards");
    return told;
  };

  it.each(Object.entries(QUESTIONS))("ctx.%s is named in the log", async (name, ask) => {
    const methods: Record<string, string> = { elicit: "elicitation/create", sample: "sampling/createMessage" };
    expect(await reported((ctx) => void ask(ctx).catch(() => undefined))).toEqual([
      `warning: tools/call "t" ended before its client had answered ${methods[name] ?? "roots/list"}: write await before ctx.${name}(...)`,
    ]);
  });

  it("those that are awaited say nothing", async () => {
    expect(await reported((ctx) => Promise.all(Object.values(QUESTIONS).map((ask) => ask(ctx))))).toEqual([]);
  });

  it.each(Object.keys(QUESTIONS))(
    "those that are awaited together say nothing where ctx.%s is refused",
    async (name) => {
      const others = Object.fromEntries(Object.entries(CLIENT).filter(([each]) => each !== name));
      const run: Run = (ctx) => Promise.all(Object.values(QUESTIONS).map((ask) => ask(ctx)));
      expect(await reported(run, others)).toEqual([]);
    },
  );
});

it("a question that is not awaited is named in the log of a handler that goes on for a while, too", async () => {
  const told: string[] = [];
  const server = new Server({ name: "s", version: "1", report: (_level, text) => told.push(text) });
  server.tool("t", {
    async run(_, ctx) {
      void ctx.roots().catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
      return "done";
    },
  });
  await using client = await connect(server, CLIENT);
  await client.call("t");
  expect(told).toEqual([expect.stringContaining("ended before its client had answered roots/list")]);
});

describe("a call whose question failed already is not told to await another", () => {
  const AWAITED = expect.stringContaining("write await before") as string;
  const elicit = (ctx: Context, message: string) => ctx.elicit({ message, schema: { sure: { type: "boolean" } } });

  function reporting(options: Partial<ServerOptions> = {}): { readonly server: Server; readonly told: string[] } {
    const told: string[] = [];
    const server = new Server({ name: "s", version: "1", report: (_level, text) => told.push(text), ...options });
    return { server, told };
  }

  it("of those its client was asked at once and refused one", async () => {
    const { server, told } = reporting();
    server.tool("t", { run: (_, ctx) => Promise.all([elicit(ctx, "refused"), elicit(ctx, "open")]) });
    let [answer, answered] = [(): void => undefined, false];
    const later = new Promise<void>((resolve) => (answer = resolve));
    await using client = await connect(server, {
      revision: "2025-06-18",
      async elicit({ message }) {
        if (message === "refused") throw new RpcError(-1, "no time");
        await later;
        answered = true;
        return { action: "cancel" };
      },
    });
    expect((await client.call("t")).isError).toBe(true);
    answer();
    await expect.poll(() => answered).toBe(true);
    for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
    expect(told).not.toContainEqual(AWAITED);
  });

  it("that was given up, and asks once more when it is over", async () => {
    const { server, told } = reporting({ limits: { parkedMs: 20 } });
    let late: Promise<unknown> | undefined;
    server.tool("t", {
      async run(_, ctx) {
        await elicit(ctx, "open").catch(() => undefined);
        setTimeout(() => (late = elicit(ctx, "late").catch((error: unknown) => error)), 0);
        return "ok";
      },
    });
    await using client = await connect(server, { ...CLIENT, elicit: () => new Promise(() => undefined) });
    void client.call("t").catch(() => undefined);
    await expect.poll(() => late).toBeDefined();
    expect(await late).toMatchObject({ code: "EXPIRED" });
    expect(told).not.toContainEqual(AWAITED);
  });

  it("that asks something else when it is run again", async () => {
    const { server, told } = reporting({ questions: "replay" });
    let runs = 0;
    server.tool("t", {
      replay: true,
      run: async (_, ctx) => {
        if (++runs === 1) return elicit(ctx, "first");
        return Promise.all([elicit(ctx, "other"), elicit(ctx, "more")]);
      },
    });
    await using client = await connect(server, CLIENT);
    expect((await client.call("t")).isError).toBe(true);
    expect(runs).toBe(2);
    expect(told).not.toContainEqual(AWAITED);
  });
});

it("a question whose call is cancelled before its client was asked fails at once", async () => {
  const server = new Server({ name: "s", version: "1", report: false });
  const stop = new AbortController();
  let failed: unknown;
  server.tool("t", {
    async run(_, ctx) {
      const asked = ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } });
      stop.abort();
      failed = await asked.catch((error: unknown) => error);
      return "ok";
    },
  });
  await using client = await connect(server, CLIENT);
  await expect(client.call("t", {}, { signal: stop.signal })).rejects.toMatchObject({ code: "CANCELLED" });
  await expect.poll(() => failed).toMatchObject({ code: "EXPIRED" });
});

describe("asked by hand in a session", () => {
  const form = { type: "object", properties: { sure: { type: "boolean" } } } as const;
  const sure = { method: "elicitation/create", params: { mode: "form", message: "?", requestedSchema: form } } as const;

  it("a call may ask a bounded number of rounds", async () => {
    const server = new Server({ name: "s", version: "1", report: false, limits: { rounds: 3 } });
    let runs = 0;
    server.tool("t", { run: () => (runs++, inputRequired({ requests: { sure } })) });
    await using client = await connect(server, { ...CLIENT, revision: "2025-06-18" });
    await expect(client.call("t")).rejects.toThrow("This call asked more than 3 rounds of questions");
    expect(runs).toBe(4);
  });

  it("what its client refuses is told to the model", async () => {
    const server = new Server({ name: "s", version: "1", report: false });
    server.tool("t", { run: () => inputRequired({ requests: { sure } }) });
    const elicit = () => Promise.reject(new RpcError(-1, "no time"));
    await using client = await connect(server, { revision: "2025-06-18", elicit });
    expect(await client.call("t")).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("The client refused elicitation/create") as string }],
    });
  });
});
