// Questions that are none, in every way there is to ask: the handler, the log and the client hear what is wrong and what to write, before
// anybody is asked.
import { describe, expect, it } from "vitest";
import { type Context, handles, inputRequired } from "@secure-local/mcp/server";
import { z } from "zod";
import { connect } from "../../src/serve/connect.js";
import { reportingServer } from "../support/reporting-server.js";

const is = (value: unknown): never => value as never;
const block = { type: "text" as const, text: "x" };
const user = { role: "user" as const, content: block };
const sampled = { role: "assistant" as const, model: "m", content: block };

interface Seen {
  readonly told: string;
  readonly log: string;
  readonly asked: number;
}

async function seen(
  revision: string,
  run: (ctx: Context) => unknown,
  sample: () => unknown = () => sampled,
): Promise<Seen> {
  let asked = 0;
  const { server, log } = reportingServer();
  server.tool("t", { run: async (_, ctx) => is(await run(ctx)) });
  await using client = await connect(server, {
    revision,
    elicit: () => {
      asked++;
      return { action: "accept", content: { name: "x" } };
    },
    sample: () => {
      asked++;
      return is(sample());
    },
  });
  const told = await client.call("t").then((result) => JSON.stringify(result), String);
  return { told, log: log.join("\n"), asked };
}

/** What is given to `ctx.sample`, and what is said of it. */
const SAMPLES: readonly (readonly [string, unknown, string])[] = [
  ["a text", "hi", "takes one object"],
  ["nothing", undefined, "takes one object"],
  ["a list", [user], "takes one object"],
  ["no messages", { maxTokens: 5 }, '"messages" is a list'],
  ["one message", { messages: user, maxTokens: 5 }, '"messages" is a list'],
  ["no maxTokens", { messages: [user] }, '"maxTokens" is a positive whole number'],
  ["max_tokens", { messages: [user], max_tokens: 5 }, '"maxTokens" is a positive whole number'],
  ["both", { messages: [user], maxTokens: 5, max_tokens: 5 }, 'did you mean "maxTokens"?'],
  ["a system message", { messages: [{ ...user, role: "system" }], maxTokens: 5 }, "systemPrompt"],
  ["no role", { messages: [{ content: block }], maxTokens: 5 }, '"user" or "assistant"'],
  ["a text as a message", { messages: ["x"], maxTokens: 5 }, '"user" or "assistant"'],
  ["a text as content", { messages: [{ ...user, content: "x" }], maxTokens: 5 }, 'content: { type: "text"'],
  ["texts as content", { messages: [{ ...user, content: ["x"] }], maxTokens: 5 }, 'content: { type: "text"'],
  ["no content", { messages: [user, { role: "user" }], maxTokens: 5 }, "messages[1] is nothing"],
  ["a block of no kind", { messages: [{ ...user, content: {} }], maxTokens: 5 }, 'no "type"'],
  [
    "an image as a data URL",
    {
      messages: [{ ...user, content: { type: "image", data: "data:;base64,AA", mimeType: "image/png" } }],
      maxTokens: 5,
    },
    "a data URL",
  ],
];

const form = {
  method: "elicitation/create" as const,
  params: { message: "x", requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
};
/** What is given to `inputRequired`, and what is said of it. */
const BY_HAND: readonly (readonly [string, unknown, string])[] = [
  ["nothing", undefined, "asks nothing and keeps no state"],
  ["an empty object", {}, "asks nothing and keeps no state"],
  ["no requests", { requests: {} }, "asks nothing and keeps no state"],
  ["a list", { requests: [form] }, '"requests" is an object'],
  [
    "a question of ctx.elicit",
    { requests: { a: { message: "x", schema: {} } } },
    'the request "a" has the method undefined',
  ],
  ["a wrong method", { requests: { a: { ...form, method: "elicit" } } }, 'the method "elicit"'],
  ["no params", { requests: { a: { method: "elicitation/create" } } }, '"a" needs "params"'],
  ["a text", { requests: { a: "x" } }, 'the request "a" has the method undefined'],
  ["a Map as state", { requests: { a: form }, state: new Map([["a", 1]]) }, "Object.fromEntries(map)"],
  ["a Set in the state", { requests: { a: form }, state: { seen: new Set([1]) } }, "[...set]"],
];

describe.each(["2025-11-25", "2026-07-28"])("%s", (revision) => {
  it.each(SAMPLES)("ctx.sample of %s", async (_what, params, words) => {
    const { log, asked } = await seen(revision, (ctx) => ctx.sample(is(params)));
    expect(log).toContain("sample: ");
    expect(log).toContain(words);
    expect(asked).toBe(0);
  });

  it("ctx.sample of blocks and tool results passes", async () => {
    const params = { messages: [{ role: "user" as const, content: [block, block] }], maxTokens: 5, systemPrompt: "s" };
    const { log, asked } = await seen(revision, async (ctx) => (await ctx.sample(params)).model);
    expect(log).toBe("");
    expect(asked).toBe(1);
  });

  it.each<readonly [string, unknown]>([
    ["a text", "hi"],
    ["null", null],
    ["no content", { role: "assistant" }],
    ["a text as content", { ...sampled, content: "hi" }],
  ])("a client whose sample answers %s", async (_what, answer) => {
    const { told } = await seen(
      revision,
      async (ctx) => ctx.sample({ messages: [user], maxTokens: 5 }),
      () => answer,
    );
    expect(told).toContain("return { role, model, content: { type, text } }");
  });

  it.each(BY_HAND)("inputRequired of %s", async (_what, parts, words) => {
    const { log, told, asked } = await seen(revision, () => inputRequired(is(parts)));
    expect(log).toContain("inputRequired: ");
    expect(log).toContain(words);
    expect(told).toContain("the server's log has the details");
    expect(asked).toBe(0);
  });

  it("inputRequired with a state of dates and objects of classes passes", async () => {
    class Row {
      readonly id = 1;
    }
    const state = { at: new Date(0), row: new Row(), list: [], none: {} };
    const { log, told } = await seen(revision, (ctx) =>
      ctx.inputResponses === undefined ? inputRequired({ requests: { a: is(form) }, state }) : "ok",
    );
    expect(log).toBe("");
    expect(told).toContain("ok");
  });

  it("a form of schemas by name", async () => {
    const { log } = await seen(revision, (ctx) => ctx.elicit({ message: "?", schema: is({ s: z.boolean() }) }));
    expect(log).toContain("as in z.object({ ... })");
  });
});

describe("handles without the context", () => {
  it.each([
    ["an object", { items: [1] }],
    ["a text", "x"],
    ["nothing", undefined],
  ])("%s", (_what, value) => {
    const kept = handles<unknown>({ kind: "basket" });
    const words = "the context of the handler comes first, as in create(ctx, value)";
    expect(() => kept.create(is(value), undefined)).toThrow(words);
    expect(() => kept.get(is(value), "x")).toThrow(words);
    kept.delete({ principal: undefined }, kept.create({ principal: undefined }, 1));
  });
});
