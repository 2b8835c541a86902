// A question that nobody waits for any more: its call has ended, or its signal was aborted. Its client is told, and it ends at once.
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "@secure-local/mcp/client";
import { type Context, Server, type ServerOptions } from "@secure-local/mcp/server";
import type { ClientOptions, QuestionContext } from "../../src/client/options.js";
import type { Client } from "../../src/client/client.js";
import type { AskOptions } from "../../src/server/ask.js";
import { start } from "../http/http-fixture.js";

const STATELESS = "2026-07-28";
const SESSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const PLACES = ["memory", "http"] as const;

type Ask = (ctx: Context, options?: AskOptions) => Promise<unknown>;
const KINDS: Readonly<Record<string, Ask>> = {
  elicit: (ctx, options) => ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } }, options),
  sample: (ctx, options) =>
    ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "x" } }], maxTokens: 5 }, options),
  roots: (ctx, options) => ctx.roots(options),
};
const METHODS: Readonly<Record<string, string>> = {
  elicit: "elicitation/create",
  sample: "sampling/createMessage",
  roots: "roots/list",
};

const has = (revision: string, kind: string): boolean => kind !== "elicit" || revision >= "2025-06-18";
/** Every kind in every revision; over HTTP one of them says what the transport does. */
const CASES = [...SESSIONS, STATELESS].flatMap((revision) =>
  Object.keys(KINDS)
    .filter((kind) => has(revision, kind))
    .flatMap((kind) => PLACES.map((place) => ({ revision, kind, place })))
    .filter(({ kind, place }) => place === "memory" || (kind === "sample" && revision >= "2025-11-25")),
);

/** Something that happens once. */
class Happening {
  readonly come: Promise<void>;
  happen: () => void = () => undefined;

  constructor() {
    this.come = new Promise((resolve) => (this.happen = resolve));
  }
}

/** A server, and a client that thinks over what it is asked. */
class Play {
  /** How often the client was asked. */
  asked = 0;
  readonly isAsked: Happening = new Happening();
  /** Its answer comes after that. */
  readonly answers: Happening = new Happening();
  readonly told: string[] = [];
  readonly abouts: QuestionContext[] = [];
  readonly server: Server;
  client!: Client;

  constructor(options: Partial<ServerOptions> = {}) {
    const report = (level: string, text: string): void => void this.told.push(`${level}: ${text}`);
    this.server = new Server({ name: "s", version: "1", report, ...options });
  }

  async begin(revision: string, place: (typeof PLACES)[number]): Promise<Client> {
    const thinks = async (about?: QuestionContext): Promise<void> => {
      this.asked += 1;
      this.abouts.push(about as QuestionContext);
      this.isAsked.happen();
      await this.answers.come;
    };
    const options: ClientOptions = {
      revision,
      verdicts: false,
      elicit: async (_, about) => (await thinks(about), { action: "accept", content: { sure: true } }),
      sample: async (_, about) => {
        await thinks(about);
        return { role: "assistant", model: "m", content: { type: "text", text: "late" } };
      },
      roots: async (about?: QuestionContext) => (await thinks(about), []),
    };
    this.client = await connect(
      place === "memory" ? this.server : (await start(this.server, { limits: { drainMs: 1 } })).url,
      options,
    );
    onTestFinished(() => this.client.close());
    return this.client;
  }

  /** The client knows that nobody waits for its answer. */
  async isTold(): Promise<void> {
    await expect.poll(() => this.abouts[0]?.signal.aborted).toBe(true);
  }
}

const outcome = (asking: Promise<unknown>): Promise<unknown> =>
  asking.then(
    () => "answered",
    (error: unknown) => error,
  );

describe("when the call ends that asked", () => {
  const WAYS: Readonly<Record<string, (open: Promise<unknown>, asked: Promise<void>) => Promise<string>>> = {
    "and gives something": (open, asked) => Promise.race([open.then(() => "answered"), asked.then(() => "done")]),
    "and fails": async (open, asked) => {
      void open.catch(() => undefined);
      await asked;
      throw new Error("no more");
    },
  };

  describe.each(Object.entries(WAYS))("%s", (way, run) => {
    it.each(CASES)("$kind of $revision over $place ends", async ({ revision, kind, place }) => {
      const play = new Play();
      let asking: Promise<unknown> | undefined;
      play.server.tool("t", {
        run(_, ctx) {
          const open = (KINDS[kind] as Ask)(ctx);
          asking = outcome(open);
          return run(open, play.isAsked.come);
        },
      });
      const client = await play.begin(revision, place);
      const call = client.call("t");
      await play.isAsked.come;
      // Without sessions the end of the handler waits for the client to come back.
      if (revision === STATELESS) play.answers.happen();
      const { isError } = await call;
      expect(isError === true).toBe(way === "and fails");
      expect(await asking).toMatchObject({ name: "AskError", code: "EXPIRED" });
      if (revision !== STATELESS) await play.isTold();
      const [line] = play.told.filter((each) => each.includes("write await"));
      expect(line).toContain(
        `"t" ended before its client had answered ${METHODS[kind]}: write await before ctx.${kind}(`,
      );
    });
  });

  it.each(SESSIONS)("in %s what is asked afterwards is refused at once", async (revision) => {
    const play = new Play();
    let context: Context | undefined;
    play.server.tool("t", { run: (_, ctx) => ((context = ctx), "done") });
    await (await play.begin(revision, "memory")).call("t");
    for (const [kind, ask] of Object.entries(KINDS)) {
      if (!has(revision, kind)) continue;
      expect(await outcome(ask(context as Context))).toMatchObject({
        code: "EXPIRED",
        message: expect.stringContaining("await what is asked before the handler returns") as string,
      });
    }
    expect(play.asked).toBe(0);
  });

  it("those who asked for the roots of a session together each end with their own call", async () => {
    const play = new Play();
    const second = new Happening();
    const asking: Promise<unknown>[] = [];
    play.server.tool("first", {
      async run(_, ctx) {
        asking[0] = outcome(ctx.roots());
        await second.come;
        return "done";
      },
    });
    play.server.tool("second", {
      async run(_, ctx) {
        const roots = ctx.roots();
        second.happen();
        return `${(await roots).length} roots`;
      },
    });
    const client = await play.begin("2025-11-25", "memory");
    const first = client.call("first");
    await play.isAsked.come;
    const other = client.call("second");
    await first;
    expect(await asking[0]).toMatchObject({ code: "EXPIRED" });
    play.answers.happen();
    expect((await other).content).toMatchObject([{ text: "0 roots" }]);
    expect(play.asked).toBe(2);
  });
});

describe("by its signal", () => {
  it.each(CASES)("$kind of $revision over $place rejects at once, and its client is told", async (given) => {
    const { revision, kind, place } = given;
    const play = new Play();
    const stop = new AbortController();
    const failed = new Happening();
    play.server.tool("t", {
      async run(_, ctx) {
        const error = await outcome((KINDS[kind] as Ask)(ctx, { signal: stop.signal }));
        failed.happen();
        return `${(error as { name: string }).name} ${(error as { code: string }).code}`;
      },
    });
    const client = await play.begin(revision, place);
    const call = client.call("t");
    await play.isAsked.come;
    stop.abort();
    await failed.come;
    if (revision === STATELESS) play.answers.happen();
    expect((await call).content).toMatchObject([{ text: "AskError CANCELLED" }]);
    if (revision !== STATELESS) await play.isTold();
    expect(play.told.filter((line) => !line.startsWith("debug"))).toEqual([]);
  });

  it.each(CASES)("$kind of $revision over $place that is not caught ends the call with its sentence", async (given) => {
    const { revision, kind, place } = given;
    const play = new Play();
    const stop = new AbortController();
    play.server.tool("t", {
      run: (_, ctx) => {
        const asked = (KINDS[kind] as Ask)(ctx, { signal: stop.signal });
        return asked.finally(() => play.answers.happen());
      },
    });
    const client = await play.begin(revision, place);
    const call = client.call("t");
    await play.isAsked.come;
    stop.abort(new Error("for the log alone"));
    const text = `The client had not answered ${METHODS[kind]} when the question was given up`;
    expect(await call).toMatchObject({ isError: true, content: [{ text }] });
    expect(play.told.filter((line) => !line.startsWith("debug"))).toEqual([]);
  });

  it.each(CASES)("$kind of $revision over $place asks nothing where it is aborted before", async (given) => {
    const { revision, kind, place } = given;
    const play = new Play();
    play.server.tool("t", {
      run: async (_, ctx) => {
        const stop = new AbortController();
        const asked = [AbortSignal.abort("why"), stop.signal].map((signal) => (KINDS[kind] as Ask)(ctx, { signal }));
        // Before its round is handed out.
        stop.abort("why");
        const errors = await Promise.all(asked.map(outcome));
        return errors.map((error) => `${(error as { code: string }).code} ${(error as Error).cause as string}`);
      },
    });
    const client = await play.begin(revision, place);
    expect((await client.call("t")).content).toMatchObject([{ text: '["CANCELLED why","CANCELLED why"]' }]);
    expect(play.asked).toBe(0);
  });

  it("of a session that is asked outside of any call", async () => {
    const play = new Play();
    const stop = new AbortController();
    const asking: Promise<unknown>[] = [];
    play.server.tool("ask", {
      run(_, ctx) {
        asking.push(outcome(ctx.session?.roots({ signal: stop.signal }) as Promise<unknown>));
        return "done";
      },
    });
    const client = await play.begin("2025-11-25", "memory");
    await client.call("ask");
    await play.isAsked.come;
    stop.abort();
    expect(await asking[0]).toMatchObject({ name: "AskError", code: "CANCELLED" });
    await play.isTold();
  });
});

describe("by its signal, without sessions", () => {
  const form = (message: string) => ({ message, schema: { sure: { type: "boolean" } } }) as const;

  it("the others of its round are answered, and what is asked next belongs to the next round", async () => {
    const play = new Play();
    const stop = new AbortController();
    play.server.tool("t", {
      async run(_, ctx) {
        const given = outcome(ctx.elicit(form("given up"), { signal: stop.signal }));
        const kept = ctx.elicit(form("kept"));
        const error = (await given) as { readonly code: string };
        const next = ctx.sample({ messages: [], maxTokens: 5 });
        return `${error.code} ${(await kept).action} ${(await next).model}`;
      },
    });
    const client = await play.begin(STATELESS, "memory");
    const call = client.call("t");
    await play.isAsked.come;
    stop.abort();
    play.answers.happen();
    expect((await call).content).toMatchObject([{ text: "CANCELLED accept m" }]);
  });

  it("one that is given up while its state is sealed is not asked, and the round goes on", async () => {
    const stop = new AbortController();
    let seals = 0;
    const seal = {
      seal(text: string) {
        if (++seals === 1) stop.abort();
        return Promise.resolve(text);
      },
      open: (text: string) => Promise.resolve(text),
    };
    const play = new Play({ seal });
    play.server.tool("t", {
      async run(_, ctx) {
        const error = (await outcome(ctx.elicit(form("given up"), { signal: stop.signal }))) as { code: string };
        return `${error.code} ${(await ctx.elicit(form("next"))).action}`;
      },
    });
    const client = await play.begin(STATELESS, "memory");
    play.answers.happen();
    expect((await client.call("t")).content).toMatchObject([{ text: "CANCELLED accept" }]);
    expect(play.asked).toBe(1);
  });

  it("who is run again with the answers hears no more of it once its client is asked", async () => {
    const play = new Play({ questions: "replay" });
    const stops: AbortController[] = [];
    const ends: unknown[] = [];
    play.server.tool("t", {
      replay: true,
      async run(_, ctx) {
        const stop = new AbortController();
        const number = stops.push(stop);
        const end = await outcome(ctx.elicit(form("?"), { signal: stop.signal }));
        ends.push([number, end]);
        return "done";
      },
    });
    const client = await play.begin(STATELESS, "memory");
    const call = client.call("t");
    await play.isAsked.come;
    stops[0]?.abort();
    play.answers.happen();
    expect((await call).content).toMatchObject([{ text: "done" }]);
    expect(ends).toEqual([[2, "answered"]]);
  });
});
