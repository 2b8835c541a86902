// Tasks over HTTP: what has no connection of its own reaches the client on the stream that waits for the result.
import { describe, expect, it } from "vitest";
import { serveHttp } from "../../src/serve/http.js";
import { DEFAULT_SERVER_LIMITS } from "../../src/server/limits.js";
import { MemoryTaskStore } from "../../src/server/tasks/task-manager.js";
import { start } from "../http/http-fixture.js";
import { ABLE, DIRECTED, EXTENSION, latch, newServer, RELATED, REQUESTED } from "./task-peer.js";

type Json = Record<string, unknown>;

const CLIENT = { name: "fetch", version: "1.0.0" };

/** A client made of fetch, as one principal. */
class Poster {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #ids = 0;

  constructor(url: string, principal: string) {
    this.#url = url;
    this.#headers = {
      authorization: principal,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
  }

  async open(): Promise<this> {
    const params = { protocolVersion: REQUESTED, capabilities: ABLE, clientInfo: CLIENT };
    const reply = await this.send({ id: 0, method: "initialize", params });
    await reply.text();
    this.#headers["mcp-session-id"] = reply.headers.get("mcp-session-id") as string;
    this.#headers["mcp-protocol-version"] = REQUESTED;
    return this;
  }

  send(message: Json, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return fetch(this.#url, {
      method: "POST",
      headers: { ...this.#headers, ...headers },
      body,
      signal: signal ?? null,
    });
  }

  async request(method: string, params: Json): Promise<Json> {
    const reply = await this.send({ id: ++this.#ids, method, params });
    const text = await reply.text();
    return JSON.parse(text.startsWith("{") ? text : (/data: (\{.*\})/.exec(text)?.[1] ?? "{}")) as Json;
  }

  /** A request of 2026-07-28 with its headers. */
  async stateless(method: string, params: Json): Promise<{ readonly status: number; readonly body: Json }> {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": DIRECTED,
      "io.modelcontextprotocol/clientCapabilities": { extensions: { [EXTENSION]: {} } },
    };
    const headers = {
      "mcp-protocol-version": DIRECTED,
      "mcp-method": method,
      "mcp-name": (params["name"] ?? params["taskId"]) as string,
    };
    const reply = await this.send({ id: ++this.#ids, method, params: { ...params, _meta } }, headers);
    return { status: reply.status, body: (await reply.json()) as Json };
  }
}

/** Messages of an event stream, one by one. */
async function* messages(reply: Response): AsyncGenerator<Json> {
  let text = "";
  for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(chunk);
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const data = /^data: (\{.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data !== undefined) yield JSON.parse(data) as Json;
    }
  }
}

interface Served {
  readonly url: string;
  readonly gate: ReturnType<typeof latch<string>>;
  /** Bytes the server has received so far. */
  received(): number;
}

async function served(): Promise<Served> {
  const gate = latch<string>();
  const server = newServer();
  server.tool("slow", { task: "optional", run: () => gate.promise });
  server.tool("greet", {
    task: "required",
    run: async (_args, ctx) =>
      JSON.stringify((await ctx.elicit({ message: "Who?", schema: { name: { type: "string" } } })).content),
  });
  const serving = await start(server, {
    authenticate: (request) => request.header("authorization") ?? "nobody",
  });
  return { url: serving.url, gate, received: () => serving.stats().bytesIn };
}

function taskOf(answer: Json): string {
  return (answer["result"] as { task: { taskId: string } }).task.taskId;
}

describe("a session", () => {
  it("is asked on the stream of tasks/result, and gets the result there", async () => {
    const { url } = await served();
    const ann = await new Poster(url, "ann").open();
    const taskId = taskOf(await ann.request("tools/call", { name: "greet", task: {} }));
    const reply = await ann.send({ id: "result", method: "tasks/result", params: { taskId } });
    expect(reply.headers.get("content-type")).toContain("text/event-stream");
    let result: unknown;
    for await (const message of messages(reply)) {
      if (message["method"] === "elicitation/create") {
        expect(message["params"]).toMatchObject({ _meta: { [RELATED]: { taskId } } });
        const answer = { action: "accept", content: { name: "Ada" } };
        expect((await ann.send({ id: message["id"], result: answer })).status).toBe(202);
      } else result = message["result"];
    }
    expect(result).toMatchObject({ content: [{ text: '{"name":"Ada"}' }], _meta: { [RELATED]: { taskId } } });
  });

  it("loses no task with its connection, and none to another principal", async () => {
    const { url, gate, received } = await served();
    const ann = await new Poster(url, "ann").open();
    const taskId = taskOf(await ann.request("tools/call", { name: "slow", task: {} }));
    const cut = new AbortController();
    const before = received();
    const waiting = ann.send({ id: "cut", method: "tasks/result", params: { taskId } }, {}, cut.signal);
    await expect.poll(received).toBeGreaterThan(before);
    cut.abort();
    await waiting.then((reply) => reply.text()).catch(() => undefined);
    const bob = await new Poster(url, "bob").open();
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      expect(await bob.request(method, { taskId })).toMatchObject({ error: { code: -32602 } });
    }
    expect(await bob.request("tasks/list", {})).toMatchObject({ result: { tasks: [] } });
    gate.resolve("done");
    const again = await new Poster(url, "ann").open();
    expect(await again.request("tasks/result", { taskId })).toMatchObject({ result: { content: [{ text: "done" }] } });
    expect(await again.request("tasks/list", {})).toMatchObject({
      result: { tasks: [{ taskId, status: "completed" }] },
    });
  });
});

describe("a stateless request", () => {
  it("makes a task that any later request of its principal finds", async () => {
    const { url, gate } = await served();
    const ann = new Poster(url, "ann");
    const { body } = await ann.stateless("tools/call", { name: "slow" });
    const { taskId } = body["result"] as { taskId: string };
    expect((await new Poster(url, "bob").stateless("tasks/get", { taskId })).body).toMatchObject({
      error: { code: -32602 },
    });
    expect((await ann.stateless("tasks/list", { taskId })).status).toBe(404);
    gate.resolve("done");
    for (;;) {
      const { status, body: looked } = await new Poster(url, "ann").stateless("tasks/get", { taskId });
      expect(status).toBe(200);
      const task = looked["result"] as Json;
      if (task["status"] === "working") continue;
      expect(task).toMatchObject({ status: "completed", result: { content: [{ text: "done" }] } });
      break;
    }
  });

  it("without the extension is answered with 400 where a tool is nothing but a task", async () => {
    const { url } = await served();
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": DIRECTED,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
    };
    const headers = { "mcp-protocol-version": DIRECTED, "mcp-method": "tools/call", "mcp-name": "greet" };
    const params = { name: "greet", arguments: {}, _meta };
    const reply = await new Poster(url, "ann").send({ id: 1, method: "tools/call", params }, headers);
    expect([reply.status, await reply.json()]).toMatchObject([400, { id: 1, error: { code: -32021 } }]);
  });
});

it("closing ends what still runs, and keeps why", async () => {
  const store = new MemoryTaskStore(DEFAULT_SERVER_LIMITS);
  const server = newServer({ tasks: { store } });
  server.tool("endless", { task: "optional", run: () => new Promise<string>(() => undefined) });
  const serving = await serveHttp(server, { signals: false, limits: { drainMs: 50 } });
  const ann = await new Poster(serving.url, "ann").open();
  const taskId = taskOf(await ann.request("tools/call", { name: "endless", task: {} }));
  await serving.close();
  expect(store.get(taskId, undefined)).toMatchObject({
    task: { status: "failed", statusMessage: expect.stringContaining("stopped") },
  });
});
