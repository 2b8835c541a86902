// What is given up or closed while a part of a fetch server is loaded ends as it would with the part at hand.
import { expect, it } from "vitest";
import { connect } from "../../src/entries/client.js";
import { toFetch, type FetchHandler } from "../../src/entries/fetch.js";
import { LeanServer } from "../../src/entries/server.js";
import { within } from "../support/within.js";
import { fetchRequest } from "./fetch-request.js";

interface Watched {
  readonly server: LeanServer;
  readonly seen: string[];
  readonly reports: string[];
}

function watched(): Watched {
  const reports: string[] = [];
  const seen: string[] = [];
  const server = new LeanServer({
    name: "loading",
    version: "1.0.0",
    report: (level, message) => void reports.push(`${level}: ${message}`),
  });
  server.tool("who", { run: () => (seen.push("who"), "nobody") });
  return { server, seen, reports };
}

/** Where the endpoint has read the body of a first request, and waits for what serves it. */
async function read(server: LeanServer, method: string): Promise<void> {
  await within(
    new Promise<void>((resolve) => {
      server.use((call, next) => {
        if (call.method === method) resolve();
        return next();
      });
    }),
    `${method} came`,
  );
}

async function isOver(promise: Promise<unknown>): Promise<boolean> {
  const other = {};
  return (await Promise.race([promise, Promise.resolve(other)])) !== other;
}

it("a handler does not begin for a request that was given up while what asks its client was loaded", async () => {
  const { server, seen } = watched();
  const answer = toFetch(server);
  const leaving = new AbortController();
  const came = read(server, "tools/call");
  const sent = { capabilities: { elicitation: {} }, signal: leaving.signal };
  const reply = answer(fetchRequest(1, "tools/call", { name: "who", arguments: {} }, sent));
  await came;
  leaving.abort();
  expect((await reply).status).toBe(499);
  await answer.close();
  expect(seen).toEqual([]);
});

it("a handler whose session ends while it begins to ask is told that its question was cancelled", async () => {
  const { server, reports } = watched();
  let asked!: (outcome: unknown) => void;
  const outcome = new Promise((resolve) => (asked = resolve));
  let began!: () => void;
  const beginning = new Promise<void>((resolve) => (began = resolve));
  server.tool("ask", {
    run: async (_, ctx) => {
      const question = ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      began();
      return question.then(
        ({ action }) => action,
        (error: unknown) => {
          asked(error);
          throw error;
        },
      );
    },
  });
  const client = await connect(server, { revision: "2025-11-25", elicit: () => ({ action: "decline" }) });
  const call = client.call("ask").catch(() => undefined);
  await beginning;
  await client.close();
  expect(await within(outcome, "the question was given up")).toMatchObject({ code: "CANCELLED" });
  await call;
  expect(reports.filter((each) => each.startsWith("error"))).toEqual([]);
});

async function listening(answer: FetchHandler): Promise<string> {
  const reply = await answer(fetchRequest(1, "subscriptions/listen", { notifications: { toolsListChanged: true } }));
  return reply.text();
}

it("a listen that waits for its code when the endpoint closes is acknowledged, and ends with its answer", async () => {
  const { server } = watched();
  const answer = toFetch(server);
  const came = read(server, "subscriptions/listen");
  const listen = listening(answer);
  await came;
  const closed = answer.close();
  const text = await within(listen, "the listen ended");
  expect(text).toContain("notifications/subscriptions/acknowledged");
  expect(text).toContain('"result":');
  await closed;
});

it.each<[string, Parameters<typeof toFetch>[1], () => Request]>([
  ["the guard", { authenticate: () => "ada" }, () => fetchRequest(1, "tools/list", {})],
  [
    "the handshake era",
    {},
    () =>
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      }),
  ],
  [
    "a page",
    { pages: { "/health": { respond: () => ({ status: 200 }) } } },
    () => new Request("http://localhost/health"),
  ],
])("close waits for the answers of what waits for %s", async (_, options, first) => {
  const answer = toFetch(watched().server, options);
  const reply = answer(first());
  // Its body is read: what is waited for from now on is the code.
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  await answer.close();
  expect(await isOver(reply)).toBe(true);
});
