// Choosing a model by what a server would like: a table of cases.
import { expect, it } from "vitest";
import { selectModel } from "../../src/host/questions.js";
import type { ModelPreferences } from "../../src/protocol/features/sampling.js";

const ALL = [
  { name: "claude-3-5-sonnet-20241022", cost: 0.5, speed: 0.6, intelligence: 0.9 },
  { name: "claude-3-haiku-20240307", cost: 0.1, speed: 0.9, intelligence: 0.5 },
  { name: "gpt-4o", cost: 0.6, speed: 0.7, intelligence: 0.8 },
  { name: "gemini-1.5-pro", cost: 0.4, speed: 0.5, intelligence: 0.85 },
];
const GEMINI = [
  { name: "gemini-1.5-flash", cost: 0.1, speed: 1, intelligence: 0.4 },
  { name: "gemini-1.5-pro", cost: 0.4, speed: 0.5, intelligence: 0.85 },
];
const MAPPING = { sonnet: ["gpt-9", "gemini-1.5-pro"], haiku: ["gemini-1.5-flash"] };
const hints = (...names: string[]): ModelPreferences => ({ hints: names.map((name) => ({ name })) });

it.each<[string, ModelPreferences | undefined, { name: string }[], string | undefined]>([
  ["no wishes: the first", undefined, ALL, "claude-3-5-sonnet-20241022"],
  ["nothing is available", hints("claude"), [], undefined],
  ["a hint is a substring", hints("haiku"), ALL, "claude-3-haiku-20240307"],
  ["whatever the case", hints("GPT"), ALL, "gpt-4o"],
  ["the first hint that fits wins", hints("llama", "gpt", "claude"), ALL, "gpt-4o"],
  [
    "a family by hint, its member by priority",
    { ...hints("claude"), speedPriority: 1 },
    ALL,
    "claude-3-haiku-20240307",
  ],
  ["a hint beats priorities", { ...hints("gpt-4o"), costPriority: 1 }, ALL, "gpt-4o"],
  ["a hint is mapped to an equivalent", hints("claude-3-sonnet"), GEMINI, "gemini-1.5-pro"],
  ["a mapped first hint beats a second one that fits", hints("haiku", "pro"), GEMINI, "gemini-1.5-flash"],
  ["a hint that fits beats its mapping", hints("sonnet"), ALL, "claude-3-5-sonnet-20241022"],
  ["no hint fits: the cheapest", { ...hints("llama"), costPriority: 1 }, ALL, "claude-3-haiku-20240307"],
  ["the most capable", { intelligencePriority: 1 }, ALL, "claude-3-5-sonnet-20241022"],
  ["the fastest", { speedPriority: 1 }, GEMINI, "gemini-1.5-flash"],
  ["a balance", { costPriority: 0.3, speedPriority: 0.8, intelligencePriority: 0.5 }, GEMINI, "gemini-1.5-flash"],
  ["equals: the first", { costPriority: 0 }, GEMINI, "gemini-1.5-flash"],
  ["figures nobody gave", { speedPriority: 1 }, [{ name: "a" }, { name: "b" }], "a"],
  ["an empty hint says nothing", { ...hints(""), intelligencePriority: 1 }, GEMINI, "gemini-1.5-pro"],
  ["a hint without a name", { hints: [{}], speedPriority: 1 }, GEMINI, "gemini-1.5-flash"],
  ["priorities out of range", { costPriority: -5, intelligencePriority: 99 }, GEMINI, "gemini-1.5-pro"],
  ["priorities that are no numbers", { costPriority: "much" as never }, GEMINI, "gemini-1.5-flash"],
])("%s", (_, preferences, available, name) => {
  expect(selectModel(preferences, available, MAPPING)?.name).toBe(name);
});
