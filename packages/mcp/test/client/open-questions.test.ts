// A call whose question nobody answers: it ends when its caller says so, in time, and with the client, in every revision.
import { afterEach, expect, it } from "vitest";
import type { ClientOptions, Elicit, QuestionContext } from "../../src/client/options.js";
import type { Client } from "../../src/client/client.js";
import { connect } from "../../src/serve/connect.js";
import { Gateway } from "../../src/gateway/gateway.js";
import type { InputRequests } from "../../src/protocol/features/elicitation.js";
import { inputRequired } from "../../src/server/interactive.js";
import { Server } from "../../src/server/server.js";
import { start } from "../http/http-fixture.js";

const FORM = { type: "object", properties: { said: { type: "string" } } };
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
/** A gateway before it, whose upstream has sessions and is in this program, or over HTTP. */
async function gatewayOf(server: Server, upstream: "memory" | "http"): Promise<Server> {
  const gateway = new Gateway({ name: "gateway", version: "1", report: false });
  const target = upstream === "memory" ? server : (await start(server)).url;
  const open = (options: ClientOptions): Promise<Client> =>
    connect(target, { ...options, revision: "2025-11-25", verdicts: false });
  await gateway.mount("up", open, { prefix: "" });
  closing.push(() => gateway.unmountAll());
  return gateway;
}

const PLACES: Readonly<Record<string, (server: Server) => Promise<Server | string>>> = {
  memory: (server) => Promise.resolve(server),
  http: async (server) => (await start(server)).url,
  "a gateway": (server) => gatewayOf(server, "memory"),
  "http and a gateway": async (server) => (await start(await gatewayOf(server, "memory"))).url,
  "http and a gateway to http": async (server) => (await start(await gatewayOf(server, "http"))).url,
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
  // Over HTTP in a session by the server's word, which comes on the stream of the call.
  await expect.poll(() => told).toBe(true);
});

it.each(["memory", "http"].flatMap((place) => ["2025-11-25", "2026-07-28"].map((revision) => ({ place, revision }))))(
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

it("answers each of several questions of one round under its own key", async () => {
  const server = new Server({ name: "asking", version: "1", report: false });
  const keys = ["one", "two", "three"];
  server.tool("keys", {
    run(_, { inputResponses }) {
      if (inputResponses !== undefined)
        return keys
          .map((key) => `${key}: ${JSON.stringify(Object.entries(inputResponses).find(([each]) => each === key)?.[1])}`)
          .join();
      const requests = keys.map((message) => [
        message,
        { method: "elicitation/create", params: { mode: "form", message, requestedSchema: FORM } },
      ]);
      return inputRequired({ requests: Object.fromEntries(requests) as InputRequests });
    },
  });
  const elicit: Elicit = ({ message }) => ({ action: "accept", content: { said: message } });
  const client = await connect(server, { revision: "2026-07-28", elicit, verdicts: false });
  closing.push(() => client.close());
  const text = keys.map((key) => `${key}: {"action":"accept","content":{"said":"${key}"}}`).join();
  expect((await client.call("keys")).content).toEqual([{ type: "text", text }]);
});

it("a signal that is read once the call is over is aborted, with what ended it", async () => {
  let context: QuestionContext | undefined;
  const elicit: Elicit = (_, given) => new Promise(() => (context = given));
  const client = await connect(asking(), { revision: "2026-07-28", elicit });
  closing.push(() => client.close());
  await expect(client.call("ask", {}, { maxTimeoutMs: 100 })).rejects.toMatchObject({ code: "TIMEOUT" });
  expect(context?.signal.aborted).toBe(true);
  expect(context?.signal.reason).toMatchObject({ code: "TIMEOUT" });
});

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
