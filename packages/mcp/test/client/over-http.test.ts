// The client over HTTP against our own server: every revision, sessions that end, the older transport, both requesters.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Client } from "../../src/client/client.js";
import { connect as connectAnywhere, type ConnectOptions } from "../../src/serve/connect.js";
import { connect as connectNode } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";
import { start, testServer } from "../http/http-fixture.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const clients: Client[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

async function connected(
  url: string,
  options: ConnectOptions = {},
  connect: typeof connectAnywhere = connectNode,
): Promise<Client> {
  const client = await connect(url, { verdicts: false, ...options });
  clients.push(client);
  return client;
}

const text = (value: string): object => ({ content: [{ type: "text", text: value }] });

describe.each(REVISIONS)("in %s over HTTP", (revision) => {
  it.each([
    ["node", connectNode],
    ["fetch", connectAnywhere],
  ] as const)("by %s: lists, calls, progress, questions", async (_name, connect) => {
    const { url } = await start();
    const elicit = (): { action: "accept"; content: { sure: boolean } } => ({
      action: "accept",
      content: { sure: true },
    });
    const client = await connected(url, { revision, elicit }, connect);
    expect(client).toMatchObject({ revision, transport: "http", server: { name: "http-test" } });
    expect((await client.tools().all()).map(({ name }) => name)).toContain("region");
    expect(await client.call("echo", { text: "hö\n\u2028" })).toMatchObject(text("hö\n\u2028"));
    const seen: number[] = [];
    await client.call("steps", {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual([1, 2]);
    const args = { region: " süd\t", count: 42, sure: false, place: { city: "" } };
    expect(await client.call("region", args)).toMatchObject(text(JSON.stringify(args)));
    if (revision >= "2025-06-18") expect(await client.call("ask")).toMatchObject(text("accept"));
    expect(await client.read("test://a")).toMatchObject({ contents: [{ text: "A" }] });
  });
});

it("connects in the newest revision by itself, and by HTTP+SSE where there is nothing else", async () => {
  const both = await start(testServer(), { sse: true });
  expect(await connected(both.url)).toMatchObject({ revision: "2026-07-28", era: "stateless" });
  const older = await connected(new URL("/sse", both.url).href);
  expect(older).toMatchObject({ transport: "sse", era: "handshake" });
  expect(await older.call("echo", { text: "x" })).toMatchObject(text("x"));
});

it("opens a session anew that the server forgot, once, and goes on", async () => {
  const { url } = await start();
  const sessions = new Set<string>();
  const spying = (to: string, init: RequestInit): Promise<Response> => {
    const session = new Headers(init.headers).get("mcp-session-id");
    if (session !== null) sessions.add(session);
    return fetch(to, init);
  };
  const client = await connected(url, { revision: "2025-11-25", http: { fetch: spying } });
  await client.call("echo", { text: "a" });
  const [first = ""] = sessions;
  await fetch(url, { method: "DELETE", headers: { "mcp-session-id": first, "mcp-protocol-version": "2025-11-25" } });
  expect(await client.call("echo", { text: "b" })).toMatchObject(text("b"));
  expect(sessions.size).toBe(2);
});

it.each(["2025-11-25", "2026-07-28"])("hears of changes in %s", async (revision) => {
  const server = new Server({ name: "changing", version: "1.0.0", capabilities: { expect: ["tools", "resources"] } });
  server.tool("add", {
    run() {
      server.tool("another", { run: () => "x" });
      server.resourceUpdated("test://a");
      return "added";
    },
  });
  server.resource("test://a", { name: "a", read: () => "A" });
  const { url } = await start(server);
  const onListChanged = vi.fn();
  const client = await connected(url, { revision, onListChanged });
  expect(await client.tools().all()).toHaveLength(1);
  await using watching = client.subscribe({ resources: ["test://a"], toolsListChanged: true });
  await watching.ready;
  await client.call("add");
  const changes: unknown[] = [];
  for await (const change of watching) if (changes.push(change) === 2) break;
  expect(changes).toEqual(expect.arrayContaining([{ kind: "tools" }, { kind: "resource", uri: "test://a" }]));
  await vi.waitFor(() => expect(onListChanged).toHaveBeenCalledWith({ kind: "tools" }), { timeout: 10_000 });
  expect(await client.tools().all()).toHaveLength(2);
});

it("cancels a call without a session by hanging up", async () => {
  const server = new Server({ name: "slow", version: "1.0.0" });
  const stopped = vi.fn();
  const started = vi.fn();
  server.tool("wait", {
    run: (_args, ctx) =>
      new Promise((_resolve, reject) => {
        started();
        ctx.signal.addEventListener("abort", () => {
          stopped();
          reject(ctx.signal.reason as Error);
        });
      }),
  });
  const { url } = await start(server);
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    stopped.mockClear();
    started.mockClear();
    const client = await connected(url, { revision });
    const controller = new AbortController();
    const call = client.call("wait", {}, { signal: controller.signal });
    void vi
      .waitFor(() => expect(started).toHaveBeenCalled(), { timeout: 10_000 })
      .then(() => controller.abort("enough"));
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    await vi.waitFor(() => expect(stopped).toHaveBeenCalled(), { timeout: 10_000 });
  }
});
