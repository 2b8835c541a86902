// Rejections that nobody handles while a test runs: the default of Node, and of the product, is to end the process for one.
import { afterEach, beforeEach, expect } from "vitest";

/** Lets each test of the file fail for a rejection that nobody handled. */
export function expectAllHandled(): void {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeEach(() => {
    unhandled.length = 0;
    process.on("unhandledRejection", note);
  });
  afterEach(async () => {
    // Node tells of them once the microtasks of a turn are done.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
}

const VALUES: readonly unknown[] = [null, true, 0, "x", [], [null], {}, { uri: 1 }, { type: "text" }];

/**
 * Bad answers to one question, as members of a response: errors of every kind, results of every JSON type, a good result with
 * each member replaced by each of those, and a result with an error.
 */
export function badAnswers(good: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  const errors = [-1, -32601, -32602, -32603, -32042, -32021, 0].map((code) => ({ error: { code, message: "no" } }));
  const strange = [null, "no", {}, { code: "1", message: 2 }, { code: 1, message: "no", data: { elicitations: 7 } }];
  const results = VALUES.map((result) => ({ result }));
  const members = Object.keys(good).flatMap((name) =>
    [...VALUES, undefined, [[null]], [{ name: 1 }], [{ uri: 1 }]].map((value) => ({
      result: { ...good, [name]: value },
    })),
  );
  return [
    ...errors,
    ...strange.map((error) => ({ error })),
    ...results,
    ...members,
    { result: good, error: { code: 1, message: "both" } },
    { result: null, error: null },
  ];
}
