// Watching in both eras: what is asked of the server, what survives a reconnection, what ends a subscription.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/client.js";
import type { Change, ClientOptions } from "../../src/client/options.js";
import type { Subscription } from "../../src/client/subscriptions.js";
import { type Script, ScriptedServer, type Sent, serving } from "./scripted-server.js";

const ID = "io.modelcontextprotocol/subscriptionId";

async function connected(
  revision: string,
  script: Script,
  options: ClientOptions = {},
): Promise<{ client: Client; scripted: ScriptedServer }> {
  const scripted = new ScriptedServer(serving(revision, script));
  const client = await Client.connect(scripted.dialer(), { verdicts: false, reconnect: { delayMs: 1 }, ...options });
  return { client, scripted };
}

async function take(subscription: Subscription, count: number): Promise<Change[]> {
  const changes: Change[] = [];
  const iterator = subscription[Symbol.asyncIterator]();
  while (changes.length < count) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    changes.push(value);
  }
  return changes;
}

const listens = (scripted: ScriptedServer): Sent[] =>
  scripted.sent.filter(({ method }) => method === "subscriptions/listen");

/** Acknowledges every listen, and nothing else. */
const acknowledging: Script = ({ method, id, params }, { say }) => {
  if (method !== "subscriptions/listen") return;
  say({
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: params?.["notifications"], _meta: { [ID]: id } },
  });
};

afterEach(() => vi.useRealTimers());

describe("without a session", () => {
  it("each subscription is one request, told apart by its id", async () => {
    const { client, scripted } = await connected("2026-07-28", acknowledging);
    const tools = client.subscribe({ toolsListChanged: true });
    const files = client.subscribe({ resources: ["test://a"] });
    expect(await tools.ready).toEqual({ toolsListChanged: true });
    expect(await files.ready).toEqual({ resources: ["test://a"] });
    const [first, second] = listens(scripted) as [Sent, Sent];
    const updated = { jsonrpc: "2.0", method: "notifications/resources/updated" };
    scripted.say({ ...updated, params: { uri: "test://a", _meta: { [ID]: first.id } } });
    scripted.say({ ...updated, params: { uri: "test://a/b", _meta: { [ID]: second.id } } });
    expect(await take(files, 1)).toEqual([{ kind: "resource", uri: "test://a/b" }]);
    await files.close();
    await tools.close();
    await expect.poll(() => scripted.methods.filter((method) => method === "notifications/cancelled")).toHaveLength(2);
    await client.close();
  });

  it("changes nobody has read yet are one", async () => {
    const { client, scripted } = await connected("2026-07-28", acknowledging);
    const tools = client.subscribe({ toolsListChanged: true });
    await tools.ready;
    const [{ id }] = listens(scripted) as [Sent];
    for (let i = 0; i < 5; i++)
      scripted.say({ jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta: { [ID]: id } } });
    expect(await take(tools, 1)).toHaveLength(1);
    const rest = take(tools, 1);
    await tools.close();
    expect(await rest).toEqual([]);
    await client.close();
  });

  it.each(["result", "cancellation", "lost"])(
    "is sent again when the server ends it by a %s, and all is said to have changed",
    async (how) => {
      vi.useFakeTimers();
      let times = 0;
      const { client, scripted } = await connected("2026-07-28", (message, talk) => {
        acknowledging(message, talk);
        if (message.method !== "subscriptions/listen" || times++ > 0) return;
        if (how === "result") talk.answer({ resultType: "complete", _meta: { [ID]: message.id } });
        else if (how === "lost") talk.lost("OUTCOME_UNKNOWN");
        else talk.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: message.id } });
      });
      const tools = client.subscribe({ toolsListChanged: true });
      await tools.ready;
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await take(tools, 1)).toEqual([{ kind: "tools" }]);
      expect(listens(scripted)).toHaveLength(2);
      await client.close();
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("is sent again to a process that was started again", async () => {
    const { client, scripted } = await connected("2026-07-28", acknowledging);
    const tools = client.subscribe({ toolsListChanged: true });
    await tools.ready;
    scripted.links.at(-1)?.end("EXITED");
    expect(await take(tools, 1)).toEqual([{ kind: "tools" }]);
    expect(scripted.links).toHaveLength(2);
    await client.close();
  });

  it("ends with the error it is refused with", async () => {
    const { client } = await connected("2026-07-28", (_message, { fail }) => fail({ code: -32603 }));
    const tools = client.subscribe({ toolsListChanged: true });
    await expect(tools.ready).rejects.toMatchObject({ code: -32603 });
    await expect(take(tools, 1)).rejects.toMatchObject({ code: -32603 });
    await client.close();
  });

  it("that was acknowledged keeps no timer, and so no process", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { client } = await connected("2026-07-28", acknowledging);
    const before = vi.getTimerCount();
    const tools = client.subscribe({ toolsListChanged: true });
    await tools.ready;
    expect(vi.getTimerCount()).toBe(before);
    await client.close();
  });

  it("ends when nobody acknowledges it", async () => {
    vi.useFakeTimers();
    const { client } = await connected("2026-07-28", () => undefined, { timeoutMs: 100 });
    const refused = expect(client.subscribe({ toolsListChanged: true }).ready).rejects.toMatchObject({
      code: "TIMEOUT",
    });
    await vi.advanceTimersByTimeAsync(101);
    await refused;
    await client.close();
  });

  it("serves `onListChanged` by itself", async () => {
    const onListChanged = vi.fn();
    const { client, scripted } = await connected("2026-07-28", acknowledging, { onListChanged });
    await vi.waitFor(() => expect(listens(scripted)).toHaveLength(1), { timeout: 10_000 });
    scripted.say({ jsonrpc: "2.0", method: "notifications/prompts/list_changed", params: {} });
    expect(onListChanged).toHaveBeenCalledWith({ kind: "prompts" });
    await client.close();
  });
});

describe("in a session", () => {
  const obliging: Script = ({ id }, { answer }) => {
    if (id !== undefined) answer({});
  };
  const asked = (scripted: ScriptedServer, method: string): number =>
    scripted.methods.filter((each) => each === method).length;

  it("the server is told of the first who watches a resource and the last", async () => {
    const { client, scripted } = await connected("2025-06-18", obliging);
    const first = client.subscribe({ resources: ["test://a"] });
    const second = client.subscribe({ resources: ["test://a"] });
    await Promise.all([first.ready, second.ready]);
    expect(asked(scripted, "resources/subscribe")).toBe(1);
    scripted.say({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "test://a" } });
    expect(await take(second, 1)).toEqual([{ kind: "resource", uri: "test://a" }]);
    await first.close();
    expect(asked(scripted, "resources/unsubscribe")).toBe(0);
    await second.close();
    expect(asked(scripted, "resources/unsubscribe")).toBe(1);
    await client.close();
  });

  it("a new session is asked anew, and all is said to have changed", async () => {
    const { client, scripted } = await connected("2025-06-18", obliging);
    const both = client.subscribe({ resources: ["test://a"], toolsListChanged: true });
    await both.ready;
    scripted.links.at(-1)?.end("EXITED");
    expect(await take(both, 2)).toEqual(
      expect.arrayContaining([{ kind: "tools" }, { kind: "resource", uri: "test://a" }]),
    );
    await vi.waitFor(() => expect(asked(scripted, "resources/subscribe")).toBe(2), { timeout: 10_000 });
    await client.close();
  });

  it("a resource the server refuses to watch ends it", async () => {
    const { client } = await connected("2025-06-18", (_message, { fail }) => fail({ code: -32002 }));
    await expect(client.subscribe({ resources: ["test://a"] }).ready).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });
});

it("what the server never tells of cannot be watched", async () => {
  const scripted = new ScriptedServer(({ method }, { answer }) => {
    if (method === "server/discover")
      answer({ supportedVersions: ["2026-07-28"], capabilities: { tools: {}, resources: {} } });
  });
  await using client = await Client.connect(scripted.dialer(), { verdicts: false });
  for (const watched of [{ toolsListChanged: true }, { resources: ["test://a"] }, {}]) {
    await expect(client.subscribe(watched).ready).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  }
  expect(scripted.methods).toEqual(["server/discover"]);
});

it("closing the client ends them, a server that is gone for good ends them with the reason", async () => {
  const { client } = await connected("2026-07-28", acknowledging);
  const tools = client.subscribe({ toolsListChanged: true });
  await tools.ready;
  const rest = take(tools, 1);
  await client.close();
  expect(await rest).toEqual([]);
  const other = await connected("2026-07-28", acknowledging, { reconnect: false });
  const watching = other.client.subscribe({ toolsListChanged: true });
  await watching.ready;
  const ended = expect(take(watching, 1)).rejects.toMatchObject({ code: "EXITED" });
  other.scripted.links.at(-1)?.end("EXITED");
  await ended;
});
