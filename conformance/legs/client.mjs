// The client leg: the fixture client against the suite's servers, a process for each scenario, at both requirement sets.
import { fileURLToPath } from "node:url";
import { SETS, scenariosOf } from "../suite/requirement-sets.mjs";
import { runClientScenario } from "../suite/run-scenarios.mjs";
import { judgeClient } from "../suite/verdict.mjs";

const CLIENT = fileURLToPath(new URL("../client.mjs", import.meta.url));

/** Scenarios that belong to no requirement set, each at the wire it is about. */
const BESIDE = [
  { name: "auth/2025-03-26-oauth-metadata-backcompat", set: "2025-03-26" },
  { name: "auth/2025-03-26-oauth-endpoint-fallback", set: "2025-03-26" },
];

/** Each takes two processes; more at a time than this only makes timing scenarios late. */
const AT_A_TIME = 3;

/** Runs the leg. Resolves to one result for each scenario, as the server leg does. */
export async function clientLeg(only) {
  const wanted = [
    ...SETS.flatMap((set) => scenariosOf(set, "client").map((scenario) => ({ ...scenario, set }))),
    ...BESIDE.map((scenario) => ({ ...scenario, unscored: "in no set" })),
  ].filter(({ name }) => only.length === 0 || only.includes(name));
  const results = Array.from({ length: wanted.length });
  let next = 0;
  const worker = async () => {
    while (next < wanted.length) {
      const index = next++;
      results[index] = await run(wanted[index]);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return results;
}

async function run({ name, set, unscored }) {
  const { checks, code, output } = await runClientScenario(`${process.execPath} ${CLIENT}`, name, set);
  if (process.env.CONFORMANCE_VERBOSE !== undefined) process.stderr.write(output);
  const run = `client ${set}`;
  return { key: `${run} ${name}`, run, unscored, ...judgeClient(name, checks, code) };
}
