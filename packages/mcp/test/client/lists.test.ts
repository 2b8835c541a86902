// Lists: pages, cursors that are empty, go round or are forgotten; results that may be kept, and for whom.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { MemoryResults } from "../../src/client/caches.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { type Script, ScriptedServer, serving } from "./scripted-server.js";

async function connected(
  revision: string,
  script: Script,
  options: ClientOptions = {},
): Promise<{ client: Client; scripted: ScriptedServer }> {
  const scripted = new ScriptedServer(serving(revision, script));
  const client = await Client.connect(scripted.dialer(), { verdicts: false, ...options });
  return { client, scripted };
}

const prompts = (...names: string[]): JsonObject => ({ prompts: names.map((name) => ({ name })) });
const count = (scripted: ScriptedServer, wanted: string): number =>
  scripted.methods.filter((method) => method === wanted).length;

afterEach(() => vi.useRealTimers());

describe("pages", () => {
  it("are read as far as somebody reads, an empty cursor among them", async () => {
    const { client, scripted } = await connected("2026-07-28", ({ params }, { answer }) => {
      const { cursor } = params as { cursor?: string };
      if (cursor === undefined) answer({ ...prompts("a", "b"), nextCursor: "" });
      else if (cursor === "") answer({ ...prompts("c"), nextCursor: "x" });
      else answer(prompts("d"));
    });
    expect((await client.prompts().all()).map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
    const before = count(scripted, "prompts/list");
    for await (const { name } of client.prompts()) if (name === "b") break;
    expect(count(scripted, "prompts/list")).toBe(before + 1);
    await client.close();
  });

  it("that go round end in an error", async () => {
    const { client } = await connected("2025-11-25", ({ params }, { answer }) =>
      answer({ ...prompts("a"), nextCursor: params?.["cursor"] === "x" ? "y" : "x" }),
    );
    await expect(client.prompts().all()).rejects.toThrow(/prompts\/list cannot be used: its pages go round/);
    await client.close();
  });

  it("that never end are stopped", async () => {
    let page = 0;
    const { client } = await connected("2025-11-25", (_message, { answer }) =>
      answer({ ...prompts("a"), nextCursor: String(page++) }),
    );
    await expect(client.prompts().all()).rejects.toMatchObject({ code: "LIMIT" });
    expect(page).toBe(1_000);
    await client.close();
  });

  it("whose cursor was forgotten are read once more from the beginning", async () => {
    let lists = 0;
    const { client } = await connected("2025-11-25", ({ params }, talk) => {
      if (params?.["cursor"] === undefined) talk.answer({ ...prompts("a"), nextCursor: `list ${++lists}` });
      else if (lists === 1) talk.fail({ code: -32602 });
      else talk.answer(prompts("b"));
    });
    expect((await client.prompts().all()).map(({ name }) => name)).toEqual(["a", "b"]);
    await client.close();
  });

  it.each([{}, { prompts: 7 }, { prompts: [7] }, { ...prompts("a"), nextCursor: 7 }])(
    "that are none (%j) are INVALID_RESPONSE",
    async (result) => {
      const { client } = await connected("2025-11-25", (_message, { answer }) => answer(result));
      await expect(client.prompts().all()).rejects.toMatchObject({ code: "INVALID_RESPONSE" });
      await client.close();
    },
  );

  it("leave out tools nobody can call", async () => {
    const warnings: string[] = [];
    const tools = [
      { name: "good", inputSchema: { type: "object" } },
      { name: "", inputSchema: {} },
      { name: "bare" },
      {},
    ];
    const { client } = await connected("2025-11-25", (_message, { answer }) => answer({ tools }), {
      onWarning: (text) => warnings.push(text),
    });
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(["good"]);
    expect(warnings).toHaveLength(3);
    await client.close();
  });
});

describe("what is kept", () => {
  const kept =
    (more: JsonObject): Script =>
    ({ method, params }, { answer }) => {
      if (method === "resources/read") answer({ contents: [{ uri: params?.["uri"], text: "x" }], ...more });
      else answer({ ...prompts("a"), ...more });
    };

  it("is kept as long as the server allows, and no longer", async () => {
    vi.useFakeTimers();
    const { client, scripted } = await connected("2026-07-28", kept({ ttlMs: 1_000, cacheScope: "private" }));
    await client.prompts().all();
    await client.prompts().all();
    await client.read("test://a");
    await client.read("test://a");
    await client.read("test://b");
    expect([count(scripted, "prompts/list"), count(scripted, "resources/read")]).toEqual([1, 2]);
    await vi.advanceTimersByTimeAsync(1_001);
    await client.prompts().all();
    expect(count(scripted, "prompts/list")).toBe(2);
    await client.close();
  });

  it.each([{}, { ttlMs: 0 }, { ttlMs: -1 }, { ttlMs: "1" }])("is nothing under %j", async (more) => {
    const { client, scripted } = await connected("2026-07-28", kept(more));
    await client.prompts().all();
    await client.prompts().all();
    expect(count(scripted, "prompts/list")).toBe(2);
    await client.close();
  });

  it("is dropped at the first news of a change", async () => {
    const { client, scripted } = await connected("2026-07-28", kept({ ttlMs: 60_000 }));
    for (let round = 0; round < 2; round++) {
      await client.prompts().all();
      await client.read("test://a");
      scripted.say({ jsonrpc: "2.0", method: "notifications/prompts/list_changed" });
      scripted.say({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "test://a" } });
    }
    expect([count(scripted, "prompts/list"), count(scripted, "resources/read")]).toEqual([2, 2]);
    await client.close();
  });

  it("is never what questions led to", async () => {
    const { client, scripted } = await connected(
      "2026-07-28",
      ({ params }, { answer }) =>
        answer(
          params?.["inputResponses"] === undefined
            ? { resultType: "input_required", inputRequests: { r: { method: "roots/list" } } }
            : { contents: [], ttlMs: 60_000 },
        ),
      { roots: [] },
    );
    await client.read("test://a");
    await client.read("test://a");
    expect(count(scripted, "resources/read")).toBe(4);
    await client.close();
  });

  it("for one user is not given to another; what is public is", async () => {
    const store = new MemoryResults();
    const asked = async (identity: string, cacheScope: string, uri: string): Promise<number> => {
      const cache = { store, identity, server: "the server" };
      const { client, scripted } = await connected("2026-07-28", kept({ ttlMs: 60_000, cacheScope }), { cache });
      await client.read(uri);
      await client.close();
      return count(scripted, "resources/read");
    };
    expect(await asked("ada", "private", "test://a")).toBe(1);
    expect(await asked("ada", "private", "test://a")).toBe(0);
    expect(await asked("bob", "private", "test://a")).toBe(1);
    expect(await asked("ada", "public", "test://b")).toBe(1);
    expect(await asked("bob", "public", "test://b")).toBe(0);
  });

  it("is bounded, in number and in size", () => {
    const store = new MemoryResults();
    const keep = (prefix: string, count: number, length: number): number => {
      for (let i = 0; i < count; i++)
        store.set(`${prefix}${i}`, { result: { text: "x".repeat(length) }, expiresAt: 0 });
      return [...store.keys(prefix)].length;
    };
    expect(keep("small", 600, 1)).toBe(500);
    expect(keep("large", 10, 4_000_000)).toBe(4);
    for (const key of store.keys("")) store.delete(key);
    expect(keep("again", 3, 1)).toBe(3);
  });

  it("is nothing where that is not wanted", async () => {
    const { client, scripted } = await connected("2026-07-28", kept({ ttlMs: 60_000 }), { cache: false });
    await client.prompts().all();
    await client.prompts().all();
    expect(count(scripted, "prompts/list")).toBe(2);
    await client.close();
  });
});

describe("a list under way when it changes", () => {
  const LISTS = [
    ["tools", "notifications/tools/list_changed", "tools", { inputSchema: { type: "object" } }],
    ["prompts", "notifications/prompts/list_changed", "prompts", {}],
    ["resources", "notifications/resources/list_changed", "resources", {}],
    ["resourceTemplates", "notifications/resources/list_changed", "resourceTemplates", {}],
  ] as const;
  const kept = { ttlMs: 60_000, cacheScope: "private" };

  it.each(LISTS)("is not kept: %s", async (list, method, member, more) => {
    let name = "old";
    const { client } = await connected("2026-07-28", (_message, talk) => {
      if (name === "old") talk.say({ jsonrpc: "2.0", method });
      talk.answer({ [member]: [{ name, ...more }], ...kept });
      name = "new";
    });
    const names = async (): Promise<string[]> => (await client[list]().all()).map((item) => item.name);
    expect(await names()).toEqual(["old"]);
    expect(await names()).toEqual(["new"]);
    // What was asked for since is kept as ever.
    name = "newest";
    expect(await names()).toEqual(["new"]);
    await client.close();
  });

  it("is not kept when the change comes right behind it", async () => {
    let name = "old";
    const { client } = await connected("2026-07-28", (_message, talk) => {
      talk.answer({ prompts: [{ name }], ...kept });
      if (name === "old") talk.say({ jsonrpc: "2.0", method: "notifications/prompts/list_changed" });
      name = "new";
    });
    await client.prompts().all();
    expect(await client.prompts().all()).toEqual([{ name: "new" }]);
    await client.close();
  });

  it("is not kept where several pages were read", async () => {
    let age = 0;
    const { client } = await connected("2026-07-28", ({ params }, talk) => {
      const first = params?.["cursor"] === undefined;
      if (!first && age++ === 0) talk.say({ jsonrpc: "2.0", method: "notifications/prompts/list_changed" });
      talk.answer({
        prompts: [{ name: `${first ? "a" : "b"}${age}` }],
        ...(first ? { nextCursor: "x" } : {}),
        ...kept,
      });
    });
    await client.prompts().all();
    expect(await client.prompts().all()).toEqual([{ name: "a1" }, { name: "b2" }]);
    await client.close();
  });

  it("nor is a resource that is being read", async () => {
    let text = "old";
    const { client } = await connected("2026-07-28", (_message, talk) => {
      if (text === "old")
        talk.say({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "x:y" } });
      talk.answer({ contents: [{ uri: "x:y", text }], ...kept });
      text = "new";
    });
    await client.read("x:y");
    expect(await client.read("x:y")).toMatchObject({ contents: [{ text: "new" }] });
    await client.close();
  });

  it("decides nothing about later calls: neither headers nor output", async () => {
    const tool = { name: "t", inputSchema: { type: "object" }, outputSchema: { type: "object" } };
    const { client } = await connected("2025-11-25", ({ method }, talk) => {
      if (method !== "tools/list") return talk.answer({ content: [] });
      talk.say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
      talk.answer({ tools: [tool] });
    });
    expect(await client.tools().all()).toHaveLength(1);
    // By the old list the call would have to be answered with structured content.
    await expect(client.call("t")).resolves.toEqual({ content: [] });
    await client.close();
  });
});
