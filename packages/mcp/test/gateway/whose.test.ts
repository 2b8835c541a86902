// A question of a server that does not say which call asks reaches the session that caused it, or nobody.
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { Gateway } from "../../src/gateway/gateway.js";
import { serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { connect } from "../../src/serve/connect.js";
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

async function person(gateway: Gateway, by: string, revision: string, asked: Asked[]): Promise<Client> {
  const client = await connect(gateway, {
    revision,
    elicit: ({ message }) => {
      asked.push({ by, message });
      return { action: "accept", content: { whose: by } };
    },
  });
  closing.push(() => client.close());
  return client;
}

async function gatewayOf(): Promise<Gateway> {
  const gateway = new Gateway({ name: "gateway", version: "1" });
  const open = (options: object): Promise<Client> =>
    connectNode({ command: process.execPath, args: [PROGRAM] }, { ...options, reconnect: false });
  await gateway.mount("up", open);
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

it.each([1, 2, 3, 4, 5, 6])("holds for any order of calls of two sessions (seed %i)", async (seed) => {
  const random = randomOf(seed);
  const gateway = await gatewayOf();
  const asked: Asked[] = [];
  const people = new Map<string, Client>();
  for (const by of ["A", "B"]) people.set(by, await person(gateway, by, "2025-11-25", asked));
  const told: Promise<string>[] = [];
  for (let step = 0; step < 16; step++) {
    const by = random() < 0.5 ? "A" : "B";
    const tool = ["plain", "ask", "later", "fire"][Math.floor(random() * 4)] as string;
    const call = said(people.get(by) as Client, tool, `${by} asks`);
    told.push(call);
    if (random() < 0.6) await call;
  }
  await Promise.all(told);
  for (const { by, message } of asked) expect(message).toBe(`${by} asks`);
  for (const text of await Promise.all(told)) expect(text).not.toMatch(/A asks -> B|B asks -> A/);
});

it("asks the one who called once each session has a process of its own", async () => {
  const gateway = await gatewayOf();
  const asked: Asked[] = [];
  const a = await person(gateway, "A", "2025-11-25", asked);
  const b = await person(gateway, "B", "2025-11-25", asked);
  expect(await said(a, "ask", "A asks")).toMatch(/A asks -> A/);
  expect(await said(a, "later", "A asks")).toMatch(/later/);
  // The call of A is over: its question is nobody's, though B alone has a call under way.
  expect(await said(b, "fire", "B asks")).toMatch(/A asks -> refused/);
  expect(asked).toEqual([{ by: "A", message: "A asks" }]);
  expect(await said(b, "ask", "B asks")).toMatch(/B asks -> B/);
  expect(await said(a, "ask", "A asks")).toMatch(/A asks -> A/);
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
