#!/usr/bin/env node
// Builds what is stale, then runs the tests; what it does not know goes to vitest (`npm test -- packages/mcp/test/x`).
//
// --update-transcripts  rewrite the golden conversations instead of comparing with them
// --no-build            trust the build that is there
import { root, run } from "./lib/run-command.mjs";

const OWN = new Set(["--update-transcripts", "--no-build"]);
const args = process.argv.slice(2);
const rest = args.filter((arg) => !OWN.has(arg));

async function build() {
  for (const [command, ...words] of [
    ["tsc", "-b"],
    [process.execPath, "scripts/bundle-library.mjs"],
    [process.execPath, "scripts/bundle-product.mjs"],
  ]) {
    const { code, output } = await run(command, words);
    if (code === 0) continue;
    console.error(`${output}The build failed, no test was run.`);
    return code;
  }
  return 0;
}

async function test() {
  // Nobody beyond loopback is spoken to; and each of the hundreds of programs started would read these first.
  const certificates = { NODE_EXTRA_CA_CERTS: undefined };
  const update = args.includes("--update-transcripts") ? { UPDATE_TRANSCRIPTS: "1" } : {};
  const vitest = [`${root}/node_modules/vitest/vitest.mjs`, "run", ...rest];
  const { code } = await run(process.execPath, vitest, { inherit: true, env: { ...certificates, ...update } });
  return code;
}

process.exitCode = (args.includes("--no-build") ? 0 : await build()) || (await test());
