// The page of protected names says what the program protects.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { NAME_CLASSES, namesIn } from "../../packages/secure-local/src/capabilities/files/protected-names.js";
import { protectedNamesPage } from "../lib/protected-names-page.mjs";

it("docs/protected-names.md is up to date: else run node scripts/protected-names.mjs", () => {
  const page = readFileSync(new URL("../../docs/protected-names.md", import.meta.url), "utf8");
  expect(page).toBe(protectedNamesPage(NAME_CLASSES, namesIn));
});
