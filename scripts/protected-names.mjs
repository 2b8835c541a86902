#!/usr/bin/env node
// Writes docs/protected-names.md from the classes of protected names. With --check it only says whether the page is up to date.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { protectedNamesPage } from "./lib/protected-names-page.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, "docs/protected-names.md");
const source = join(root, "packages/secure-local/src/capabilities/files/protected-names.ts");

const folder = mkdtempSync(join(tmpdir(), "protected-names-"));
try {
  const build = await rolldown({ input: source, platform: "node" });
  const file = join(folder, "names.mjs");
  await build.write({ file, format: "esm" });
  await build.close();
  const { NAME_CLASSES, namesIn } = await import(pathToFileURL(file).href);
  const text = protectedNamesPage(NAME_CLASSES, namesIn);
  if (!process.argv.includes("--check")) writeFileSync(page, text);
  else if (readFileSync(page, "utf8") !== text) {
    process.stderr.write("docs/protected-names.md is not up to date; run node scripts/protected-names.mjs\n");
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
