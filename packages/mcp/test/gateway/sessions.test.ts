// Sessions and what belongs to one person, through the gateway: batches, lost sessions, servers that come back as others, tasks.
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { RpcError } from "../../src/jsonrpc/errors.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { taskFileStore } from "../../src/node/task-file-store.js";
import { serveHttp } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const JSON_TYPE = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const bearer = (request: { header(name: string): string | undefined }): string | undefined =>
  request.header("authorization")?.slice("Bearer ".length);

/** A session by hand: what is posted to it, and its id. */
async function session(
  url: string,
  protocolVersion: string,
  more: Readonly<Record<string, string>> = {},
): Promise<{ readonly id: string; post(body: unknown): Promise<{ readonly status: number; readonly json: unknown }> }> {
  const headers: Record<string, string> = { ...JSON_TYPE, ...more };
  const send = async (body: unknown): Promise<Response> =>
    fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "by hand", version: "1" } };
  const opened = await send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  const id = opened.headers.get("mcp-session-id") ?? "";
  await opened.text();
  headers["mcp-session-id"] = id;
  if (protocolVersion >= "2025-06-18") headers["mcp-protocol-version"] = protocolVersion;
  await send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    id,
    async post(body) {
      const response = await send(body);
      const text = await response.text();
      const data = [...text.matchAll(/^data: ?(.+)$/gm)].map(([, line]) => JSON.parse(line as string) as unknown);
      if (data.length > 0) return { status: response.status, json: data.flat() };
      return { status: response.status, json: text === "" ? undefined : (JSON.parse(text) as unknown) };
    },
  };
}

/** A server of one tool that says its own name, and how often it was called. */
function named(name: string): { readonly server: Server; calls(): number } {
  const server = new Server({ name, version: "1" });
  let calls = 0;
  server.tool("say", { run: () => (calls++, name) });
  return { server, calls: () => calls };
}

const call = (id: number, name: string): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {} },
});

it("a batch of calls to five servers, one of them dead, has five answers in one list (case 21)", async () => {
  const gateway = stage.gateway();
  for (const name of ["a", "b", "c", "d"]) await gateway.mount(name, open(await stage.serve(named(name).server)));
  const dead = await serveHttp(named("e").server, { signals: false });
  await gateway.mount("e", open(dead.url));
  await dead.close();
  const peer = await session(await stage.serve(gateway), "2025-03-26");
  const names = ["a", "b", "c", "d", "e"];
  const { status, json } = await peer.post(names.map((name, index) => call(index + 1, `${name}__say`)));
  expect(status).toBe(200);
  const answers = (json as { id: number; result?: { isError?: boolean } }[]).sort((a, b) => a.id - b.id);
  expect(answers.map(({ id, result }) => [id, result?.isError ?? false])).toEqual([
    [1, false],
    [2, false],
    [3, false],
    [4, false],
    [5, true],
  ]);
  const silent = await peer.post([{ jsonrpc: "2.0", method: "notifications/roots/list_changed" }]);
  expect(silent).toEqual({ status: 202, json: undefined });
});

it("batches are refused where there are none, and a denied call in one is denied alone (case 22)", async () => {
  const up = named("up");
  const gateway = stage.gateway();
  const denied: string[] = [];
  gateway.use((asked, next) => {
    if (asked.params["name"] !== "up__say" || asked.id !== 3) return next();
    denied.push(String(asked.id));
    throw new RpcError(-32000, "denied");
  });
  await gateway.mount("up", open(await stage.serve(up.server)));
  const url = await stage.serve(gateway);
  for (const revision of ["2025-06-18", "2025-11-25"]) {
    const refused = await (await session(url, revision)).post([call(1, "up__say")]);
    expect(refused).toMatchObject({ status: 400, json: { error: { code: -32600 } } });
  }
  const opening = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-03-26" } };
  const body = JSON.stringify([opening, call(2, "up__say")]);
  const inside = await fetch(url, { method: "POST", headers: JSON_TYPE, body });
  expect(await inside.text()).toContain("-32600");
  expect(up.calls()).toBe(0);
  const { json } = await (await session(url, "2025-03-26")).post([1, 2, 3, 4].map((id) => call(id, "up__say")));
  const answers = (json as { id: number; error?: object }[]).sort((a, b) => a.id - b.id);
  expect(answers.map(({ error }) => error !== undefined)).toEqual([false, false, true, false]);
  expect(denied).toEqual(["3"]);
  expect(up.calls()).toBe(3);
});

it("a server that has forgotten its session is given a new one, and sent each call once (case 44)", async () => {
  const up = named("up");
  const first = await serveHttp(up.server, { signals: false });
  const gateway = stage.gateway();
  await gateway.mount("up", open(first.url, { revision: "2025-11-25" }));
  const client = await stage.client(gateway);
  expect(texts(await client.call("up__say"))).toBe("up");
  await first.close();
  const again = await serveHttp(up.server, { signals: false, port: Number(new URL(first.url).port) });
  stage.later(() => again.close());
  const said: string[] = [];
  for (const _ of [1, 2, 3]) said.push(texts(await client.call("up__say")));
  for (const text of said)
    expect(text).toMatch(/^up$|^up: it forgot the session\. Whether the call did its work is not known: look/);
  expect(said.at(-1)).toBe("up");
  const served = said.filter((text) => text === "up").length;
  expect(up.calls()).toBe(1 + served);
});

it.each([{}, { reconnect: false as const }])(
  "what is watched at a server that has forgotten its session is said to have changed, and watched on (%o)",
  async (how) => {
    const up = named("up");
    up.server.resource("note://a", { name: "a", read: () => "a" });
    const first = await serveHttp(up.server, { signals: false });
    const gateway = stage.gateway({ report: false });
    await gateway.mount("up", open(first.url, { revision: "2025-11-25", ...how }));
    const client = await stage.client(gateway);
    // Over the connection of the calls, which is how the end of its session is noticed.
    expect(texts(await client.call("up__say"))).toBe("up");
    const subscription = client.subscribe({ resources: ["note://a"] });
    await subscription.ready;
    let changes = 0;
    void (async () => {
      for await (const { kind } of subscription) if (kind === "resource") changes++;
    })();
    await first.close();
    const again = await serveHttp(up.server, { signals: false, port: Number(new URL(first.url).port) });
    stage.later(() => again.close());
    await expect.poll(async () => texts(await client.call("up__say"))).toBe("up");
    await expect.poll(() => changes).toBeGreaterThan(0);
    const before = changes;
    const told = (): number => {
      up.server.resourceUpdated("note://a");
      return changes;
    };
    await expect.poll(told).toBeGreaterThan(before);
  },
);

it("a server that comes back in another era, and back, is spoken to as it is, and no call runs twice (case 46)", async () => {
  const calls: string[] = [];
  let era: "sessions" | "none" = "sessions";
  const url = await stage.listen((request, response) => void answerAs(era, { request, response, calls }));
  const gateway = stage.gateway();
  await gateway.mount("up", open(url));
  const client = await stage.client(gateway);
  const say = async (tag: string): Promise<string> =>
    client.call("up__say", { tag }).then(texts, (error: unknown) => String(error));
  expect(await say("1")).toBe("sessions 1");
  for (const [now, tag] of [
    ["none", "2"],
    ["sessions", "3"],
  ] as const) {
    era = now;
    let said = "";
    for (const tries of [0, 1, 2]) if (!said.startsWith(now)) said = await say(`${tag}${tries}`);
    expect(said).toContain(now);
  }
  expect(new Set(calls).size).toBe(calls.length);
});

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly calls: string[];
}

/** One server, as it was before it was deployed anew, or after. */
async function answerAs(era: "sessions" | "none", { request, response, calls }: Exchange): Promise<void> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  if (request.method !== "POST") return void response.writeHead(405).end();
  const { id, method, params } = JSON.parse(text) as { id?: number; method: string; params?: JsonObject };
  if (id === undefined) return void response.writeHead(202).end();
  const claims = params?.["_meta"] !== undefined && JSON.stringify(params["_meta"]).includes("2026-07-28");
  const answers: Readonly<Record<string, () => JsonObject>> = {
    "tools/list": () => ({ tools: [{ name: "say", inputSchema: { type: "object" } }] }),
    "tools/call": () => {
      const tag = String((params?.["arguments"] as JsonObject | undefined)?.["tag"]);
      calls.push(tag);
      return { content: [{ type: "text", text: `${era} ${tag}` }] };
    },
    ...(era === "sessions"
      ? {
          initialize: () => ({
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name: "old", version: "1" },
          }),
        }
      : { "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }) }),
  };
  const known = answers[method];
  const speaks = era === "sessions" ? !claims : claims;
  const result = known === undefined || !speaks ? undefined : known();
  const hints = era === "none" ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
  const said =
    result === undefined
      ? { error: { code: known === undefined ? -32601 : -32602, message: "not in this era" } }
      : { result: { ...hints, ...result } };
  response.writeHead(result === undefined ? 400 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}

it("what one person has is nobody else's: connection, session, task (cases 60 and 61)", async () => {
  const upstream = new Server({ name: "up", version: "1" });
  upstream.tool("whose", { run: () => "yours" });
  upstream.tool("long", { task: "optional", run: () => "done" });
  const gateway = stage.gateway();
  const mounted = await gateway.mount("up", open(await stage.serve(upstream), { revision: "2025-11-25" }));
  const url = await stage.serve(gateway, { authenticate: bearer });
  const person = (name: string): Promise<Client> =>
    stage.client(url, { revision: "2025-11-25", http: { headers: { authorization: `Bearer ${name}` } } } as object);
  const [ada, bob] = await Promise.all([person("ada"), person("bob")]);
  await ada.call("up__whose");
  await bob.call("up__whose");
  // One for the lists, and one for each.
  expect(mounted.connections).toBe(3);
  const task = await ada.callTask("up__long", {});
  await task.result();
  await expect(bob.request("tasks/get", { taskId: task.id as string })).rejects.toMatchObject({ code: -32602 });
  await expect(bob.request("tasks/result", { taskId: task.id as string })).rejects.toMatchObject({ code: -32602 });
  const hers = await session(url, "2025-11-25", { authorization: "Bearer ada" });
  for (const method of ["POST", "GET", "DELETE"]) {
    const headers = { ...JSON_TYPE, authorization: "Bearer bob", "mcp-session-id": hers.id, "last-event-id": "1" };
    const init = { method, headers: { ...headers, accept: "text/event-stream, application/json" } };
    const body = method === "POST" ? { body: JSON.stringify(call(1, "up__whose")) } : {};
    const response = await fetch(url, { ...init, ...body });
    await response.body?.cancel();
    expect([method, [403, 404].includes(response.status)]).toEqual([method, true]);
  }
  expect((await hers.post(call(2, "up__whose"))).json).toMatchObject({ id: 2, result: { isError: false } });
});

it("a task is there after the gateway was started again, for whoever had it (case 19)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gateway-tasks-"));
  stage.later(() => rm(folder, { recursive: true }));
  const upstream = new Server({ name: "up", version: "1" });
  upstream.tool("long", { task: "optional", run: () => "done" });
  const there = await stage.serve(upstream);
  const started = async (): Promise<{ url: string; close(): Promise<void> }> => {
    const gateway = stage.gateway({ tasks: { store: await taskFileStore(folder) } });
    await gateway.mount("up", open(there, { revision: "2025-11-25" }));
    const serving = await serveHttp(gateway, { signals: false, authenticate: bearer, limits: { drainMs: 1 } });
    return { url: serving.url, close: () => serving.close().then(() => gateway.unmountAll()) };
  };
  const person = (url: string, name: string): Promise<Client> =>
    stage.client(url, { revision: "2025-11-25", http: { headers: { authorization: `Bearer ${name}` } } } as object);
  const first = await started();
  const task = await (await person(first.url, "ada")).callTask("up__long", {});
  expect(texts((await task.result()) as never)).toBe("done");
  await first.close();
  const second = await started();
  stage.later(() => second.close());
  const again = await (await person(second.url, "ada")).request("tasks/result", { taskId: task.id as string });
  expect(texts(again as never)).toBe("done");
  const bob = await person(second.url, "bob");
  await expect(bob.request("tasks/get", { taskId: task.id as string })).rejects.toMatchObject({ code: -32602 });
});
