// Runs of equal calls in a list: which calls fold into one line, and that each of them is still to be found.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { CallRow } from "@secure-local/console/api";
import { folded, linesOf, longest } from "../../../console/src/folds.js";

const row = (n: number, more: Partial<CallRow> = {}): CallRow => ({
  ...{ n, at: n, method: "tools/call", name: "list", server: "board", object: "", client: "agent 1", outcome: "ok" },
  ...{ ms: 1, rule: "tools.allowed: list", line: 4, asked: false, log: 0 },
  ...more,
});
const sizes = (rows: readonly CallRow[]): number[] => folded(rows).map((fold) => fold.length);

it("folds equal calls that follow each other, and no call of another server, outcome, rule or log", () => {
  expect(sizes([row(9), row(8), row(7)])).toEqual([3]);
  for (const other of [
    { server: "far" },
    { outcome: "error" },
    { outcome: "lost" },
    { client: "b" },
    { object: "/a" },
    { line: 5 },
    { log: 1 },
    { asked: true },
  ] as const)
    expect(sizes([row(9), row(8, other), row(7)]), JSON.stringify(other)).toEqual([1, 1, 1]);
});

it("folds equal refusals and questions that nobody answered, and nothing that a person decided", () => {
  expect(sizes([row(9, { outcome: "denied" }), row(8, { outcome: "denied" })])).toEqual([2]);
  const over = { outcome: "unanswered", asked: true, ms: undefined } as const;
  const run = [row(9, over), row(8, over), row(7, over)];
  expect(sizes(run)).toEqual([3]);
  expect(folded(run).map(longest)).toEqual([undefined]);
  for (const outcome of ["ok", "denied"] as const)
    expect(sizes([row(9, { outcome, asked: true }), row(8, { outcome, asked: true })])).toEqual([1, 1]);
});

it("lets a call stand alone that took much longer than the others, and says how long the longest of a run took", () => {
  const run = [1, 0.4, 350.556, 3, 2].map((ms, index) => row(9 - index, { ms }));
  expect(sizes(run)).toEqual([2, 1, 2]);
  expect(folded(run).map(longest)).toEqual([1, 350.556, 3]);
  expect(sizes([row(2, { ms: 1_000 }), row(1, { ms: 1 })])).toEqual([1, 1]);
  // Ten times nearly nothing is nearly nothing.
  expect(sizes([row(2, { ms: 20 }), row(1, { ms: 0.1 })])).toEqual([2]);
});

it("opens to its single calls, all others as they were", () => {
  const folds = folded([row(9), row(8), row(7, { name: "read" }), row(6), row(5)]);
  const shown = (opened: readonly number[]): unknown[] =>
    linesOf(folds, new Set(opened)).map(({ row: { n }, fold, isPart }) => [n, fold?.length ?? 1, isPart]);
  expect(shown([])).toEqual([
    [9, 2, false],
    [7, 1, false],
    [6, 2, false],
  ]);
  expect(shown([5])).toEqual([
    [9, 2, false],
    [7, 1, false],
    [6, 2, false],
    [6, 1, true],
    [5, 1, true],
  ]);
});

it("loses no call, and changes no order", () => {
  const kinds = fc.record({ name: fc.constantFrom("a", "b"), ms: fc.constantFrom(0.2, 3, 900) });
  fc.assert(
    fc.property(fc.array(kinds, { maxLength: 40 }), (given) => {
      const rows = given.map((each, index) => row(100 - index, each));
      expect(folded(rows).flat()).toEqual(rows);
    }),
  );
});
