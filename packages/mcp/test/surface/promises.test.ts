// Promises of public doc comments ("never", "once", "at most") that no other test shows.
import { afterEach, describe, expect, it, vi } from "vitest";
import { toAnthropicTools, toOpenAiTools } from "@secure-local/mcp/adapters";
import { type Client, connect, type Elicit } from "@secure-local/mcp/client";
import { toFetch } from "@secure-local/mcp/fetch";
import { Gateway, Mounts } from "@secure-local/mcp/gateway";
import { Host } from "@secure-local/mcp/host";
import { Server } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { fetchRequester } from "../../src/http/client/fetch-requester.js";
import { streamableHttpTransport } from "../../src/http/client/streamable-http-transport.js";
import type { RequestId } from "../../src/jsonrpc/message.js";
import { restartDelay } from "../../src/jsonrpc/outgoing.js";
import { serve } from "../../src/serve/serve.js";
import type { MessageSink, Transport } from "../../src/jsonrpc/transport.js";
import { MemoryTaskStore } from "../../src/server/tasks/task-manager.js";
import type { TaskRecord } from "../../src/server/tasks/task-store.js";
import { memoryTransports } from "../../src/transport/memory.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0).toReversed()) await close();
});

function greeter(): Server {
  const server = new Server({ name: "greeter", version: "1", report: false });
  server.tool("greet", { run: () => "hello" });
  server.tool("who", { run: (_args, ctx) => (ctx.identity === undefined ? "nobody" : "somebody") });
  server.tool("fails", {
    run: () => {
      throw new Error("SECRET cause");
    },
  });
  return server;
}

async function connected(server: Server, options: object = {}): Promise<Client> {
  const client = await connect(server, options);
  closing.push(() => client.close());
  return client;
}

describe("Identity", () => {
  it("keeps what a token says about its holder from the peer, in every answer", async () => {
    const identity = { principal: "issuer|somebody", scopes: [], claims: { note: "SECRET claim" } };
    const handle = toFetch(greeter(), { authenticate: () => ({ identity }) });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const said: string[] = [];
    for (const [method, params] of [
      ["server/discover", {}],
      ["tools/list", {}],
      ["tools/call", { name: "who" }],
      ["tools/call", { name: "fails" }],
      ["no/such", {}],
    ] as const) {
      const meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });
      const name = "name" in params ? { "mcp-name": params.name } : {};
      const request = {
        method: "POST",
        headers: { ...headers, "mcp-method": method, ...name, authorization: "Bearer t" },
      };
      const versioned = { ...request.headers, "mcp-protocol-version": "2026-07-28" };
      const response = await handle(new Request("http://localhost/mcp", { ...request, headers: versioned, body }));
      said.push(JSON.stringify([...response.headers]), await response.text());
    }
    expect(said.join("\n")).toContain("somebody");
    expect(said.join("\n")).not.toContain("SECRET");
  });
});

describe("TaskStore", () => {
  it("is put a task when it begins and once more when it has ended, each time another record", async () => {
    const records: TaskRecord[] = [];
    class Watched extends MemoryTaskStore {
      override put(record: TaskRecord): void {
        records.push(Object.freeze({ ...record, task: Object.freeze({ ...record.task }) }));
        super.put(records.at(-1) as TaskRecord);
      }
    }
    const server = new Server({ name: "s", version: "1", tasks: { store: new Watched() } });
    server.tool("long", { task: "optional", run: () => "done" });
    const client = await connected(server, { revision: "2025-11-25" });
    const task = await client.callTask("long");
    expect(await task.result()).toMatchObject({ content: [{ text: "done" }] });
    expect(records.map((record) => record.task.status)).toEqual(["working", "completed"]);
    expect(records[0]?.task.taskId).toBe(records[1]?.task.taskId);
  });
});

describe("MemoryPeer", () => {
  it("gives each message once", async () => {
    const peer = await connectInMemory(greeter());
    closing.push(() => peer.close());
    peer.send('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    peer.send('{"jsonrpc":"2.0","id":2,"method":"ping"}');
    expect(await peer.next()).toMatchObject({ id: 1 });
    expect(await peer.next()).toMatchObject({ id: 2 });
  });
});

/** A client's transport to `server` in memory that counts what is asked of it. */
function counted(server: Server): { transport: Transport; asked: Record<"start" | "close", number> } {
  const [ours, theirs] = memoryTransports();
  serve(server, theirs);
  const asked = { start: 0, close: 0 };
  const start = (sink: MessageSink): void | Promise<void> => {
    asked.start++;
    return ours.start(sink);
  };
  const close = (): Promise<void> => {
    asked.close++;
    return ours.close();
  };
  return { asked, transport: { kind: "memory", start, send: (message) => ours.send(message), close } };
}

describe("Transport", () => {
  it("is started once, whatever is asked over it and however often it is closed", async () => {
    const { transport, asked } = counted(greeter());
    const client = await connect(() => transport, { reconnect: false, revision: "2025-11-25" });
    await Promise.all([client.call("greet"), client.tools().all(), client.ping()]);
    await Promise.all([client.close(), client.close()]);
    expect(asked.start).toBe(1);
    expect(asked.close).toBeGreaterThan(0);
  });

  it("drops what is sent after its end, and says nothing", async () => {
    const [ours, theirs] = memoryTransports();
    serve(greeter(), theirs);
    const received: string[] = [];
    const nothing = (): void => undefined;
    await ours.start({
      receive: (text) => void received.push(text),
      unreadable: nothing,
      lost: nothing,
      noise: nothing,
      closed: nothing,
    });
    await ours.close();
    expect(ours.send({ text: '{"jsonrpc":"2.0","id":1,"method":"ping"}', kind: "request" })).toBeUndefined();
    await ours.close();
    expect(received).toEqual([]);
  });
});

/** What a program may call at any time, also after the other side is gone. */
describe("what never rejects", () => {
  it("closing a client and a subscription, in any order, twice, after the server is gone", async () => {
    const [ours, theirs] = memoryTransports();
    const server = greeter();
    server.resource("note:1", { read: () => "note" });
    serve(server, theirs);
    const client = await connect(() => ours, { reconnect: false, revision: "2026-07-28" });
    const subscription = client.subscribe({ toolsListChanged: true });
    await theirs.close();
    await expect(
      Promise.all([subscription.close(), client.close(), subscription.close(), client.close()]),
    ).resolves.toBeDefined();
  });

  it("closing a host, one of whose servers never answers and one of which is gone", async () => {
    const host = new Host({ authorize: () => true });
    const [ours, theirs] = memoryTransports();
    serve(greeter(), theirs);
    await host.add("good", () => ours);
    const adding = host.add("silent", () => memoryTransports()[0]);
    await theirs.close();
    await expect(Promise.all([host.close(), host.close()])).resolves.toBeDefined();
    await adding;
  });

  it("restarting and removing what is mounted, whose server ended before", async () => {
    const gateway = new Gateway({ name: "gateway", version: "1", report: false });
    const upstream = await connect(greeter());
    const mounted = await gateway.mount("up", upstream);
    await upstream.close();
    await expect(
      Promise.all([mounted.restart(), mounted.remove(), mounted.remove(), gateway.unmountAll()]),
    ).resolves.toBeDefined();
    const mounts = new Mounts(gateway);
    await mounts.mount("again", (options) => connect(greeter(), options));
    await expect(Promise.all([mounts.removeAll(), mounts.removeAll()])).resolves.toBeDefined();
  });

  it("running what a model asks for: of a tool that is not there, with arguments that are none, after the end", async () => {
    const client = await connect(greeter());
    const [anthropic, openAi] = [await toAnthropicTools(client), await toOpenAiTools(client)];
    const run = async (name: string, args: string): Promise<string> => {
      const item = await openAi.run({ call_id: "1", name, arguments: args });
      const message = await openAi.runChat({ id: "1", function: { name, arguments: args } });
      const block = await anthropic.run({ id: "1", name, input: args });
      return JSON.stringify([item, message, block]);
    };
    expect(await run("no_such", "{}")).toContain("no_such");
    expect(await run("greet", "not JSON")).toContain("1");
    await client.close();
    expect(await run("greet", "{}")).toContain("cannot be reached");
  });
});

const ask: Elicit = () => ({ action: "decline" });

describe("Gateway", () => {
  it("opens a connection for each user and for each set of things a caller can be asked, and no other", async () => {
    const opened: string[] = [];
    const gateway = new Gateway({ name: "gateway", version: "1" });
    const open = (options: object): Promise<Client> => {
      opened.push("elicit" in options && options.elicit !== undefined ? "can be asked" : "cannot");
      return connect(greeter(), options);
    };
    await gateway.mount("up", open);
    closing.push(() => gateway.unmountAll());
    const listing = opened.length;
    const callers = [
      { principal: "one" },
      { principal: "one" },
      { principal: "two" },
      { principal: "two", elicit: ask },
      { principal: "two", elicit: ask },
    ];
    for (const { principal, ...options } of callers) {
      const [ours, theirs] = memoryTransports(principal);
      serve(gateway, theirs);
      const client = await connect(() => ours, { ...options, reconnect: false });
      closing.push(() => client.close());
      for (let n = 0; n < 3; n++) await client.call("up__greet");
    }
    expect(opened.slice(listing).toSorted()).toEqual(["can be asked", "cannot", "cannot"]);
  });

  it("closes no connection by itself where no time is set, and starts no timer for it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval"] });
    const gateway = new Gateway({ name: "gateway", version: "1" });
    const mounted = await gateway.mount("up", (options) => connect(greeter(), options));
    const client = await connect(gateway);
    await client.call("up__greet");
    const open = mounted.connections;
    await vi.advanceTimersByTimeAsync(7 * 24 * 3_600_000);
    expect(mounted.connections).toBe(open);
    expect(open).toBeGreaterThan(0);
    await client.close();
    await gateway.unmountAll();
  });

  it("never calls a mounted server's resource as the server's own is called", async () => {
    const upstream = new Server({ name: "up", version: "1" });
    upstream.resource("note:own", { read: () => "the mounted one" });
    upstream.resource("note:other", { read: () => "another" });
    const server = new Server({ name: "s", version: "1" });
    server.resource("note:mine", { read: () => "mine" });
    const mounts = new Mounts(server, (uri) => uri === "note:own" || uri === "note:mine");
    await mounts.mount("up", (options) => connect(upstream, options));
    closing.push(() => mounts.removeAll());
    const client = await connected(server);
    const uris = (await client.resources().all()).map(({ uri }) => uri);
    expect(uris).toContain("note:other");
    expect(uris).not.toContain("note:own");
    await expect(client.read("note:own")).rejects.toThrow();
  });
});

describe("LoadOptions", () => {
  it("asks for each value of a configuration once, however often it stands there", async () => {
    const asked: string[] = [];
    const host = new Host({ authorize: () => false });
    closing.push(() => host.close());
    const headers = { authorization: "Bearer ${input:key}", other: "${input:key}", third: "${input:more}" };
    const servers = {
      one: { url: "http://127.0.0.1:9/mcp", headers },
      two: { url: "http://127.0.0.1:9/sse", headers },
    };
    const inputs = ["key", "more"].map((id) => ({ id, type: "promptString", description: id }));
    await host.load(JSON.stringify({ servers, inputs }), {
      input: (id) => {
        asked.push(id.id);
        return Promise.resolve("value");
      },
    });
    expect(asked.toSorted()).toEqual(["key", "more"]);
  });
});

/** A server that ends, cuts or repeats its answers: what a client's requests may meet. */
const ANSWERS: Readonly<Record<string, (id: unknown) => Response>> = {
  answered: (id) => json({ jsonrpc: "2.0", id, result: {} }),
  refused: (id) => json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }),
  "answered twice": (id) =>
    json([
      { jsonrpc: "2.0", id, result: {} },
      { jsonrpc: "2.0", id, result: {} },
    ]),
  "answered for another": () => json({ jsonrpc: "2.0", id: "nobody", result: {} }),
  "an empty body": () => new Response("", { headers: { "content-type": "application/json" } }),
  "a page": () => new Response("<html>", { status: 502, headers: { "content-type": "text/html" } }),
  "a stream that is cut": () => new Response(": hello\n\n", { headers: { "content-type": "text/event-stream" } }),
  "a session that is over": () => new Response("", { status: 404 }),
};

function json(body: unknown): Response {
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
}

describe("streamableHttpTransport", () => {
  it.each(Object.keys(ANSWERS))("tells once what became of each request: %s", async (kind) => {
    const ended: RequestId[] = [];
    const transport = streamableHttpTransport({
      url: "http://127.0.0.1:1/mcp",

      requester: fetchRequester(async (_url, { body }) => {
        const { id } = JSON.parse(await new Response(body ?? "").text()) as { id: unknown };
        return (ANSWERS[kind] as (id: unknown) => Response)(id);
      }),
    });
    const told = (): void => undefined;
    await transport.start({
      receive: (text) => {
        for (const message of [JSON.parse(text)].flat() as { id: RequestId }[]) ended.push(message.id);
      },
      unreadable: told,
      lost: (id) => void ended.push(id),
      noise: told,
      closed: told,
    });
    for (let id = 1; id <= 3; id++) {
      const text = JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
      await transport.send({ text, kind: "request", id, method: "ping" });
    }
    const repeats = kind === "answered twice" ? [1, 1, 2, 2, 3, 3] : [1, 2, 3];
    await expect
      .poll(() => ended.filter((id) => id !== "nobody").toSorted((a, b) => Number(a) - Number(b)))
      .toEqual(repeats);
    await transport.close();
    expect(ended.filter((id) => id !== "nobody").toSorted((a, b) => Number(a) - Number(b))).toEqual(repeats);
  });
});

describe("ReconnectOptions", () => {
  it("are bounds: at most the first delay, doubled with each failure, up to the longest, and half of each left to chance", () => {
    for (const chance of [0, 0.5, 0.999_999]) {
      const delays = [1, 2, 3, 9].map((failures) =>
        restartDelay(failures, { firstMs: 250, mostMs: 1_500, random: () => chance }),
      );
      for (const [at, most] of [250, 500, 1_000, 1_500].entries()) {
        expect(delays[at]).toBeLessThanOrEqual(most);
        expect(delays[at]).toBeGreaterThanOrEqual(most / 2);
      }
    }
  });
});
