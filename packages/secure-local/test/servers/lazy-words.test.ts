// What judges a server's words is loaded before its server is opened: until then nothing of it gets past.
import type { Call } from "@secure-local/mcp/server";
import { LocalError } from "@secure-local/mcp/jsonrpc";
import { expect, it } from "vitest";
import { type AllWords, lazyWords } from "../../src/server/lazy-parts.js";

it("lets nothing of a server pass before what judges its words is there, and tells its owner of every failure", () => {
  const told: string[] = [];
  let all = undefined as AllWords | undefined;
  const words = lazyWords(
    () => all,
    ({ server }) => void told.push(`early ${server}`),
  );
  const failure = { call: {} as Call, server: "s", error: new LocalError("CLOSED", "over"), told: "over" };
  // All but what tells of a failure: a member that is added lets nothing pass either.
  const { failed: _, ...members } = words;
  const judging = members as unknown as Readonly<Record<string, (...given: readonly unknown[]) => unknown>>;
  const names = ["answer", "error", "logger", "meta", "progress", "question"];
  expect(Object.keys(judging).toSorted()).toEqual(names);
  for (const judge of Object.values(judging)) expect(() => judge({}, {}, {})).toThrow("never opened");
  expect(words.failed(failure)).toBeUndefined();
  all = { ...words, progress: (message) => `judged ${message}`, failed: ({ server }) => `late ${server}` };
  expect(words.progress("half")).toBe("judged half");
  const judged = Object.fromEntries(names.map((name) => [name, (...given: unknown[]) => [name, ...given]]));
  all = { ...(judged as unknown as AllWords), failed: all.failed };
  for (const [name, judge] of Object.entries(judging))
    expect(judge(1, 2, 3)).toEqual([name, 1, 2, 3].slice(0, judge.length + 1));
  expect(words.failed(failure)).toBe("late s");
  expect(told).toEqual(["early s"]);
});
