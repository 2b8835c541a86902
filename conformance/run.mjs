// Runs the public conformance suite against the library: npm run conformance [-- [--gateway | --balanced] SCENARIO...]
//
// --gateway   with the server behind the gateway instead, which does not pass all of it yet
// --balanced  with the server in 3 and in 10 processes behind a balancer that knows nothing; needs redis-server
// Without names every scenario of both requirement sets runs, scored or not. CONFORMANCE_VERBOSE=1 prints what the suite
// and the fixture say. The last line is the sum over all scenarios; known failures (expected-failures.json) are left out of it.
import { readFileSync } from "node:fs";
import { clientLeg } from "./legs/client.mjs";
import { balancedLeg, gatewayLeg, serverLeg } from "./legs/server.mjs";
import { report } from "./report.mjs";
import { compare } from "./suite/verdict.mjs";

const OTHER_LEGS = { "--gateway": gatewayLeg, "--balanced": balancedLeg };
const chosen = process.argv.find((word) => Object.hasOwn(OTHER_LEGS, word));
const LEGS = chosen === undefined ? [serverLeg, clientLeg] : [OTHER_LEGS[chosen]];

const only = process.argv.slice(2).filter((word) => word !== chosen);
const known = JSON.parse(readFileSync(new URL("expected-failures.json", import.meta.url), "utf8"));
const results = [];
try {
  for (const leg of LEGS) results.push(...(await leg(only)));
  if (results.length === 0) console.error(`No scenario is named ${only.join(" or ")}`);
} catch (error) {
  console.error(error.message);
}

const comparison = compare(results, only.length === 0 ? known : []);
const passed = results.filter(({ outcome }) => outcome === "passed").length;
const failed = comparison.unexpected.length + comparison.stale.length + (results.length === 0 ? 1 : 0);
console.log(report(results, comparison));
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
