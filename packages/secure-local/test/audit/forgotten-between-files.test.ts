// Test files share the modules of their worker, and none has its texts searched for the secrets of the files before it.
import { expect, it } from "vitest";
import { cleanText } from "../../src/guard/cleaning/clean-text.js";
import { knownSpellings, knowsSecrets, rememberSecret } from "../../src/audit/secret-shapes.js";

const compiled = process.env["COMPILED_TESTS"] === "1";

it.runIf(compiled)("begins without the secrets of other files, and forgets its own before the next", () => {
  expect(knowsSecrets()).toBe(false);
  rememberSecret("door", "a-secret-of-this-file-alone");
  expect(cleanText("a-secret-of-this-file-alone")).not.toContain("alone");
  const { __beforeTestFiles: before } = globalThis as unknown as { __beforeTestFiles: (() => void)[] };
  for (const forget of before) forget();
  expect([knowsSecrets(), knownSpellings().size]).toEqual([false, 0]);
  expect(cleanText("a-secret-of-this-file-alone")).toBe("a-secret-of-this-file-alone");
});
