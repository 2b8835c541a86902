// A question of a server behind a gateway that is over before it is answered: its client is asked no longer, and nobody made a mistake.
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { ClientOptions, QuestionContext } from "../../src/client/options.js";
import type { Client } from "../../src/client/client.js";
import type { Mounted } from "../../src/gateway/gateway.js";
import { connect } from "../../src/serve/connect-node.js";
import type { Context } from "../../src/server/context.js";
import type { ServerLimits } from "../../src/server/limits.js";
import { Server } from "../../src/server/server.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const STATELESS = "2026-07-28";
const OURS = ["2024-11-05", "2025-11-25", STATELESS] as const;
const NEVER = (): Promise<never> => new Promise(() => undefined);
const ASKING = fileURLToPath(new URL("asking.mjs", import.meta.url));

/** Something that happens once. */
class Happening {
  has = false;
  readonly come: Promise<void>;
  #come: () => void = () => undefined;

  constructor() {
    this.come = new Promise((resolve) => (this.#come = resolve));
  }

  happen(): void {
    this.has = true;
    this.#come();
  }
}

type Open = (options: ClientOptions) => Promise<Client>;

/**
 * A caller of a gateway. In a session it answers nothing: only the gateway's word ends what it is asked. Elsewhere it comes back with
 * its answer once the server's request is over.
 */
class Caller {
  readonly asked: Happening = new Happening();
  readonly over: Happening = new Happening();
  /** What the gateway reports. */
  readonly told: string[] = [];
  about: QuestionContext | undefined;
  message = "";
  client!: Client;
  mounted!: Mounted;

  async begin(revision: string, upstream: Open, limits: Partial<ServerLimits> = {}): Promise<void> {
    const report = (level: string, text: string): void => void this.told.push(`${level}: ${text}`);
    const gateway = stage.gateway({ limits, report });
    gateway.tool("own", { run: () => "own" });
    this.mounted = await gateway.mount("up", upstream, {
      prefix: "",
      // Whoever judges calls waits for the answers itself.
      before: () => undefined,
      relayed: ({ tookMs }) => void (tookMs !== undefined && this.over.happen()),
    });
    const answer = async (about: QuestionContext): Promise<void> => {
      this.about = about;
      this.asked.happen();
      await (revision === STATELESS ? this.over.come : NEVER());
    };
    this.client = await stage.client(await stage.serve(gateway), {
      revision,
      elicit: async ({ message }, about) => {
        this.message = message;
        await answer(about);
        return { action: "decline" };
      },
      sample: async (_, about) => {
        await answer(about);
        return { role: "assistant", model: "m", content: { type: "text", text: "late" } };
      },
      // What a gateway is told of a question its own client is told as well.
      roots: async (about?: QuestionContext) => (await answer(about as QuestionContext), []),
    });
  }

  async isTold(): Promise<void> {
    await expect.poll(() => this.about?.signal.aborted).toBe(true);
  }
}

type Options = { readonly signal?: AbortSignal; readonly timeoutMs?: number };
type Ask = (ctx: Context, options?: Options) => Promise<unknown>;

const KINDS: Readonly<Record<string, Ask>> = {
  elicit: (ctx, options) => ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } }, options),
  sample: (ctx, options) =>
    ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "x" } }], maxTokens: 5 }, options),
  roots: (ctx, options) => ctx.roots(options),
};

const ended = (asking: Promise<unknown>): Promise<string> =>
  asking.then(String, ({ code }: { readonly code: string }) => code);

/** How a handler of a session ends its question, and the text that it gives then. */
const WAYS: Readonly<
  Record<string, (ask: (options?: Options) => Promise<unknown>, asked: Happening) => Promise<string>>
> = {
  async TIMEOUT(ask, asked) {
    // On a busy machine the first ones are over before anybody is asked.
    for (let timeoutMs = 50; ; timeoutMs *= 2) {
      const end = await ended(ask({ timeoutMs }));
      if (asked.has || end !== "TIMEOUT") return end;
    }
  },
  CANCELLED(ask, asked) {
    const stop = new AbortController();
    void asked.come.then(() => stop.abort());
    return ended(ask({ signal: stop.signal }));
  },
  "gone on": (ask, asked) => Promise.race([ended(ask()), asked.come.then(() => "gone on")]),
};

describe.each(Object.entries(WAYS))("a question that ends while its call goes on, %s", (said, way) => {
  it.each(
    OURS.flatMap((ours) =>
      Object.keys(KINDS).flatMap((kind) => ["2025-06-18", "2025-11-25"].map((theirs) => ({ ours, kind, theirs }))),
    ).filter(({ ours, kind }) => kind !== "elicit" || ours !== "2024-11-05"),
  )("$kind of $theirs, asked of $ours", async ({ ours, kind, theirs }) => {
    const caller = new Caller();
    const server = new Server({ name: "up", version: "1", report: false });
    server.tool("ask", { run: (_, ctx) => way((options) => (KINDS[kind] as Ask)(ctx, options), caller.asked) });
    await caller.begin(ours, open(await stage.serve(server), { revision: theirs }));
    expect((await caller.client.call("ask")).content).toMatchObject([{ text: said }]);
    if (ours !== STATELESS) await caller.isTold();
    expect(caller.told).toEqual([]);
  });
});

/** A server that asks a person and says how that ended. */
function asking(): Server {
  const server = new Server({ name: "up", version: "1", report: false });
  server.tool("ask", { input: { type: "object" }, run: (_, ctx) => ended((KINDS["elicit"] as Ask)(ctx)) });
  server.tool("plain", { run: () => "plain" });
  return server;
}

/** A server, and what ends the call that its question is open in. */
const ENDS: readonly (readonly [string, () => Promise<Open>, (caller: Caller) => unknown])[] = [
  ["of a session whose process exits", ofProcess, ({ message }) => process.kill(Number(message))],
  ["of a session that is taken away", ofProcess, ({ mounted }) => mounted.remove()],
  [
    "without sessions that is taken away",
    async () => open(await stage.serve(asking()), { revision: STATELESS }),
    ({ mounted }) => mounted.remove(),
  ],
];

function ofProcess(): Promise<Open> {
  const program = { command: process.execPath, args: [ASKING] };
  return Promise.resolve((options) => connect(program, { ...options, reconnect: false }));
}

describe.each(ENDS)("a question of a server %s", (_what, upstream, end) => {
  it.each(OURS.slice(1))("asked of %s", async (ours) => {
    const caller = new Caller();
    await caller.begin(ours, await upstream());
    // A tool that is taken away with its server is not there for an answer that comes back.
    const call = caller.client.call("ask", { tag: "pid" }).catch(() => ({ isError: true }));
    await caller.asked.come;
    await end(caller);
    expect(await call).toMatchObject({ isError: true });
    if (ours !== STATELESS) await caller.isTold();
    expect(caller.told.filter((line) => /write await|error id|Answering/.test(line))).toEqual([]);
  });
});

describe.each(["2025-11-25", STATELESS])("a question of a server of %s", (theirs) => {
  const begun = async (ours: string, limits: Partial<ServerLimits> = {}): Promise<Caller> => {
    const caller = new Caller();
    await caller.begin(ours, open(await stage.serve(asking()), { revision: theirs }), limits);
    return caller;
  };

  it("that is never answered is no fault of anybody", async () => {
    const caller = await begun(STATELESS, { parkedMs: 50 });
    const stop = new AbortController();
    const call = caller.client.call("ask", {}, { signal: stop.signal }).catch(() => undefined);
    await caller.over.come;
    stop.abort();
    await call;
    await caller.client.call("plain");
    expect(caller.told).toEqual([]);
  });

  it.each(OURS.slice(1))("whose caller of %s cancels is no fault of anybody", async (ours) => {
    const caller = await begun(ours);
    const stop = new AbortController();
    const call = caller.client.call("ask", {}, { signal: stop.signal });
    await caller.asked.come;
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    await caller.client.call("plain");
    expect(caller.told.filter((line) => !line.startsWith("info: "))).toEqual([]);
  });
});
