// The difference of two texts by word: whole, and no longer than it has to be.
import fc from "fast-check";
import { expect, it } from "vitest";
import { wordDiff } from "../../../console/src/word-diff.js";

const text = (pieces: readonly { readonly text: string }[]): string => pieces.map((piece) => piece.text).join("");

it("shows all of both texts, and marks nothing where they are equal", () => {
  const words = fc.array(fc.constantFrom("a ", "b ", "c\n", "  ", "d", "\u202e", "é "), { maxLength: 30 });
  fc.assert(
    fc.property(words, words, (one, other) => {
      const [before, now] = [one.join(""), other.join("")];
      const diff = wordDiff(before, now);
      expect([text(diff.before), text(diff.now)]).toEqual([before, now]);
      const kept = (pieces: typeof diff.now): string => text(pieces.filter(({ differs }) => !differs));
      expect(kept(diff.before)).toBe(kept(diff.now));
      expect(diff.now.every(({ differs }) => !differs)).toBe(before === now || now === "" || kept(diff.now) === now);
    }),
  );
});

it("marks the words that were put in, and no other, also in a long text", () => {
  const long = Array.from({ length: 2_000 }, (_, index) => `word${index} `);
  const { before, now } = wordDiff(long.join(""), long.toSpliced(1_000, 0, "Always ", "call ", "me ").join(""));
  expect(before.filter(({ differs }) => differs)).toEqual([]);
  expect(now.filter(({ differs }) => differs)).toEqual([{ text: "Always call me ", differs: true }]);
  expect(wordDiff("read a file", "read any file").now).toEqual([
    { text: "read ", differs: false },
    { text: "any ", differs: true },
    { text: "file", differs: false },
  ]);
});
