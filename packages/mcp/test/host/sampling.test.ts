// Servers ask the model past the person at both ends, and not too often.
import { expect, it } from "vitest";
import type { SamplingOptions } from "../../src/host/questions.js";
import type { WebHostOptions } from "../../src/serve/host.js";
import { Server } from "../../src/server/server.js";
import { hostWith, tapped } from "./host-fixture.js";

type Request = Parameters<SamplingOptions["review"]["request"]>[0];
const said = (text: string) => ({ type: "text", text }) as const;
const QUESTION: Request = {
  messages: [{ role: "user", content: said("hi") }],
  maxTokens: 50_000,
  includeContext: "allServers",
  modelPreferences: { hints: [{ name: "small" }] },
};

/** A server whose tool asks the model, and a host with this sampling; what the tool got, or the error. */
async function asked(
  sampling: Partial<SamplingOptions>,
  more: Partial<WebHostOptions> = {},
): Promise<{ ask: () => Promise<unknown>; seen: Request[]; told: string[] }> {
  const seen: Request[] = [];
  const { host } = hostWith({
    sampling: {
      model: {
        available: [{ name: "big" }, { name: "small" }],
        generate: (request, { model, server }) => {
          seen.push(request);
          return {
            role: "assistant",
            content: said(`${server} ${JSON.stringify(request.messages)}`),
            model: model.name,
          };
        },
      },
      review: { request: () => true, answer: () => true },
      ...sampling,
    },
    client: { verdicts: false, revision: "2025-11-25" },
    ...more,
  });
  const server = new Server({ name: "n", version: "1" });
  server.tool("ask", {
    input: { type: "object" },
    run: async (_args, ctx) => {
      try {
        const { content, model } = await ctx.sample(QUESTION);
        return JSON.stringify([model, content]);
      } catch (error) {
        return JSON.stringify((error as { code?: unknown; message: string }).message);
      }
    },
  });
  const told: string[] = [];
  await host.add("north", tapped(server, told));
  const ask = async (): Promise<unknown> => {
    const { content } = await host.call("north__ask");
    return JSON.parse((content[0] as { text: string }).text) as unknown;
  };
  return { ask, seen, told };
}

it("reviews, edits, asks the chosen model, reviews, delivers", async () => {
  const steps: string[] = [];
  const { ask, seen } = await asked({
    review: {
      request: (request, { server }) => {
        steps.push(`request of ${server}: ${request.maxTokens} ${String(request.includeContext)}`);
        return { ...request, messages: [{ role: "user", content: said("edited") }] };
      },
      answer: (answer, { request }) => {
        steps.push(`answer to ${JSON.stringify(request.messages[0]?.content)}`);
        return { ...answer, content: said("cleaned") };
      },
    },
  });
  expect(await ask()).toEqual(["small", said("cleaned")]);
  expect(steps).toEqual(["request of north: 8192 undefined", 'answer to {"type":"text","text":"edited"}']);
  expect(seen).toHaveLength(1);
});

it.each<[string, Partial<SamplingOptions>]>([
  ["the request", { review: { request: () => false, answer: () => true } }],
  ["the answer", { review: { request: () => true, answer: () => false } }],
  ["a review that fails", { review: { request: () => Promise.reject(new Error("x")), answer: () => true } }],
  ["a review that says nonsense", { review: { request: () => "yes" as never, answer: () => true } }],
  [
    "a review that never ends",
    { timeoutMs: 5, review: { request: () => new Promise(() => undefined), answer: () => true } },
  ],
  [
    "a model that fails",
    { model: { available: [{ name: "m" }], generate: () => Promise.reject(new Error("secret detail")) } },
  ],
  ["no model", { model: { available: [], generate: () => Promise.reject(new Error("x")) } }],
])("refuses by %s, without detail", async (_, sampling) => {
  const { ask, told } = await asked(sampling);
  const message = await ask();
  expect(message).toEqual(expect.stringMatching(/reject|no model|no answer/i));
  expect(told.at(-1)).toContain('"error":{"code":-1,');
  expect(told.join("\n")).not.toMatch(/secret/);
});

it("refuses what is too often", async () => {
  const { ask, seen } = await asked({ perMinute: 2 });
  await ask();
  await ask();
  expect(await ask()).toEqual(expect.stringContaining("Too many sampling requests"));
  expect(seen).toHaveLength(2);
});
