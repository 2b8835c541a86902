// What is looked through for secrets, at once or in turns, costs what it may and no more; what costs more is withheld.
import { expect, it } from "vitest";
import type { Work } from "../../src/audit/encoded-secrets.js";
import { atOnce, inTurns, rememberSecret, TooMuchWorkError } from "../../src/audit/secret-shapes.js";
import { beforeItIsCut } from "../../src/capabilities/known-secrets.js";
import { cleanNotice, cleanResult } from "../../src/guard/cleaning/clean-result.js";
import { DEFAULT_CLEAN_LIMITS } from "../../src/guard/cleaning/clean-text.js";

const VALUE = "tkt_WorkLimitsValue_7e2b";
rememberSecret("limited", VALUE);
const dense = "\\x41".repeat(75_000);

it("of a message that takes too long only what is short is left", () => {
  const text = dense.repeat(4);
  const told = { a: "s".repeat(256), b: "s".repeat(257), c: 5, d: null, e: true, f: {}, g: [] };
  const withheld: unknown = expect.stringContaining("The message is withheld");
  expect(cleanNotice({ text, ...told }, DEFAULT_CLEAN_LIMITS)).toEqual({
    ...told,
    ...{ text: withheld, b: withheld, f: withheld, g: withheld },
  });
});

it("what takes more by one character alone is too much, at once as well as in turns", async () => {
  const work = function* (): Work<string> {
    yield 30;
    yield 12;
    return "done";
  };
  expect(atOnce(work(), 42)).toBe("done");
  expect(() => atOnce(work(), 41)).toThrow(new TooMuchWorkError(41));
  expect(await inTurns(work(), 42)).toBe("done");
  await expect((async () => inTurns(work(), 41))()).rejects.toThrow(new TooMuchWorkError(41));
});

it("a text that takes too long is withheld before a tool shows a part of it", async () => {
  expect(await beforeItIsCut(dense, 500_000)).toMatch(/^\[withheld: .* more than 500000 characters/);
  expect(await beforeItIsCut(`a ${VALUE}`, 500_000)).toBe("a [secret limited]");
});

it("a value that is spread over content blocks is cut out of each to the letter", () => {
  const [one, two, three] = [VALUE.slice(0, 9), VALUE.slice(9, 15), VALUE.slice(15)];
  const texts = [`before ${one}`, two, `${three} after, ${"and so on ".repeat(9)}${one}`, `${two}${three}`, "the end"];
  const block = (text: string): object => ({ type: "text", text });
  const { content } = cleanResult({ content: texts.map(block) });
  expect(content).toEqual(
    [
      "before [secret limited]",
      "",
      `[secret limited] after, ${"and so on ".repeat(9)}[secret limited]`,
      "",
      "the end",
    ].map(block),
  );
});
