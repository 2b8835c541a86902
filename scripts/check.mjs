#!/usr/bin/env node
// Runs every static check: format, lint, layers, types, dead code. Names of checks as arguments run only those.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./lib/run-command.mjs";
import { runSteps } from "./lib/run-steps.mjs";

/** Named one by one: without folders oxlint and oxfmt walk node_modules. */
const folders = ["packages", "bench", "scorecard", "conformance", "examples", "scripts", "world"].filter((folder) =>
  existsSync(join(root, folder)),
);
const settings = ["package.json", "layers.json", "knip.json", ".oxlintrc.json", "vitest.config.ts"];

/** The tests are checked against the declarations the build writes, so the build comes first. */
async function types() {
  const build = await run("tsc", ["-b"]);
  const tests = await run("tsc", ["-p", "tsconfig.test.json"]);
  const seconds = build.seconds + tests.seconds;
  return { code: build.code || tests.code, output: build.output + tests.output, seconds };
}

const checks = [
  { name: "types", run: types },
  { name: "lint", run: () => run("oxlint", ["--disable-nested-config", ...folders]) },
  { name: "layers", run: () => run("node", ["scripts/check-layers.mjs"]) },
  { name: "format", run: () => run("oxfmt", ["--check", ...folders, ...settings]) },
  { name: "path", run: () => run("node", ["scripts/check-path.mjs"]) },
  { name: "prose", run: () => run("node", ["scripts/check-prose.mjs"]) },
  { name: "dead code", run: () => run("knip", ["--no-progress"]) },
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !checks.some((check) => check.name === name));
if (unknown.length > 0) {
  console.error(`no check named ${unknown.join(", ")}, there are: ${checks.map(({ name }) => name).join(", ")}`);
  process.exitCode = 2;
} else {
  const failed = await runSteps(checks.filter(({ name }) => wanted.length === 0 || wanted.includes(name)));
  process.exitCode = failed > 0 ? 1 : 0;
}
