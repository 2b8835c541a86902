// Tool use in sampling messages, and the spelling of stop reasons.
import { describe, expect, it } from "vitest";
import { checkToolUse, normalStopReason, type SamplingMessage } from "../../src/protocol/features/sampling.js";

const text = { type: "text" as const, text: "t" };
const use = (id: string) => ({ type: "tool_use" as const, id, name: "n", input: {} });
const answer = (toolUseId: string) => ({ type: "tool_result" as const, toolUseId, content: [] });
const user = (...content: SamplingMessage["content"][]) =>
  ({ role: "user", content: content.flat() }) as SamplingMessage;
const assistant = (...content: SamplingMessage["content"][]) =>
  ({ role: "assistant", content: content.flat() }) as SamplingMessage;

describe("tool use", () => {
  it.each<[string, SamplingMessage[]]>([
    ["no tools", [user(text), assistant(text), { role: "user", content: text }]],
    [
      "answered at once",
      [user(text), assistant(text, use("1"), use("2")), user(answer("2"), answer("1")), assistant(text)],
    ],
    ["several rounds", [assistant(use("1")), user(answer("1")), assistant(use("2")), user(answer("2"))]],
  ])("is right: %s", (_, messages) => {
    expect(checkToolUse(messages)).toBeUndefined();
  });

  it.each<[string, SamplingMessage[], string, RegExp]>([
    ["mixed", [assistant(use("1")), user(answer("1"), text)], "/messages/1/content", /tool results only/],
    ["not answered", [assistant(use("1")), user(text)], "/messages/1/content", /results of the tool uses 1/],
    ["half answered", [assistant(use("1"), use("2")), user(answer("1"))], "/messages/1/content", /one result for each/],
    ["answered too much", [assistant(use("1")), user(answer("1"), answer("2"))], "/messages/1/content", /no others/],
    ["answered without a question", [user(answer("1"))], "/messages/0/content", /no others/],
    ["left open", [assistant(use("1"))], "/messages", /followed by the results/],
    ["by the user", [user(use("1"))], "/messages/0/content", /only the assistant/],
    [
      "answered by the assistant",
      [assistant(use("1")), assistant(answer("1"))],
      "/messages/1/content",
      /only a user message/,
    ],
  ])("is wrong: %s", (_, messages, path, constraint) => {
    expect(checkToolUse(messages)).toMatchObject({ path, constraint: expect.stringMatching(constraint) });
  });
});

describe("stop reasons", () => {
  it("are spelt as the specification does", () => {
    const given = ["end_turn", "stop_sequence", "max_tokens", "tool_use", "endTurn", "own_word", "constructor"];
    expect(given.map(normalStopReason)).toEqual([
      "endTurn",
      "stopSequence",
      "maxTokens",
      "toolUse",
      "endTurn",
      "own_word",
      "constructor",
    ]);
  });
});
