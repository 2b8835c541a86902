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
  expect(() => words.answer({}, { kind: "tool", name: "a", shown: "s__a" })).toThrow("never opened");
  expect(() => words.progress("half")).toThrow("never opened");
  expect(() => words.meta({})).toThrow("never opened");
  expect(words.failed(failure)).toBeUndefined();
  all = { ...words, progress: (message) => `judged ${message}`, failed: ({ server }) => `late ${server}` };
  expect(words.progress("half")).toBe("judged half");
  expect(words.failed(failure)).toBe("late s");
  expect(told).toEqual(["early s"]);
});
