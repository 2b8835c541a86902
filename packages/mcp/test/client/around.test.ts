// What is around the calls: pings, completion, logs, text for models, reconnection, and that nothing is left at the end.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { toModelText } from "../../src/client/model-text.js";
import { LocalError, RpcError } from "../../src/jsonrpc/errors.js";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";
import { initialized, type Script, ScriptedServer, serving } from "./scripted-server.js";

async function connected(
  revision: string,
  script: Script,
  options: ClientOptions = {},
): Promise<{ client: Client; scripted: ScriptedServer }> {
  const scripted = new ScriptedServer(serving(revision, script));
  const client = await Client.connect(scripted.dialer(), { verdicts: false, reconnect: false, ...options });
  return { client, scripted };
}

afterEach(() => vi.useRealTimers());

describe("pings", () => {
  it("close a session that does not answer three of them", async () => {
    vi.useFakeTimers();
    const { client, scripted } = await connected("2025-11-25", () => undefined, {
      ping: { intervalMs: 1_000, timeoutMs: 100 },
    });
    await vi.advanceTimersByTimeAsync(4_000);
    expect(await client.closed).toMatchObject({
      code: "TIMEOUT",
      message: expect.stringContaining("3 pings in a row"),
    });
    expect(scripted.methods.filter((method) => method === "ping")).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("count any answer as life, and ask what the era has", async () => {
    vi.useFakeTimers();
    for (const [revision, method] of [
      ["2025-11-25", "ping"],
      ["2026-07-28", "server/discover"],
    ] as const) {
      const { client, scripted } = await connected(revision, (_message, { fail }) => fail({ code: -32601 }), {
        ping: { intervalMs: 1_000, failures: 1 },
      });
      await vi.advanceTimersByTimeAsync(3_500);
      expect(scripted.methods.filter((each) => each === method).length).toBeGreaterThan(2);
      await expect(client.ping()).resolves.toBe(0);
      await client.close();
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("only warn where that is asked for", async () => {
    vi.useFakeTimers();
    const warnings: string[] = [];
    const ping = { intervalMs: 1_000, timeoutMs: 10, failures: 2, onFailure: "warn" } as const;
    const { client } = await connected("2025-11-25", () => undefined, {
      ping,
      onWarning: (text) => warnings.push(text),
    });
    await vi.advanceTimersByTimeAsync(6_000);
    expect(warnings).toHaveLength(1);
    await client.close();
  });
});

describe("completion", () => {
  const ref = { type: "ref/prompt", name: "p" } as const;
  const completing: Script = ({ params }, { answer }) => {
    const { value } = (params as { argument: { value: string } }).argument;
    answer({ completion: { values: [`${value}1`, `${value}2`], total: 5 } });
  };

  it("keeps answers for a while and says whether there are more", async () => {
    const { client, scripted } = await connected("2026-07-28", completing);
    const argument = { name: "a", value: "x" };
    expect(await client.complete(ref, argument)).toEqual({ values: ["x1", "x2"], total: 5, hasMore: true });
    await client.complete(ref, argument);
    expect(scripted.methods.filter((method) => method === "completion/complete")).toHaveLength(1);
    await client.close();
  });

  it("asks once for a word that is being typed", async () => {
    vi.useFakeTimers();
    const { client, scripted } = await connected("2026-07-28", completing);
    const typed = ["p", "py", "pyt"].map((value) => client.complete(ref, { name: "a", value }, { debounceMs: 50 }));
    await vi.advanceTimersByTimeAsync(60);
    const [first, , last] = await Promise.all(typed);
    expect(first).toEqual(last);
    expect(last?.values).toEqual(["pyt1", "pyt2"]);
    expect(scripted.methods.filter((method) => method === "completion/complete")).toHaveLength(1);
    await client.close();
  });

  it("leaves the context out where it has no place, and needs no capability where there was none", async () => {
    const { client, scripted } = await connected("2024-11-05", completing);
    await client.complete(ref, { name: "a", value: "x" }, { context: { b: "c" } });
    expect(scripted.sent.at(-1)?.params).toEqual({ ref, argument: { name: "a", value: "x" } });
    await client.close();
  });

  it.each([{}, { completion: {} }, { completion: { values: [7] } }])(
    "that is none (%j) is INVALID_RESPONSE",
    async (result) => {
      const { client } = await connected("2026-07-28", (_message, { answer }) => answer(result));
      await expect(client.complete(ref, { name: "a", value: "" })).rejects.toMatchObject({ code: "INVALID_RESPONSE" });
      await client.close();
    },
  );
});

it("log messages are kept, the latest two hundred at the level asked for", async () => {
  const seen: unknown[] = [];
  const { client, scripted } = await connected("2025-11-25", (_message, { answer }) => answer({}), {
    onLog: ({ data }) => {
      seen.push(data);
      throw new Error("the caller's own fault");
    },
  });
  await client.setLogLevel("warning");
  const log = (level: string, data: unknown): void =>
    scripted.say({ jsonrpc: "2.0", method: "notifications/message", params: { level, data } });
  log("info", "too low");
  log("surprise", "no level");
  for (let i = 0; i < 250; i++) log("error", i);
  expect(client.logs).toHaveLength(200);
  expect(client.logs.at(-1)).toEqual({ level: "error", data: 249 });
  expect(seen).toHaveLength(250);
  for (let i = 0; i < 20; i++) log("error", "x".repeat(100_000));
  expect(client.logs.length).toBeLessThanOrEqual(10);
  await client.close();
});

describe("a connection that breaks", () => {
  it("is made again, and calls meanwhile wait for it", async () => {
    const { client, scripted } = await connected(
      "2025-11-25",
      ({ params }, talk) => (params?.["name"] === "crash" ? talk.end("EXITED") : talk.answer({ content: [] })),
      { reconnect: { delayMs: 1 } },
    );
    const crash = expect(client.call("crash")).rejects.toMatchObject({ code: "EXITED" });
    await crash;
    await expect(client.call("x")).resolves.toMatchObject({ content: [] });
    expect(scripted.links).toHaveLength(2);
    await client.close();
    expect(scripted.open).toBe(0);
  });

  it("again and again is given up, with the reason", async () => {
    vi.useFakeTimers();
    let serve = true;
    const scripted = new ScriptedServer((message, talk) => {
      if (!serve) return talk.end("EXITED");
      if (message.method === "initialize") talk.answer(initialized("2025-11-25"));
      if (message.method === "server/discover") talk.fail({ code: -32601 });
    });
    const client = await Client.connect(scripted.dialer(), {
      verdicts: false,
      reconnect: { attempts: 2, delayMs: 10 },
    });
    serve = false;
    scripted.links.at(-1)?.end("EXITED");
    const waiting = expect(client.call("x")).rejects.toMatchObject({ code: "EXITED" });
    await vi.advanceTimersByTimeAsync(1_000);
    await waiting;
    expect(await client.closed).toMatchObject({ message: expect.stringContaining("Gave up after 2 attempts") });
    expect(scripted.open).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("text for a model", () => {
  it.each([
    [
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      "a\nb",
    ],
    [{ content: [], structuredContent: { a: 1 } }, '{"a":1}'],
    [{ content: [] }, "The tool has finished and said nothing."],
    [{ content: [{ type: "resource", resource: { uri: "x:y", text: "inside" } }] }, "inside"],
    [{ content: [{ type: "resource_link", uri: "x:y", name: "n" }] }, "[resource x:y: n]"],
    [new RpcError(-32602, "no such tool"), "The call was refused (-32602): no such tool"],
    [new LocalError("TIMEOUT", "at /home/ada"), "The tool did not answer in time. It may still have had an effect."],
    [new Error("secret"), "The call failed on this side."],
  ])("%o is %s", (outcome, text) => {
    expect(toModelText(outcome as never).text).toBe(text);
  });

  it("keeps what a tool failed with, and what no text can say", () => {
    const image = { type: "image", data: "", mimeType: "image/png" } as const;
    expect(toModelText({ content: [{ type: "text", text: "locked" }, image], isError: true })).toEqual({
      text: "locked",
      isError: true,
      media: [image],
    });
  });
});

describe("connect", () => {
  const server = (): Server => {
    const made = new Server({ name: "s", version: "1.0.0" });
    made.tool("echo", { run: () => "x" });
    made.method("example.com/reverse", () => ({ reversed: true }));
    return made;
  };

  it("takes a server, and any method of its own", async () => {
    await using client = await connect(server(), { clientInfo: { name: "c", version: "1" } });
    expect(client.transport).toBe("memory");
    expect(await client.request("example.com/reverse", {})).toMatchObject({ reversed: true });
    expect((await client.callTask("echo")).id).toBeUndefined();
  });

  it("refuses what it cannot connect to", async () => {
    for (const target of [undefined, 7, {}, { command: "x" }]) {
      await expect(connect(target as never)).rejects.toMatchObject({ code: "INVALID_TARGET" });
    }
    await expect(connect("no url")).rejects.toMatchObject({ code: "INVALID_URL" });
    await expect(connect(server(), { timeoutMs: 0 })).rejects.toThrow(RangeError);
  });

  it("a hundred times leaves no timer", async () => {
    vi.useFakeTimers();
    for (let i = 0; i < 100; i++) {
      const client = await connect(server(), { revision: i % 2 === 0 ? "2025-11-25" : "2026-07-28", ping: {} });
      await client.call("echo");
      await client.close();
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it("a call that waits for a new connection waits no longer than it may", async () => {
  vi.useFakeTimers();
  let serve = true;
  const scripted = new ScriptedServer((message, talk) => {
    if (!serve) return;
    if (message.method === "initialize") talk.answer(initialized("2025-11-25"));
    if (message.method === "server/discover") talk.fail({ code: -32601 });
  });
  const client = await Client.connect(scripted.dialer(), { verdicts: false, reconnect: { delayMs: 10 } });
  serve = false;
  scripted.links.at(-1)?.end("EXITED");
  const controller = new AbortController();
  const late = expect(client.call("x", {}, { timeoutMs: 500 })).rejects.toMatchObject({ code: "TIMEOUT" });
  const cancelled = expect(client.call("x", {}, { signal: controller.signal })).rejects.toMatchObject({
    code: "CANCELLED",
  });
  await vi.advanceTimersByTimeAsync(400);
  controller.abort();
  await cancelled;
  await vi.advanceTimersByTimeAsync(200);
  await late;
  await client.close();
  expect(scripted.open).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});
