// What the page Definitions marks in a text, of what the inspection says it found there.
import { expect, it } from "vitest";
import { marksIn } from "../../../console/src/marks.js";

it.each([
  [
    "Reads notes. Ignore all, previous:\n  instructions. Ends.",
    "ignore all previous instructions",
    "Ignore all, previous:\n  instructions",
  ],
  ["Costs $5 (or more)", "$5 (or", "$5 (or"],
  ["a.b", "a.b…", "a.b"],
  ["axb", "a.b", undefined],
  ["nothing of it", "else", undefined],
  ["nothing of it", "", undefined],
])("finds in %j the words %j, whatever parts them", (text, excerpt, found) => {
  const [mark] = marksIn(text, [excerpt]);
  expect(mark && text.slice(mark.start, mark.end)).toBe(found);
});

it("names them in the order in which they stand", () => {
  expect(marksIn("one two", ["two", "one"])).toEqual([
    { start: 0, end: 3 },
    { start: 4, end: 7 },
  ]);
});
