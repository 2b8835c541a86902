// What a person probably meant by a key that is not there: the nearest, by letters added, left out, changed or exchanged.
import { expect, it } from "vitest";
import { didYouMean } from "../../src/policy/section.js";

const meant = (given: string, ...names: string[]): string => /"(.*)"/.exec(didYouMean(given, names))?.[1] ?? "";

it.each([
  ["bacdef", "exchanged at the beginning"],
  ["abdcef", "exchanged in the middle"],
  ["abcdfe", "exchanged at the end"],
  ["abcdeff", "added"],
  ["zabcdef", "added in front"],
  ["abcef", "left out"],
  ["abcdex", "changed"],
  ["ABCDEF", "in other letters"],
])("%s is abcdef with one %s, and nearer to it than to what differs twice", (given) => {
  // What differs twice comes first: only what is truly nearer is taken before it.
  const twice = given
    .toLowerCase()
    .replace(/^(.)(.)/, "$1$2")
    .replace(/..$/, "__");
  expect(meant(given, twice, "abcdef")).toBe("abcdef");
});

it("of two that are as near the first is meant", () => {
  expect(meant("abcd", "abce", "abcf")).toBe("abce");
});

it("nothing is meant that is too far away, or too long to be compared", () => {
  expect(meant("abcd", "wxyz")).toBe("");
  expect(meant("allowed", "denied")).toBe("");
  expect(meant("a".repeat(5_000), "a".repeat(4_999))).toBe("");
});
