// Answering the server: only what was declared, checked forms, refusals, rounds that end, questions taken back.
import { describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { RpcError } from "../../src/jsonrpc/errors.js";
import { type Script, ScriptedServer, type Sent, serving } from "./scripted-server.js";

const FORM = {
  type: "object",
  properties: { age: { type: "integer", minimum: 18, default: 20 }, name: { type: "string" } },
  required: ["name"],
};
const MESSAGES = [{ role: "user", content: { type: "text", text: "hi" } }];

async function connected(
  revision: string,
  script: Script,
  options: ClientOptions = {},
): Promise<{ client: Client; scripted: ScriptedServer }> {
  const scripted = new ScriptedServer(serving(revision, script));
  const client = await Client.connect(scripted.dialer(), { verdicts: false, reconnect: false, ...options });
  return { client, scripted };
}

/** What a session's client answers to one question. */
async function answered(
  method: string,
  params: JsonObject,
  options: ClientOptions,
  revision = "2025-11-25",
): Promise<Sent> {
  const { client, scripted } = await connected(revision, () => undefined, options);
  scripted.say({ jsonrpc: "2.0", id: "q", method, params });
  await vi.waitFor(() => expect(scripted.sent.at(-1)?.id).toBe("q"), { timeout: 10_000 });
  await client.close();
  return scripted.sent.at(-1) as Sent;
}

const elicit = (content: JsonObject): ClientOptions => ({
  elicit: () => ({ action: "accept", content: content as never }),
});
const sample: ClientOptions = {
  sample: () => ({ role: "assistant", content: { type: "text", text: "x" }, model: "m", stopReason: "max_tokens" }),
};

describe("in a session", () => {
  it.each([
    [
      "a form, with its defaults",
      "elicitation/create",
      { message: "?", requestedSchema: FORM },
      elicit({ name: "Ada" }),
      { action: "accept", content: { age: 20, name: "Ada" } },
    ],
    [
      "without what was not asked for",
      "elicitation/create",
      { message: "?", requestedSchema: FORM },
      elicit({ name: "A", age: 30, more: 1 }),
      { action: "accept", content: { age: 30, name: "A" } },
    ],
    [
      "a refusal without content",
      "elicitation/create",
      { message: "?", requestedSchema: FORM },
      { elicit: () => ({ action: "decline" as const, content: {} }) },
      { action: "decline" },
    ],
    [
      "the model's answer in the specification's words",
      "sampling/createMessage",
      { messages: MESSAGES, maxTokens: 1 },
      sample,
      { role: "assistant", content: { type: "text", text: "x" }, model: "m", stopReason: "maxTokens" },
    ],
    [
      "folders that are files",
      "roots/list",
      {},
      { roots: () => [{ uri: "file:///a" }, { uri: "https://b" }] },
      { roots: [{ uri: "file:///a" }] },
    ],
    ["a ping", "ping", {}, {}, {}],
  ])("answers %s", async (_what, method, params, options, result) => {
    expect((await answered(method, params, options))["result"]).toEqual(result);
  });

  it.each([
    ["a question nobody declared", "elicitation/create", { message: "?", requestedSchema: FORM }, {}, -32601],
    ["a model nobody declared", "sampling/createMessage", { messages: MESSAGES, maxTokens: 1 }, {}, -32601],
    ["folders nobody declared", "roots/list", {}, {}, -32601],
    ["a method nobody knows", "example.com/x", {}, {}, -32601],
    [
      "a mode nobody declared",
      "elicitation/create",
      { mode: "url", message: "?", url: "https://x" },
      elicit({}),
      -32602,
    ],
    ["a form without fields", "elicitation/create", { message: "?", requestedSchema: 7 }, elicit({}), -32602],
    [
      "a form with a field of no type",
      "elicitation/create",
      { message: "?", requestedSchema: { properties: { a: {} } } },
      elicit({}),
      -32602,
    ],
    [
      "a form with broken choices",
      "elicitation/create",
      { message: "?", requestedSchema: { properties: { a: { type: "array", default: [], items: 7 } } } },
      elicit({}),
      -32602,
    ],
    [
      "an answer that does not fit",
      "elicitation/create",
      { message: "?", requestedSchema: FORM },
      elicit({ name: 7 }),
      -32603,
    ],
    [
      "tools nobody declared",
      "sampling/createMessage",
      { messages: MESSAGES, maxTokens: 1, tools: [] },
      sample,
      -32602,
    ],
    ["messages that are none", "sampling/createMessage", { messages: [7], maxTokens: 1 }, sample, -32602],
    [
      "a model's owner who refuses",
      "sampling/createMessage",
      { messages: MESSAGES, maxTokens: 1 },
      { sample: () => undefined },
      -1,
    ],
  ])("refuses %s", async (_what, method, params, options, code) => {
    expect((await answered(method, params, options as ClientOptions))["error"]).toMatchObject({ code });
  });

  it("refuses tool use that breaks the rules", async () => {
    const content = { type: "tool_result", toolUseId: "u", content: [] };
    const params = { messages: [{ role: "user", content }], maxTokens: 1 };
    const options = { ...sample, capabilities: { sampling: { tools: {} } } };
    expect((await answered("sampling/createMessage", params, options))["error"]).toMatchObject({ code: -32602 });
  });

  it("tells the server nothing of what a handler throws, and its caller everything", async () => {
    const warnings: string[] = [];
    const failing: ClientOptions = {
      roots: () => Promise.reject(new Error("the password is hunter2")),
      onWarning: (text) => warnings.push(text),
    };
    const message = await answered("roots/list", {}, failing);
    expect(JSON.stringify(message)).not.toContain("hunter2");
    expect(warnings.join()).toContain("hunter2");
    const chosen = { sample: () => Promise.reject(new RpcError(-1, "Not today")) };
    expect(
      (await answered("sampling/createMessage", { messages: MESSAGES, maxTokens: 1 }, chosen))["error"],
    ).toMatchObject({ code: -1, message: "Not today" });
  });

  it("stops a handler whose question is taken back, and does not answer", async () => {
    let aborted: unknown;
    const options: ClientOptions = {
      elicit: (_request, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted = signal.reason;
            reject(new Error("stopped"));
          });
        }),
    };
    const { client, scripted } = await connected("2025-11-25", () => undefined, options);
    scripted.say({
      jsonrpc: "2.0",
      id: 5,
      method: "elicitation/create",
      params: { message: "?", requestedSchema: FORM },
    });
    scripted.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } });
    await vi.waitFor(() => expect(aborted).toBe("cancelled by the server"), { timeout: 10_000 });
    await client.ping({ timeoutMs: 20 }).catch(() => undefined);
    expect(scripted.sent.some(({ id, method }) => id === 5 && method === undefined)).toBe(false);
    await client.close();
  });

  it("shows pages that must be seen first, and calls once more when they were", async () => {
    const page = { mode: "url", message: "Sign in", url: "https://example.com/", elicitationId: "e1" };
    const shown: unknown[] = [];
    const script: Script = ({ params }, talk) => {
      if (shown.length > 0 && params?.["name"] === "x") return talk.answer({ content: [] });
      talk.fail({ code: -32042, data: { elicitations: [page] } });
    };
    const options: ClientOptions = {
      capabilities: { elicitation: { url: {} } },
      elicit: (request) => {
        shown.push(request);
        return { action: shown.length === 1 ? "accept" : "decline" };
      },
    };
    const { client, scripted } = await connected("2025-11-25", script, options);
    const call = client.call("x");
    await vi.waitFor(() => expect(shown).toEqual([page]), { timeout: 10_000 });
    await Promise.resolve();
    scripted.say({ jsonrpc: "2.0", method: "notifications/elicitation/complete", params: { elicitationId: "e1" } });
    await expect(call).resolves.toMatchObject({ content: [] });
    await expect(client.call("y")).rejects.toMatchObject({ code: -32042 });
    expect(scripted.methods.filter((method) => method === "tools/call")).toHaveLength(3);
    await client.close();
  });

  it("lets calls wait while somebody thinks", async () => {
    vi.useFakeTimers();
    let think: (() => void) | undefined;
    const options: ClientOptions = {
      timeoutMs: 100,
      elicit: () => new Promise((resolve) => (think = () => resolve({ action: "decline" }))),
    };
    const { client, scripted } = await connected("2025-11-25", () => undefined, options);
    const call = client.call("x").then(
      () => "answered",
      (error: { code: string }) => error.code,
    );
    scripted.say({
      jsonrpc: "2.0",
      id: 5,
      method: "elicitation/create",
      params: { message: "?", requestedSchema: FORM },
    });
    await vi.advanceTimersByTimeAsync(5_000);
    think?.();
    await vi.advanceTimersByTimeAsync(50);
    const { id } = scripted.sent.find(({ method }) => method === "tools/call") as Sent;
    scripted.say({ jsonrpc: "2.0", id, result: { content: [] } });
    expect(await call).toBe("answered");
    vi.useRealTimers();
    await client.close();
  });
});

describe("without a session", () => {
  const ask = (more: JsonObject = {}): JsonObject => ({
    resultType: "input_required",
    inputRequests: { q: { method: "elicitation/create", params: { message: "?", requestedSchema: FORM } } },
    ...more,
  });

  it("retries with a new id, the answers, and the state exactly as it was given", async () => {
    const requestState = '{"a": "\u00e4 \\u0041"}';
    const { client, scripted } = await connected(
      "2026-07-28",
      ({ params }, { answer }) =>
        answer(params?.["inputResponses"] === undefined ? ask({ requestState }) : { content: [] }),
      elicit({ name: "Ada" }),
    );
    await client.call("x", { a: 1 });
    const [first, second] = scripted.sent.filter(({ method }) => method === "tools/call") as [Sent, Sent];
    expect(second.id).not.toBe(first.id);
    expect(second.params).toMatchObject({
      ...first.params,
      requestState,
      inputResponses: { q: { action: "accept", content: { age: 20, name: "Ada" } } },
    });
    await client.call("y");
    expect(scripted.sent.at(-2)?.params).not.toHaveProperty("requestState");
    await client.close();
  });

  it("gives up after ten rounds", async () => {
    const { client, scripted } = await connected(
      "2026-07-28",
      (_message, { answer }) => answer(ask()),
      elicit({ name: "Ada" }),
    );
    await expect(client.call("x")).rejects.toMatchObject({ code: "LIMIT" });
    expect(scripted.methods.filter((method) => method === "tools/call")).toHaveLength(11);
    await client.close();
  });

  it("waits a little before a retry that answers nothing", async () => {
    vi.useFakeTimers();
    let calls = 0;
    const { client } = await connected("2026-07-28", (_message, { answer }) =>
      answer(calls++ === 0 ? { resultType: "input_required", requestState: "s" } : { content: [] }),
    );
    const call = client.call("x");
    await vi.advanceTimersByTimeAsync(200);
    expect(calls).toBe(1);
    await vi.advanceTimersByTimeAsync(100);
    await call;
    expect(calls).toBe(2);
    vi.useRealTimers();
    await client.close();
  });

  it.each([
    ["nobody declared", {}, ask(), "REFUSED"],
    ["a person declines to be asked", { elicit: () => ({ action: "accept" as const, content: {} }) }, ask(), "REFUSED"],
    ["that is none", elicit({}), { resultType: "input_required", inputRequests: { q: 7 } }, "INVALID_RESPONSE"],
    ["with nothing in it", elicit({}), { resultType: "input_required" }, "INVALID_RESPONSE"],
    [
      "of too many parts",
      elicit({}),
      {
        resultType: "input_required",
        inputRequests: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [i, {}])),
      },
      "LIMIT",
    ],
  ])("a question %s ends the call", async (_what, options, result, code) => {
    const { client, scripted } = await connected("2026-07-28", (_message, { answer }) => answer(result), options);
    await expect(client.call("x")).rejects.toMatchObject({ code });
    expect(scripted.methods.filter((method) => method === "tools/call")).toHaveLength(1);
    await client.close();
  });

  it("a question where none may be is INVALID_RESPONSE", async () => {
    const { client } = await connected("2026-07-28", (_message, { answer }) => answer(ask()), elicit({ name: "Ada" }));
    await expect(client.tools().all()).rejects.toMatchObject({ code: "INVALID_RESPONSE" });
    await client.close();
  });
});
