#!/usr/bin/env node
// Writes docs/policy-reference.md from the parser of policies and scripts/lib/policy-keys.mjs. With --check it only says whether the page is up to date.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { policyReference } from "./lib/policy-reference.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, "docs/policy-reference.md");
const source = join(root, "packages/secure-local/src/policy");

/** A module of the policy layer, which exists only as source. */
async function load(folder, name) {
  const build = await rolldown({ input: join(source, `${name}.ts`), platform: "node" });
  await build.write({
    dir: join(folder, name),
    format: "esm",
    entryFileNames: "main.mjs",
    chunkFileNames: "[name].mjs",
  });
  await build.close();
  return await import(pathToFileURL(join(folder, name, "main.mjs")).href);
}

const folder = mkdtempSync(join(tmpdir(), "policy-reference-"));
try {
  const { parsePolicy } = await load(folder, "parse-policy");
  const { PRESETS } = await load(folder, "policy-text");
  const environment = { HOME: "/home/ada" };
  const text = await policyReference((body) => parsePolicy(body, { file: "policy.yaml", environment }), PRESETS);
  if (!process.argv.includes("--check")) writeFileSync(page, text);
  else if (readFileSync(page, "utf8") !== text) {
    process.stderr.write("docs/policy-reference.md is not up to date; run node scripts/policy-reference.mjs\n");
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
