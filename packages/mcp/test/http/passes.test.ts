// Each event that ends what somebody may do, in each phase of a request: nothing of it runs or stays open after the event.
import { type ClientRequest, request as httpRequest } from "node:http";
import { expect, it } from "vitest";
import { Passes } from "../../src/http/server/http-site.js";
import type { HttpServing } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { gate, JSON_TYPES, post, send, start, STATELESS } from "./http-fixture.js";

const OLD = "2025-11-25";
const ADA = { authorization: "Bearer ada" };

/** Requests as they are sent, by what they begin. */
const meta = {
  "io.modelcontextprotocol/protocolVersion": STATELESS,
  "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};
const stateless = (method: string, params: object, name?: string) => ({
  headers: {
    "mcp-protocol-version": STATELESS,
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  },
  body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: { ...params, _meta: meta } }),
});
const INITIALIZE = {
  headers: {},
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: OLD, capabilities: {}, clientInfo: { name: "c", version: "1" } },
  }),
};
const REQUESTS = {
  "a call": stateless("tools/call", { name: "act", arguments: {} }, "act"),
  "a task": stateless("tools/call", { name: "job", arguments: {} }, "job"),
  "a listen": stateless("subscriptions/listen", {
    notifications: { toolsListChanged: true, resourceSubscriptions: ["test://a"] },
  }),
  initialize: INITIALIZE,
} as const;

/** Where a request is when the event comes. */
const PHASES = ["it is asked who sends it", "its body is on the way", "it is judged before it runs"] as const;

/** What comes meanwhile. */
const EVENTS: Readonly<Record<string, (serving: HttpServing) => Promise<void>>> = {
  "who sent it is sent away": (serving) => serving.endSessions((principal) => principal === "ada"),
  "everybody is sent away": (serving) => serving.endSessions(() => true),
  "the server shuts down": (serving) => serving.close(),
};

const CASES = Object.keys(REQUESTS)
  .flatMap((request) => PHASES.flatMap((phase) => Object.keys(EVENTS).map((event) => [request, phase, event] as const)))
  .filter(
    // What runs when a server shuts down may end.
    ([request, phase, event]) =>
      !(
        /call|task|listen/.test(request) &&
        phase === "it is judged before it runs" &&
        event === "the server shuts down"
      ),
  );

interface Sent {
  readonly reply: Promise<{ status: number; headers: Record<string, unknown>; text: string }>;
  readonly request: ClientRequest;
}

function begin(url: string, headers: Record<string, string>, length: number): Sent {
  const request = httpRequest(url, {
    method: "POST",
    agent: false,
    headers: { ...JSON_TYPES, ...ADA, ...headers, "content-length": String(length) },
  });
  const reply = new Promise<Awaited<Sent["reply"]>>((resolve) => {
    request.on("error", (error) => resolve({ status: 0, headers: {}, text: String(error) }));
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      const end = (): void => resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      response.on("end", end).on("error", end).on("close", end);
    });
  });
  return { reply, request };
}

it.each(CASES)("%s, while %s: %s", async (name, phase, event) => {
  const [asked, known, judged, decided] = [gate(), gate(), gate(), gate()];
  const ran: string[] = [];
  const server = new Server({ name: "s", version: "1", report: false });
  server.tool("act", { run: () => (ran.push("act"), "acted") });
  server.tool("job", { task: "required", run: (_args, { signal }) => (ran.push("job"), lasting(signal)) });
  server.resource("test://a", { read: () => "a", watch: () => (ran.push("watch"), undefined) });
  let holds = true;
  server.use(async (call, next) => {
    if (holds && phase === "it is judged before it runs") {
      judged.open();
      await decided.opened;
      // As a guard does that is asked before it lets a call go on.
      if (call.ended) return {};
    }
    return next();
  });
  const serving = await start(server, {
    authenticate: async (head) => {
      const who = /^Bearer (.+)$/.exec(head.header("authorization") ?? "")?.[1];
      asked.open();
      if (holds && phase === "it is asked who sends it") await known.opened;
      return who;
    },
  });
  const { headers, body } = REQUESTS[name as keyof typeof REQUESTS];
  const { reply, request } = begin(serving.url, headers, Buffer.byteLength(body));
  request.write(body.slice(0, 10));
  await asked.opened;
  if (phase === "its body is on the way") await served(serving);
  else request.end(body.slice(10));
  if (phase === "it is judged before it runs") await judged.opened;

  const over = (EVENTS[event] as (serving: HttpServing) => Promise<void>)(serving);
  holds = false;
  known.open();
  decided.open();
  if (phase === "its body is on the way") request.end(body.slice(10));
  const { status, headers: told, text } = await reply;
  expect(ran, `${status} ${text}`).toEqual([]);
  expect(told["mcp-session-id"]).toBeUndefined();
  expect(text).not.toContain("acknowledged");
  await over;
  expect(serving.stats()).toMatchObject({ sessions: 0, streams: 0 });
});

/** Resolves when the process has taken in all that was written to it so far: another request has been answered since. */
async function served({ url }: HttpServing): Promise<void> {
  await send(url, { method: "GET", headers: { ...ADA, accept: "text/event-stream" } });
}

function lasting(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

it("lets somebody in again who was sent away and is known anew, and takes nothing from anybody else", async () => {
  const server = new Server({ name: "s", version: "1", report: false });
  server.tool("act", { run: (_args, { principal }) => `for ${principal}` });
  const serving = await start(server, { authenticate: (head) => head.header("authorization")?.slice(7) });
  const { headers, body } = REQUESTS["a call"];
  const [hers, his] = [
    begin(serving.url, headers, body.length),
    begin(serving.url, { ...headers, authorization: "Bearer ben" }, body.length),
  ];
  for (const { request } of [hers, his]) request.write(body.slice(0, 10));
  await served(serving);
  await served(serving);
  await serving.endSessions((principal) => principal === "ada");
  for (const { request } of [hers, his]) request.end(body.slice(10));
  expect(await hers.reply).toMatchObject({
    status: 401,
    text: expect.stringContaining("taken back or exchanged") as string,
  });
  expect((await his.reply).text).toContain("for ben");
  expect((await post(serving.url, body, { ...ADA, ...headers })).text).toContain("for ada");
});

it("gives one pass for all requests of somebody, until it is taken back", () => {
  const passes = new Passes();
  const [hers, again, his] = [passes.give("ada"), passes.give("ada"), passes.give("ben")];
  expect(again).toBe(hers);
  const entering = passes.enter();
  passes.revoke((principal) => principal === "ada");
  expect([hers.revoked, his.revoked]).toEqual([true, false]);
  // Who was being found out meanwhile is judged as somebody who was there.
  expect(passes.give("ada", entering).revoked).toBe(true);
  expect([passes.give("ada").revoked, passes.give("ben")]).toEqual([false, his]);
});

it("keeps one pass for those nobody asked who they are, until it is taken back", async () => {
  const server = new Server({ name: "s", version: "1", report: false });
  let ran = 0;
  server.tool("act", { run: () => String((ran += 1)) });
  const serving = await start(server);
  const { headers, body } = REQUESTS["a call"];
  const begun = begin(serving.url, headers, body.length);
  begun.request.write(body.slice(0, 10));
  await served(serving);
  await serving.endSessions(() => true);
  begun.request.end(body.slice(10));
  expect(await begun.reply).toMatchObject({ status: 401 });
  expect(ran).toBe(0);
  await post(serving.url, body, headers);
  expect(ran).toBe(1);
});

it("keeps no task of somebody who was sent away while it was being kept", async () => {
  const kept = new Map<string, unknown>();
  const [putting, put] = [gate(), gate()];
  const ended: string[] = [];
  const store = {
    put: async (record: { task: { taskId: string } }) => {
      putting.open();
      await put.opened;
      kept.set(record.task.taskId, record);
    },
    get: async (id: string) => kept.get(id),
    delete: async (id: string) => void kept.delete(id),
    list: async () => [...kept.values()].map((each) => each),
  };
  const server = new Server({ name: "s", version: "1", report: false, tasks: { store: store as never } });
  server.tool("job", {
    task: "required",
    run: (_args, { signal }) => lasting(signal).finally(() => ended.push("job")),
  });
  const serving = await start(server, { authenticate: (head) => head.header("authorization")?.slice(7) });
  const { headers, body } = REQUESTS["a task"];
  const { reply, request } = begin(serving.url, headers, body.length);
  request.end(body);
  await putting.opened;
  await serving.endSessions((principal) => principal === "ada");
  const over = server.endWorkOf("ada");
  put.open();
  await over;
  await reply;
  await expect.poll(() => kept.size).toBe(0);
});

it("runs nothing of a caller who has gone while it was asked who that is", async () => {
  const server = new Server({ name: "gone", version: "1" });
  let ran = 0;
  server.tool("act", { run: () => String((ran += 1)) });
  const [asked, told] = [gate(), gate()];
  const authenticate = async (): Promise<string> => (asked.open(), await told.opened, "ada");
  const serving = await start(server, { authenticate });
  const { headers, body } = REQUESTS["a call"];
  const request = httpRequest(serving.url, { method: "POST", headers: { ...JSON_TYPES, ...headers }, agent: false });
  request.on("error", () => undefined).end(body);
  await asked.opened;
  request.destroy();
  await expect.poll(() => serving.stats().connections).toBe(0);
  told.open();
  // Whoever comes after it is served after it.
  expect((await post(serving.url, body, headers)).text).toContain('"text":"1"');
});
