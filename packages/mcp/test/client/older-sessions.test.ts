// Sessions of older revisions: members that a later one has given a meaning are the server's own, and nothing is done by them.
import { describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { type Script, ScriptedServer, serving } from "./scripted-server.js";

const SESSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

async function connected(
  revision: string,
  script: Script,
  options: ClientOptions = {},
): Promise<{ client: Client; scripted: ScriptedServer }> {
  const scripted = new ScriptedServer(serving(revision, script));
  const client = await Client.connect(scripted.dialer(), { verdicts: false, reconnect: false, ...options });
  scripted.sent.length = 0;
  return { client, scripted };
}

const content = [{ type: "text", text: "paid" }];
const question = { method: "elicitation/create", params: { message: "Your password?", requestedSchema: {} } };

/** What a later revision would act on. */
const LATER: readonly (readonly [string, JsonObject])[] = [
  ["a state", { resultType: "input_required", requestState: "s" }],
  ["questions", { resultType: "input_required", inputRequests: { q: question } }],
  ["questions and a state", { resultType: "input_required", requestState: "s", inputRequests: { q: question } }],
  ["nothing but the type", { resultType: "input_required" }],
  ["a task", { resultType: "task", taskId: "T", status: "working", ttlMs: 1 }],
  ["a type nobody knows", { resultType: "another" }],
  ["a task of its own beside its content", { task: { taskId: "T", status: "working" } }],
];

describe.each(SESSIONS)("in a session of %s", (revision) => {
  it.each(LATER)("a call whose result shows %s is over, with its content", async (_what, members) => {
    let asked = 0;
    const elicit = (): { action: "cancel" } => {
      asked++;
      return { action: "cancel" };
    };
    const { client, scripted } = await connected(revision, (_m, { answer }) => answer({ ...members, content }), {
      elicit,
    });
    expect(await client.call("pay", {})).toMatchObject({ content });
    expect(scripted.methods).toEqual(["tools/call"]);
    expect(asked).toBe(0);
    await client.close();
  });

  it.each(["prompts/get", "resources/read", "completion/complete", "own/method"])(
    "%s whose result shows a state is sent once",
    async (method) => {
      const result = { messages: [], contents: [], completion: { values: [] }, requestState: "s" };
      const { client, scripted } = await connected(revision, (_m, { answer }) =>
        answer({ ...result, resultType: "input_required" }),
      );
      expect(await client.request(method, {})).toMatchObject({ messages: [] });
      expect(scripted.methods).toEqual([method]);
      await client.close();
    },
  );

  it("the result of a method nobody knows keeps all its members", async () => {
    const result = { resultType: "task", ttlMs: 7, taskId: "T" };
    const { client } = await connected(revision, (_m, { answer }) => answer(result));
    expect(await client.request("own/method")).toEqual(result);
    await client.close();
  });

  it("a list that shows how long it may be kept is not kept", async () => {
    const { client, scripted } = await connected(revision, (_m, { answer }) =>
      answer({ prompts: [], ttlMs: 60_000, cacheScope: "public" }),
    );
    await client.prompts().all();
    await client.prompts().all();
    expect(scripted.methods).toEqual(["prompts/list", "prompts/list"]);
    await client.close();
  });

  it.each([
    [-32020, undefined],
    [-32021, { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } }],
    [-32022, { supported: ["2026-07-28"] }],
  ])("a call refused with %i is not sent again: it may have run", async (code, data) => {
    const { client, scripted } = await connected(revision, ({ method }, { answer, fail }) =>
      method === "tools/list" ? answer({ tools: [] }) : fail({ code, data }),
    );
    await expect(client.call("pay", {})).rejects.toMatchObject({ code });
    expect(scripted.methods).toEqual(["tools/call"]);
    await client.close();
  });

  const hasPages = revision === "2025-11-25";
  it(`a call refused with -32042 ${hasPages ? "shows its page" : "shows no page"}`, async () => {
    const shown: unknown[] = [];
    const data = { elicitations: [{ url: "https://example.com/", elicitationId: "e", message: "m" }] };
    const { client } = await connected(revision, (_m, { fail }) => fail({ code: -32042, data }), {
      capabilities: { elicitation: { form: {}, url: {} } },
      elicit: (request) => {
        shown.push(request);
        return { action: "decline" };
      },
    });
    await expect(client.call("pay", {})).rejects.toMatchObject({ code: -32042 });
    expect(shown).toHaveLength(hasPages ? 1 : 0);
    await client.close();
  });

  const promises = revision >= "2025-06-18";
  it(`structured content that a tool promised is ${promises ? "" : "not "}asked for`, async () => {
    const tool = { name: "t", inputSchema: { type: "object" }, outputSchema: { type: "object" } };
    const { client } = await connected(revision, ({ method }, { answer }) =>
      answer(method === "tools/list" ? { tools: [tool] } : { content }),
    );
    await client.tools().all();
    const called = client.call("t");
    if (promises) await expect(called).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
    else expect(await called).toEqual({ content });
    await client.close();
  });
});

it("a task of 2025-11-25 is followed by what that revision says of it alone", async () => {
  let asked = 0;
  const task = { taskId: "T", status: "input_required", ttl: 1, pollInterval: null, createdAt: "", lastUpdatedAt: "" };
  const { client, scripted } = await connected(
    "2025-11-25",
    ({ method }, { answer }) =>
      answer(method === "tools/call" ? { task } : { ...task, inputRequests: { q: question }, pollIntervalMs: 1 }),
    {
      elicit: () => {
        asked++;
        return { action: "cancel" };
      },
    },
  );
  const handle = await client.callTask("t");
  const controller = new AbortController();
  for await (const seen of handle.updates({ signal: controller.signal })) {
    expect(seen).not.toHaveProperty("inputRequests");
    expect(seen).not.toHaveProperty("pollIntervalMs");
    break;
  }
  expect(asked).toBe(0);
  expect(scripted.methods).not.toContain("tasks/update");
  await client.close();
});

const BLOCKS: readonly (readonly [string, JsonObject, (revision: string) => boolean])[] = [
  ["audio", { type: "audio", data: "AAAA", mimeType: "audio/wav" }, (revision) => revision >= "2025-03-26"],
  ["a use of a tool", { type: "tool_use", id: "1", name: "t", input: {} }, (revision) => revision >= "2025-11-25"],
  ["an image", { type: "image", data: "AAAA", mimeType: "image/png" }, () => true],
  ["a block nobody knows", { type: "hologram" }, () => false],
];

describe.each(SESSIONS)("a model's answer to a server of %s", (revision) => {
  it.each(BLOCKS)("may be %s where that revision has it", async (_what, block, has) => {
    const { client, scripted } = await connected(revision, () => undefined, {
      capabilities: { sampling: { tools: {} } },
      sample: () => ({ role: "assistant", model: "m", content: block }) as never,
    });
    const messages = [{ role: "user", content: { type: "text", text: "?" } }];
    scripted.say({ jsonrpc: "2.0", id: "q", method: "sampling/createMessage", params: { messages, maxTokens: 1 } });
    await vi.waitFor(() => expect(scripted.sent).toHaveLength(1), { timeout: 10_000, interval: 1 });
    expect(scripted.sent[0]).toMatchObject(
      has(revision) ? { result: { content: block } } : { error: { code: -32603 } },
    );
    await client.close();
  });
});
