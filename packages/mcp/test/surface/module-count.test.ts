// Counts what a stdio server loads before it can say a word: every module costs a fifth of a millisecond at start.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { loadedModules } from "../support/module-facts.js";

const MOST_MODULES = 60;

/** What `Server` and `serveStdio` load together. Lower it when a feature learns to load on demand; do not raise it. */
const MOST_WITH_SERVER = 150;

const source = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "src");

it(`the stdio entry loads at most ${MOST_MODULES} modules`, () => {
  const loaded = loadedModules(join(source, "entries/stdio.ts"));
  expect(loaded.length, loaded.join("\n")).toBeLessThanOrEqual(MOST_MODULES);
});

it(`a whole stdio server loads at most ${MOST_WITH_SERVER}`, () => {
  const loaded = new Set(["server", "stdio"].flatMap((entry) => loadedModules(join(source, `entries/${entry}.ts`))));
  expect(loaded.size, [...loaded].join("\n")).toBeLessThanOrEqual(MOST_WITH_SERVER);
});
