// A question of a server that does not say which call asks reaches the session that caused it, or nobody.
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions, Elicit } from "../../src/client/options.js";
import { Gateway } from "../../src/gateway/gateway.js";
import type { RelayedWords } from "../../src/gateway/relay.js";
import { serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { connect } from "../../src/serve/connect.js";
import { call, JSON_TYPES, messages, session } from "../http/http-fixture.js";
import { repeated } from "../support/soak.js";
import { connect as connectNode } from "../../src/serve/connect-node.js";

const PROGRAM = fileURLToPath(new URL("asking.mjs", import.meta.url));
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Asked {
  readonly by: string;
  readonly message: string;
}

/** How two clients can come: in what revision, and how they reach the gateway. */
const WAYS = {
  "sessions over pipes": { revision: "2025-11-25", over: "memory" },
  "sessions over HTTP": { revision: "2025-11-25", over: "http" },
  "no sessions over pipes": { revision: "2026-07-28", over: "memory" },
  "no sessions over HTTP": { revision: "2026-07-28", over: "http" },
  "no sessions over HTTP, programs told apart": { revision: "2026-07-28", over: "http", programs: true },
} as const;
type Way = { readonly revision: string; readonly over: "memory" | "http"; readonly programs?: boolean };
const ALL = Object.entries(WAYS) as [string, Way][];

/** Both have the same token. */
async function targetOf(
  gateway: Gateway,
  { over, programs }: Way,
): Promise<(by: string) => Parameters<typeof connectNode>> {
  if (over === "memory") return () => [gateway, { identity: { principal: "owner", scopes: [] } }];
  const serving = await serveHttp(gateway, {
    port: 0,
    signals: false,
    authenticate: (head) => {
      const program = head.header("x-program");
      return { identity: { principal: "owner", scopes: [], ...(program === undefined ? {} : { program }) } };
    },
  });
  closing.push(() => serving.close());
  return (by) => [serving.url, programs === true ? { http: { headers: { "x-program": by } } } : {}];
}

async function people(gateway: Gateway, way: Way, asked: Asked[]): Promise<Map<"A" | "B", Client>> {
  const target = await targetOf(gateway, way);
  const found = new Map<"A" | "B", Client>();
  for (const by of ["A", "B"] as const) {
    const [where, options] = target(by);
    const client = await connectNode(where, {
      ...options,
      revision: way.revision,
      // Programs that are told apart may be called alike.
      clientInfo: { name: way.programs === true ? "program" : `program ${by}`, version: "1" },
      verdicts: false,
      elicit: ({ message }) => {
        asked.push({ by, message });
        return { action: "accept", content: { whose: by } };
      },
    });
    closing.push(() => client.close());
    found.set(by, client);
  }
  return found;
}

/** `arrived`: told of each question that comes to the gateway. */
async function gatewayOf(words: RelayedWords = {}, arrived: () => void = () => undefined): Promise<Gateway> {
  const gateway = new Gateway({ name: "gateway", version: "1" });
  const open = ({ elicit, ...options }: ClientOptions): Promise<Client> => {
    const told = elicit && ((...asked: Parameters<Elicit>) => (arrived(), elicit(...asked)));
    const all = { ...options, ...(told === undefined ? {} : { elicit: told }), reconnect: false } as const;
    return connectNode({ command: process.execPath, args: [PROGRAM] }, all);
  };
  await gateway.mount("up", open, { words });
  closing.push(() => gateway.unmountAll());
  return gateway;
}

/** A sequence of numbers below one that is the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function said(client: Client, tool: string, tag: string): Promise<string> {
  try {
    const { content } = await client.call(`up__${tool}`, { tag });
    return (content[0] as { text: string }).text;
  } catch (error) {
    return String(error);
  }
}

/** A call that is under way, and what ends it. */
async function held(client: Client): Promise<() => Promise<unknown>> {
  const stop = new AbortController();
  let call: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve) => {
    call = client.call("up__hold", {}, { signal: stop.signal, onProgress: () => resolve() }).catch(() => undefined);
  });
  return () => {
    stop.abort();
    return call;
  };
}

const SEEDS = Array.from({ length: repeated(1, 8) }, (_, index) => index + 1);

describe.each(ALL)("%s", (_name, way) => {
  it.each(SEEDS)("hold for any order of calls of two (seed %i)", async (seed) => {
    const random = randomOf(seed);
    const asked: Asked[] = [];
    const both = await people(await gatewayOf(), way, asked);
    const told: { readonly by: string; readonly text: Promise<string> }[] = [];
    for (let step = 0; step < 16; step++) {
      const by = random() < 0.5 ? "A" : "B";
      const tool = ["plain", "ask", "later", "fire"][Math.floor(random() * 4)] as string;
      const text = said(both.get(by) as Client, tool, `${by} asks`);
      told.push({ by, text });
      if (random() < 0.6) await text;
    }
    await Promise.all(told.map(({ text }) => text));
    for (const { by, message } of asked) expect(message).toBe(`${by} asks`);
    for (const { text } of told) expect(await text).not.toMatch(/A asks -> B|B asks -> A/);
  });

  it("ask nobody else while another's call is under way", async () => {
    const asked: Asked[] = [];
    const both = await people(await gatewayOf(), way, asked);
    const [a, b] = [both.get("A") as Client, both.get("B") as Client];
    const letGo = await held(a);
    expect(await said(b, "ask", "B asks")).toMatch(/B asks -> (?:B|refused)/);
    await letGo();
    expect(asked.filter(({ by }) => by === "A")).toEqual([]);
    // From then on everybody has a process of their own.
    for (const [by, client] of both) expect(await said(client, "ask", `${by} asks`)).toMatch(`${by} asks -> ${by}`);
  });
});

it("asks the one who called, and nobody for a call that is over, once each session has a process of its own", async () => {
  const asked: Asked[] = [];
  const both = await people(await gatewayOf(), WAYS["sessions over pipes"], asked);
  const [a, b] = [both.get("A") as Client, both.get("B") as Client];
  expect(await said(a, "ask", "A asks")).toMatch(/A asks -> A/);
  expect(await said(a, "later", "A asks")).toMatch(/later/);
  // The call of A is over: its question is nobody's, though B alone has a call under way.
  expect(await said(b, "fire", "B asks")).toMatch(/A asks -> refused/);
  expect(asked).toEqual([{ by: "A", message: "A asks" }]);
  expect(await said(b, "ask", "B asks")).toMatch(/B asks -> B/);
  expect(await said(a, "ask", "A asks")).toMatch(/A asks -> A/);
});

describe("two calls at once of one client", () => {
  /** What a client's calls were asked, beside one that is under way, and within which calls. */
  async function beside(way: Way) {
    const within: string[][] = [];
    let arrived = 0;
    const came = (count: number): Promise<void> => expect.poll(() => arrived).toBe(count);
    const gateway = await gatewayOf(
      {
        question: ({ among, params }, pass) => {
          within.push(among.map((call) => String(call.params["name"])));
          return pass(params);
        },
      },
      () => arrived++,
    );
    const a = (await people(gateway, way, [])).get("A") as Client;
    const letGo = await held(a);
    const first = said(a, "ask", "1");
    // What has no session waits for the other call to be over.
    if (way.revision === "2026-07-28") {
      await came(1);
      expect(within).toEqual([]);
      await letGo();
    }
    const answers = [await first, await said(a, "ask", "2")].map((text) => text.replace(/^\d+ /, ""));
    await letGo();
    return { within, answers };
  }

  it("in a session: it is asked, and no call is named", async () => {
    const { within, answers } = await beside(WAYS["sessions over pipes"]);
    expect(answers).toEqual(["1 -> A", "2 -> A"]);
    for (const calls of within) expect(calls).toEqual(["up__hold", "up__ask"]);
  });

  it.each(ALL.filter(([, { revision }]) => revision === "2026-07-28"))(
    "with %s: the question never comes with the answer of another call",
    async (_name, way) => {
      const { within, answers } = await beside(way);
      // The one that was left may have asked.
      expect(answers).toEqual(["1 -> refused", "2 -> A"]);
      expect(within).toEqual([["up__ask"]]);
    },
  );
});

it("asks within the call that still waits, and not within an earlier one that its client left without a word", async () => {
  const serving = await serveHttp(await gatewayOf(), { port: 0, signals: false, limits: { drainMs: 50 } });
  closing.push(() => serving.close());
  const { headers, post } = await session(serving.url, "2025-11-25", { capabilities: { elicitation: {} } });
  const leave = new AbortController();
  const left = fetch(serving.url, {
    method: "POST",
    headers: { ...JSON_TYPES, ...headers },
    body: JSON.stringify(call("up__hang", {}, 1)),
    signal: leave.signal,
  });
  let id = 2;
  while ((await post(call("up__hanging", {}, id++))).text.includes(" 0")) continue;
  leave.abort();
  await expect(left).rejects.toThrow();
  const body = JSON.stringify(call("up__ask", { tag: "whose" }, id));
  const asking = await fetch(serving.url, { method: "POST", headers: { ...JSON_TYPES, ...headers }, body });
  let text = "";
  for await (const piece of asking.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString();
    const question = messages(text).find(({ method }) => method === "elicitation/create");
    if (question === undefined) continue;
    const result = { action: "accept", content: { whose: "me" } };
    await post({ jsonrpc: "2.0", id: question["id"], result });
  }
  expect(text).toContain("whose -> me");
});

it("asks as many callers at once as there are calls", async () => {
  const CALLS = 40;
  const far = new Server({ name: "far", version: "1" });
  far.tool("ask", {
    run: async (_args, ctx) => {
      const { action } = await ctx.elicit({ message: "Your name?", schema: { name: { type: "string" } } });
      return action;
    },
  });
  const serving = await serveHttp(far, { port: 0, signals: false });
  closing.push(() => serving.close());
  const gateway = new Gateway({ name: "gateway", version: "1" });
  await gateway.mount("up", (options) => connectNode(serving.url, { ...options, revision: "2025-11-25" }));
  closing.push(() => gateway.unmountAll());
  let asked = 0;
  let everybody = (): void => undefined;
  const all = new Promise<void>((resolve) => (everybody = resolve));
  const client = await connect(gateway, {
    elicit: async () => {
      if (++asked === CALLS) everybody();
      await all;
      return { action: "accept", content: { name: "Ada" } };
    },
  });
  closing.push(() => client.close());
  const calls = Array.from({ length: CALLS }, () => client.call("up__ask", {}));
  await Promise.race([all, ...calls]);
  expect(asked).toBe(CALLS);
  const answers = await Promise.all(calls);
  expect(new Set(answers.map(({ content }) => (content[0] as { text: string }).text))).toEqual(new Set(["accept"]));
});
