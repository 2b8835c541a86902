// The parts of plugins that need no process: when they are started again, what they may say of themselves and answer.
import { describe, expect, test } from "vitest";
import { PluginError, readDescription, readPluginAnswer } from "../../src/plugins/plugin-description.js";
import { RestartPlan } from "../../src/plugins/plugin.js";

describe("a plugin that ends at once", () => {
  test("is started at most 12 times in 5 minutes, and the breaker opens after 5 ends in a minute", () => {
    let now = 0;
    const plan = new RestartPlan({ now: () => now, random: () => 0 });
    const waits: number[] = [];
    let starts = 0;
    while (now < 300_000) {
      starts += 1;
      now += 10;
      plan.ended(10);
      waits.push(plan.waitMs);
      now += plan.waitMs;
    }
    expect(waits.slice(0, 5)).toEqual([500, 1_000, 2_000, 4_000, 60_000]);
    expect(starts).toBeLessThanOrEqual(12);
  });

  test("begins with a short wait again once it has run for a minute", () => {
    let now = 0;
    const plan = new RestartPlan({ now: () => now, random: () => 0 });
    for (let end = 0; end < 3; end += 1) plan.ended(10);
    now += 120_000;
    plan.ended(120_000);
    expect([plan.waitMs, plan.broken]).toEqual([500, false]);
  });
});

describe("what a plugin says of itself", () => {
  const good = { name: "good", version: 1, tools: [{ name: "a", description: "A" }] };

  test("is read from lists and mappings alike", () => {
    expect(readDescription(good).tools).toEqual(readDescription({ ...good, tools: { a: { description: "A" } } }).tools);
  });

  test.each([
    ["no name", {}],
    ["a name with a path in it", { name: "../x" }],
    ["a tool with an odd name", { name: "x", tools: { "a b": {} } }],
    ["a schema of something else", { name: "x", tools: { a: { input: { type: "array" } } } }],
    [
      "too many tools",
      { name: "x", tools: Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`t${at}`, {}])) },
    ],
    ["a file as resource", { name: "x", resources: { "file:///etc/passwd": {} } }],
    ["needs that are no list", { name: "x", needs: { network: "all" } }],
    ["a list", []],
    ["nothing", null],
  ])("%s is refused", (_what, given) => {
    expect(() => readDescription(given)).toThrow(PluginError);
  });
});

describe("what a plugin answers", () => {
  test("may be a text, blocks, data or a failure", () => {
    expect(readPluginAnswer({ content: "text" })).toMatchObject({ text: "text", isError: false });
    const image = { type: "image", data: "AA==", mimeType: "image/png" };
    const mixed = { content: [{ type: "text", text: "a" }, image], structuredContent: { a: 1 }, isError: true };
    expect(readPluginAnswer(mixed)).toEqual({ text: "a", blocks: [image], structured: { a: 1 }, isError: true });
  });

  test.each([
    [{ failed: true }],
    [{ answer: 7 }],
    [{ content: 7 }],
    [{ content: [{ type: "text" }] }],
    [{ content: [{ type: "image" }] }],
    [{ content: "text", isError: "yes" }],
  ])("%j is refused", (line) => {
    expect(() => readPluginAnswer(line)).toThrow(PluginError);
  });

  test.each([
    [{ content: "it failed", iserror: true }, 'a member "iserror", which there is not; did you mean "isError"?'],
    [{ id: 1, content: "x", structured: { a: 1 } }, 'a member "structured", which there is not'],
  ])("with a member that there is not is named: %j", (line, said) => {
    for (const given of "id" in line ? [line] : [line, { answer: line }])
      expect(() => readPluginAnswer(given)).toThrow(said);
  });
});
