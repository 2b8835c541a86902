// Counts what a stdio server loads before it can say a word: every module costs a fifth of a millisecond at start.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { loadedModules } from "../support/module-facts.js";

const MOST_MODULES = 60;

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: Record<string, { readonly node: string }>;
};

function built(subpath: string): string {
  const path = join(root, manifest.exports[subpath]?.node ?? "");
  if (!existsSync(path)) throw new Error(`${path} is not built, run \`npm run build\``);
  return path;
}

it(`the built stdio entry and the server it serves load at most ${MOST_MODULES} modules`, () => {
  const loaded = new Set(["./stdio", "./server"].flatMap((subpath) => loadedModules(built(subpath))));
  expect(loaded.size, [...loaded].join("\n")).toBeLessThanOrEqual(MOST_MODULES);
});
