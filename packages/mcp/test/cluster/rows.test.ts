// What once failed behind a balancer, row by row: for 3 and for 10 members, in every revision, by our client and both official SDKs,
// with each request at a random one.
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.js";
import { redisCluster } from "../../src/redis/redis-stores.js";
import { connect } from "../../src/serve/connect.js";
import { inputRequired } from "../../src/server/interactive.js";
import { Server } from "../../src/server/server.js";
import { gate } from "../http/http-fixture.js";
import { type Cluster, inMemory, KEY, startCluster } from "./cluster-fixture.js";
import { hasRedis, prefix, startRedis } from "./redis-fixture.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;
const [OLDEST, , FORMS, TASKS, STATELESS] = REVISIONS;

/** A client of any make. */
interface Spoken {
  /** Names on all pages. */
  tools(): Promise<readonly string[]>;
  call(name: string, signal?: AbortSignal): Promise<string>;
  watch(uri: string): Promise<void>;
  /** How often it heard of a resource, and of the list of tools. */
  readonly heard: { resources: number; tools: number };
}

const CAPABILITIES = { elicitation: {}, sampling: {} };
const ACCEPTED = { action: "accept", content: { sure: true } } as const;
const SAID = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m" } as const;

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]?.text ?? "";
}

async function everyPage(list: (page: { cursor?: string }) => Promise<unknown>): Promise<readonly string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const page = await list(cursor === undefined ? {} : { cursor });
    const { tools, nextCursor } = page as { tools: { name: string }[]; nextCursor?: string };
    names.push(...tools.map(({ name }) => name));
    cursor = nextCursor;
  }
  return names;
}

async function ours(url: URL, revision: string): Promise<Spoken & { readonly client: Client }> {
  const client = await connect(url, { revision, verdicts: false, elicit: () => ACCEPTED, sample: () => SAID });
  onTestFinished(() => client.close());
  const heard = { resources: 0, tools: 0 };
  const listen = async (uri: string): Promise<void> => {
    const subscription = client.subscribe({ resources: [uri], toolsListChanged: true });
    await subscription.ready;
    void (async () => {
      for await (const { kind } of subscription) heard[kind === "resource" ? "resources" : "tools"]++;
    })().catch(() => undefined);
  };
  return {
    client,
    heard,
    tools: async () => (await client.tools().all()).map(({ name }) => name),
    call: async (name, signal) => textOf(await client.call(name, {}, signal === undefined ? {} : { signal })),
    watch: listen,
  };
}

async function v1(url: URL, revision: string): Promise<Spoken> {
  const transport = revision === OLDEST ? new SseV1(url) : new HttpV1(url);
  const send = transport.send.bind(transport) as (message: unknown, options?: unknown) => Promise<void>;
  transport.send = (message: unknown, options?: unknown) => {
    const one = message as { method?: string; params?: object };
    const opens = one.method === "initialize";
    return send(opens ? { ...one, params: { ...one.params, protocolVersion: revision } } : one, options);
  };
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, () => ACCEPTED);
  client.setRequestHandler(CreateMessageRequestSchema, () => SAID);
  const heard = { resources: 0, tools: 0 };
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void heard.resources++);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.tools++);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    heard,
    tools: () => everyPage((page) => client.listTools(page)),
    call: async (name, signal) =>
      textOf(await client.callTool({ name }, undefined, signal === undefined ? {} : { signal })),
    watch: async (uri) => void (await client.subscribeResource({ uri })),
  };
}

async function v2(url: URL, revision: string): Promise<Spoken> {
  const stateless = revision === STATELESS;
  const pins = stateless
    ? { versionNegotiation: { mode: "auto" as const } }
    : { supportedProtocolVersions: [revision] };
  const client = new ClientV2({ name: "v2", version: "1" }, { capabilities: CAPABILITIES, ...pins });
  client.setRequestHandler("elicitation/create", () => ACCEPTED as never);
  client.setRequestHandler("sampling/createMessage", () => SAID as never);
  const heard = { resources: 0, tools: 0 };
  client.setNotificationHandler("notifications/resources/updated", () => void heard.resources++);
  client.setNotificationHandler("notifications/tools/list_changed", () => void heard.tools++);
  await client.connect(revision === OLDEST ? new SseV2(url) : new HttpV2(url));
  onTestFinished(() => client.close());
  return {
    heard,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, signal) => textOf(await client.callTool({ name }, signal === undefined ? {} : { signal })),
    async watch(uri) {
      if (stateless) await client.listen({ resourceSubscriptions: [uri], toolsListChanged: true });
      else await client.subscribeResource({ uri });
    },
  };
}

/** What the members of a cluster know of together, by their tests alone. */
interface Seen {
  readonly begun: ReturnType<typeof gate<void>>;
  readonly stopped: ReturnType<typeof gate<void>>;
}

const QUESTION = { message: "Sure?", schema: { sure: { type: "boolean" } } } as const;

function rowServer({ begun, stopped }: Seen): Server {
  const server = new Server({ name: "rows", version: "1.0.0", report: () => undefined, limits: { pageSize: 2 } });
  server.tool("echo", { run: () => "here" });
  server.tool("ask", { run: async (_, ctx) => (await ctx.elicit(QUESTION)).action });
  server.tool("twice", {
    run: async (_, ctx) => `${(await ctx.elicit(QUESTION)).action}, ${(await ctx.elicit(QUESTION)).action}`,
  });
  server.tool("think", {
    async run(_, ctx) {
      const asked = { role: "user", content: { type: "text", text: "Capital of France?" } } as const;
      const { content } = await ctx.sample({ messages: [asked], maxTokens: 10 });
      return ([content].flat()[0] as { text: string }).text;
    },
  });
  server.tool("by-hand", {
    run: (_, ctx) =>
      ctx.inputResponses === undefined
        ? inputRequired({
            requests: { sure: { method: "elicitation/create", params: QUESTION_BY_HAND } },
            state: "kept",
          })
        : JSON.stringify(ctx.inputResponses),
  });
  server.tool("wait", {
    run: (_, ctx) => {
      begun.open();
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener("abort", () => {
          stopped.open();
          reject(new Error("stopped"));
        });
      });
    },
  });
  server.tool("job", { task: "optional", run: () => "done" });
  server.tool("asking-job", { task: "optional", run: async (_, ctx) => (await ctx.elicit(QUESTION)).action });
  server.tool("long-job", {
    task: "optional",
    run: (_, ctx) =>
      new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("stopped")))),
  });
  server.resource("test://a", { name: "a", read: () => "A" });
  return server;
}

const QUESTION_BY_HAND = {
  message: "Sure?",
  requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } },
} as const;

async function startRows(count: number): Promise<{ readonly cluster: Cluster; readonly seen: Seen }> {
  const seen: Seen = { begun: gate(), stopped: gate() };
  const redis = hasRedis ? await startRedis() : undefined;
  const own = prefix();
  const shareOf =
    redis === undefined ? inMemory() : (n: number) => redisCluster(redis.url, { key: KEY, prefix: own, node: `m${n}` });
  const cluster = await startCluster({ count, random: true, shareOf, server: () => rowServer(seen) });
  return { cluster, seen };
}

const CLIENTS = { ours, v1, v2 };
const CELLS = Object.entries(CLIENTS).flatMap(([name, open]) =>
  REVISIONS.filter((revision) => name !== "v1" || revision !== STATELESS).map((revision) => ({ name, revision, open })),
);

async function asks(client: Spoken, revision: string): Promise<void> {
  expect(await client.call("think")).toBe("Paris");
  if (revision < FORMS) return;
  expect(await client.call("ask")).toBe("accept");
  expect(await client.call("twice")).toBe("accept, accept");
  if (revision === STATELESS) expect(await client.call("by-hand")).toMatch(/accept/);
}

async function hearsOfAll(client: Spoken, { servers }: Cluster): Promise<void> {
  await client.watch("test://a");
  for (const [n, server] of servers.entries()) {
    server.resourceUpdated("test://a");
    await expect.poll(() => client.heard.resources).toBe(n + 1);
  }
  const before = client.heard.tools;
  servers.at(-1)?.tool("late", { run: () => "late" });
  await expect.poll(() => client.heard.tools).toBeGreaterThan(before);
}

async function hasTasks({ client }: { readonly client: Client }): Promise<void> {
  for (const [name, said] of [
    ["job", "done"],
    ["asking-job", "accept"],
  ] as const) {
    const handle = await client.callTask(name);
    expect(textOf(await handle.result())).toBe(said);
  }
  const long = await client.callTask("long-job");
  expect((await long.status()).status).toBe("working");
  await long.cancel();
  await expect.poll(async () => (await long.status()).status).toBe("cancelled");
}

describe.each([3, 10])("%i members, each request at a random one", (count) => {
  it.each(CELLS)("$name in $revision", async ({ revision, open }) => {
    const { cluster, seen } = await startRows(count);
    const client = await open(new URL(revision === OLDEST ? "/sse" : "/mcp", cluster.url), revision);
    for (let n = 0; n < 2 * count; n++) expect(await client.call("echo")).toBe("here");
    expect(await client.tools()).toHaveLength(9);
    await asks(client, revision);
    await hearsOfAll(client, cluster);
    const cancel = new AbortController();
    const waiting = client.call("wait", cancel.signal);
    await seen.begun.opened;
    cancel.abort();
    await expect(waiting).rejects.toThrow();
    await seen.stopped.opened;
    if ("client" in client && revision >= TASKS) await hasTasks(client as unknown as { readonly client: Client });
  });
});
