#!/usr/bin/env node
// Builds what is stale, then runs the tests; what it does not know goes to vitest (`npm test -- packages/mcp/test/x`).
//
// --update-transcripts  rewrite the golden conversations instead of comparing with them
// --no-build            trust the build that is there; the tests are compiled all the same
// --costs               print at the end what each file took of the processors (Linux)
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileTests } from "./lib/compile-tests.mjs";
import { root, run } from "./lib/run-command.mjs";
import { costTable } from "./lib/test-costs.mjs";

const OWN = new Set(["--update-transcripts", "--no-build", "--costs"]);
const args = process.argv.slice(2);
const rest = args.filter((arg) => !OWN.has(arg));

async function build() {
  for (const [command, ...words] of [
    ["tsc", "-b"],
    [process.execPath, "scripts/bundle-library.mjs"],
    [process.execPath, "scripts/bundle-product.mjs"],
    [process.execPath, "scripts/bundle-console.mjs"],
  ]) {
    const { code, output } = await run(command, words);
    if (code === 0) continue;
    console.error(`${output}The build failed, no test was run.`);
    return code;
  }
  return 0;
}

/** What tells vitest.config.ts that the tests are compiled; nothing when they cannot be. */
async function compile() {
  try {
    await compileTests();
    return { COMPILED_TESTS: "1" };
  } catch (error) {
    console.error(`${error.message}\nThe tests cannot be compiled at once: each goes through vite, which is slower.`);
    return {};
  }
}

async function test(compiled) {
  // Nobody beyond loopback is spoken to; and each of the hundreds of programs started would read these first.
  const certificates = { NODE_EXTRA_CA_CERTS: undefined };
  const update = args.includes("--update-transcripts") ? { UPDATE_TRANSCRIPTS: "1" } : {};
  const vitest = [`${root}/node_modules/vitest/vitest.mjs`, "run", ...rest];
  const env = { ...certificates, ...update, ...compiled };
  const { code } = await run(process.execPath, vitest, { inherit: true, env });
  return code;
}

async function testWithCosts(compiled) {
  const folder = mkdtempSync(join(tmpdir(), "test-costs-"));
  try {
    const log = join(folder, "log");
    const code = await test({ ...compiled, TEST_COSTS: log });
    console.log(existsSync(log) ? costTable(log) : "Costs are counted of compiled tests only.");
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [unbuilt, compiled] = await Promise.all([args.includes("--no-build") ? 0 : build(), compile()]);
process.exitCode = unbuilt || (await (args.includes("--costs") ? testWithCosts(compiled) : test(compiled)));
