// `npm run bench -- client`: what a call costs the side that makes it, ours against a raw client and the official SDKs.
import { conclude, progress, readOptions } from "../measure/bench-command.mjs";
import { Figures } from "../measure/figures.mjs";
import { runInterleaved } from "../measure/run-interleaved.mjs";
import { allClients } from "./clients.mjs";
import { report } from "./report.mjs";
import { TARGETS } from "./targets.mjs";
import { calls } from "./workloads.mjs";

const USAGE = `npm run bench -- client [options]
  --quick            few calls and repetitions: to see that everything runs, not to quote
  --servers a,b      only these clients      --workloads w1,w2   only these workloads
  --repetitions N    instead of 5            --no-gate           exit 0 even when a target is missed
  --out FILE         where the report goes (default bench/RESULTS-client.md for a full run, nowhere otherwise)
  --cpu-prof DIR     a profile of every client started, warm-up included
`;

const FULL = {
  repetitions: 5,
  stdio: { calls: 40_000, inFlight: 64 },
  "stdio-one": { calls: 10_000, inFlight: 1 },
  http: { calls: 10_000, inFlight: 32 },
  "http-one": { calls: 5_000, inFlight: 1 },
  "http-modern": { calls: 10_000, inFlight: 32 },
};
const QUICK = {
  repetitions: 3,
  stdio: { calls: 10_000, inFlight: 64 },
  "stdio-one": { calls: 3_000, inFlight: 1 },
  http: { calls: 5_000, inFlight: 32 },
  "http-one": { calls: 2_000, inFlight: 1 },
  "http-modern": { calls: 5_000, inFlight: 32 },
};
const MEASURES = {
  stdio: calls("stdio"),
  "stdio-one": calls("stdio"),
  http: calls("http", "json"),
  "http-one": calls("http", "json"),
  "http-modern": calls("http", "modern"),
};
const LEADING_FIELD = Object.fromEntries(Object.keys(MEASURES).map((workload) => [workload, "cpuMicros"]));
const COMMAND = {
  usage: USAGE,
  full: FULL,
  quick: QUICK,
  measures: MEASURES,
  results: new URL("../RESULTS-client.md", import.meta.url),
  more: { "cpu-prof": { type: "string" } },
};

/** Returns the exit code: 0, 1 when a target was missed or a client failed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv, COMMAND);
  if (options === undefined) return 2;
  const clients = allClients(options.values["cpu-prof"]).filter(({ id }) => options.servers?.includes(id) ?? true);
  const figures = new Figures(LEADING_FIELD);
  for (const workload of options.workloads) {
    const taking = clients.filter((client) => client.workloads.includes(workload));
    const outcomes = await runInterleaved(taking, {
      repetitions: options.settings.repetitions,
      measure: (client) => MEASURES[workload](client, options.settings[workload]),
      onProgress: (text) => progress(`${workload} ${text}`),
    });
    figures.add(workload, outcomes);
  }
  progress("");
  return conclude(figures, clients, { ...options, targets: TARGETS, report });
}
