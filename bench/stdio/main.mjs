// `npm run bench -- stdio`: measures, reports, and judges.
import { conclude, progress, readOptions } from "../measure/bench-command.mjs";
import { appendAndSyncMicros } from "../measure/disk-sync.mjs";
import { withEarlier } from "../measure/earlier.mjs";
import { Figures } from "../measure/figures.mjs";
import { onOneCore } from "../measure/one-core.mjs";
import { runToExit } from "../measure/raw-client.mjs";
import { runInterleaved } from "../measure/run-interleaved.mjs";
import { report } from "./report.mjs";
import { allServers, EMPTY_PROGRAM, temporaryState } from "./servers.mjs";
import { TARGETS } from "./targets.mjs";
import { large, latency, list, start, throughput } from "./workloads.mjs";

const USAGE = `npm run bench -- stdio [options]
  --quick            few calls and repetitions: to see that everything runs, not to quote
  --servers a,b      only these servers      --workloads w1,w2   only these workloads
  --repetitions N    instead of 7            --no-gate           exit 0 even when a target is missed
  --out FILE         where the report goes (default bench/RESULTS.md for a full run, nowhere otherwise)
  --beside REF       our servers as of this commit too, built from git, in the same rounds
`;

const FULL = {
  repetitions: 7,
  starts: 15,
  w1: { calls: 50_000 },
  w2: { calls: 5_000 },
  w5: {},
  w6: { calls: 50 },
  w7: { calls: 30 },
};
const QUICK = {
  repetitions: 3,
  starts: 5,
  w1: { calls: 10_000 },
  w2: { calls: 1_000 },
  w5: {},
  w6: { calls: 20 },
  w7: { calls: 10 },
};
const MEASURES = { w1: throughput, w2: latency, w5: start, w6: large, w7: list };
/** The field by which a workload compares servers. */
const LEADING_FIELD = { w1: "cpuMicros", w2: "p50", w5: "readyAbove", w6: "cpuMicros", w7: "cpuMicros" };
const RESULTS = new URL("../RESULTS.md", import.meta.url);

/**
 * Where this is set, Node reads all certificates of that file before any program begins: three quarters of what an empty
 * program executes, and 1.6 MB that belong to no server. No server here uses TLS.
 */
const NOT_PASSED_ON = "NODE_EXTRA_CA_CERTS";

/** Returns the exit code: 0, 1 when a target was missed or a server failed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv, { usage: USAGE, full: FULL, quick: QUICK, measures: MEASURES, results: RESULTS });
  if (options === undefined) return 2;
  delete process.env[NOT_PASSED_ON];
  const { state, remove } = temporaryState();
  try {
    const wanted = allServers(state).filter((server) => options.servers?.includes(server.id) ?? true);
    const servers = await withEarlier(wanted, { ref: options.values.beside, name: "stdio", place: [state] });
    options.settings.syncMicros = await appendAndSyncMicros(state);
    const figures = await measureAll(servers, options);
    return conclude(figures, servers, { ...options, targets: TARGETS, report });
  } finally {
    remove();
  }
}

async function measureAll(servers, { settings, workloads }) {
  const figures = new Figures(LEADING_FIELD);
  for (const workload of workloads) {
    const taking = servers.filter((server) => server.workloads.includes(workload));
    const outcomes = await (workload === "w5"
      ? measureStarts(taking, settings)
      : measureCalls(workload, taking, settings));
    figures.add(workload, outcomes);
  }
  progress("");
  return figures;
}

async function measureCalls(workload, servers, settings) {
  const run = () =>
    runInterleaved(servers, {
      repetitions: settings.repetitions,
      measure: (server) => MEASURES[workload](server, settings[workload]),
      onProgress: (text) => progress(`${workload} ${text}`),
    });
  if (workload !== "w2") return run();
  const { value, pinned } = await onOneCore(run);
  settings.w2.pinned = pinned;
  return value;
}

/** W5 runs the empty program in every round, and once more than it counts: the first start fills file and code caches. */
async function measureStarts(servers, settings) {
  const empty = { id: "empty", args: [EMPTY_PROGRAM], env: process.env };
  const outcomes = await runInterleaved([empty, ...servers], {
    repetitions: settings.starts + 1,
    measure: async (server) => (server === empty ? { ready: await runToExit(server.args) } : start(server)),
    onProgress: (text) => progress(`w5 ${text}`),
  });
  const base = outcomes.get(empty.id).samples.slice(1);
  outcomes.delete(empty.id);
  for (const outcome of outcomes.values()) {
    outcome.samples = outcome.samples.slice(1).map((sample, round) => ({
      ...sample,
      readyAbove: sample.ready - base[round].ready,
      firstCallAbove: sample.firstCall - base[round].ready,
    }));
  }
  return outcomes;
}
