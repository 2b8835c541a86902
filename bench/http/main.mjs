// `npm run bench -- http`: measures, reports, and judges.
import { conclude, progress, readOptions } from "../measure/bench-command.mjs";
import { appendAndSyncMicros } from "../measure/disk-sync.mjs";
import { withEarlier } from "../measure/earlier.mjs";
import { Figures } from "../measure/figures.mjs";
import { runInterleaved } from "../measure/run-interleaved.mjs";
import { temporaryState } from "../stdio/servers.mjs";
import { report } from "./report.mjs";
import { allServers } from "./servers.mjs";
import { TARGETS } from "./targets.mjs";
import { large, list, openSessions, throughput } from "./workloads.mjs";

const USAGE = `npm run bench -- http [options]
  --quick            few calls and repetitions: to see that everything runs, not to quote
  --servers a,b      only these servers      --workloads w4,w7   only these workloads
  --repetitions N    instead of 5            --no-gate           exit 0 even when a target is missed
  --out FILE         where the report goes (default bench/RESULTS-http.md for a full run, nowhere otherwise)
  --beside REF       our servers as of this commit too, built from git, in the same rounds
  --cpu-prof DIR     a profile of every server started, warm-up included
`;

const FULL = {
  repetitions: 5,
  "w3-json": { calls: 20_000 },
  "w3-sse": { calls: 20_000 },
  "w3-alone": { calls: 20_000 },
  w4: { calls: 20_000 },
  w6: { calls: 50 },
  w7: { calls: 30 },
  w9: { sessions: 1_000 },
};
const QUICK = {
  repetitions: 3,
  "w3-json": { calls: 5_000 },
  "w3-sse": { calls: 5_000 },
  "w3-alone": { calls: 5_000 },
  w4: { calls: 5_000 },
  w6: { calls: 20 },
  w7: { calls: 10 },
  w9: { sessions: 1_000 },
};
const MEASURES = {
  "w3-json": throughput("json"),
  "w3-sse": throughput("sse"),
  "w3-alone": throughput("alone"),
  w4: throughput("modern"),
  w6: large,
  w7: list,
  w9: openSessions,
};
/** The field by which a workload compares servers. */
const LEADING_FIELD = Object.fromEntries(
  Object.keys(MEASURES).map((workload) => [workload, workload === "w9" ? "heapKB" : "cpuMicros"]),
);
const RESULTS = new URL("../RESULTS-http.md", import.meta.url);

const COMMAND = {
  usage: USAGE,
  full: FULL,
  quick: QUICK,
  measures: MEASURES,
  results: RESULTS,
  more: { "cpu-prof": { type: "string" } },
};

/** Returns the exit code: 0, 1 when a target was missed or a server failed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv, COMMAND);
  if (options === undefined) return 2;
  const { state, remove } = temporaryState();
  try {
    const place = [state, options.values["cpu-prof"]];
    const wanted = allServers(...place).filter((server) => options.servers?.includes(server.id) ?? true);
    const servers = await withEarlier(wanted, { ref: options.values.beside, name: "http", place });
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
    const outcomes = await runInterleaved(taking, {
      repetitions: settings.repetitions,
      measure: (server) => MEASURES[workload](server, settings[workload]),
      onProgress: (text) => progress(`${workload} ${text}`),
    });
    figures.add(workload, outcomes);
  }
  progress("");
  return figures;
}
