// `npm run bench -- soak`: the product over stdio and over HTTP for 35 minutes, mixed calls, one in a hundred a fault.
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { cell, table } from "./measure/markdown.mjs";
import { FILES } from "./soak/calls.mjs";
import { HttpLane } from "./soak/http-lane.mjs";
import { load } from "./soak/load.mjs";
import { soakPlace } from "./soak/place.mjs";
import { rowsOf } from "./soak/report.mjs";
import { StdioLane } from "./soak/stdio-lane.mjs";
import { yardstick } from "./soak/yardstick.mjs";

const USAGE = `npm run bench -- soak [--minutes 20] [--warm-up MINUTES] [--rate 200] [--trace FILE] [--snapshots]
  Minutes are those that count; the warm-up comes before them: 15 minutes, of a short soak three quarters of what counts. Its
  first fifth runs at five times the rate, or as fast as the machine goes. The rate is shared by one server over stdio and one over HTTP.
  A bare server that keeps nothing is called beside them: what it drifts by is the machine's part.
  FILE gets what each server held at each look, one line of JSON each.
  Snapshots tell leaks from compiled code and name what grew, and disturb the resident memory.
`;
/** The engine compiles and forgets for so long at the usual rate: the heap's slope falls all the while. */
const WARM_UP_MINUTES = 15;
const WARM_UP_SHARE = 0.75;
const PROBE = fileURLToPath(new URL("soak/probe.mjs", import.meta.url));
/** Garbage is collected by force this often, at least so many times in what counts. */
const PROBE_EVERY_S = 15;
const LEAST_PROBES = 20;

/** Returns the exit code: 0, 1 when something grew, drifted or failed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  if (process.platform !== "linux") {
    process.stdout.write("skipped: what a process holds is read from /proc, which only Linux has\n");
    return 0;
  }
  const place = mkdtempSync(join(homedir(), ".mcp-secure-local-yardstick-"));
  const over = new AbortController();
  const bare = yardstick(place, (options.warmUp + options.minutes) * 60, over.signal);
  // A lane that asks for it tells of its failure; until then it must not end the program.
  bare.catch(() => {});
  const outcomes = await Promise.all([StdioLane, HttpLane].map((kind) => soaked(kind, { ...options, bare })));
  over.abort();
  await Promise.allSettled([bare]);
  rmSync(place, { recursive: true });
  process.stdout.write(`${table(["server", "what", "measured", "wanted", "verdict"], [])}\n`);
  let passed = true;
  for (const { name, rows } of outcomes) {
    for (const { what, measured, limit, passed: holds, certain = true } of rows) {
      passed &&= holds;
      const verdict = holds ? (certain ? "pass" : "pass (too short to be sure)") : "MISSED";
      process.stdout.write(`| ${name} | ${what} | ${measured} | ${limit} | ${verdict} |\n`);
    }
  }
  return passed ? 0 : 1;
}

async function soaked(Lane, { minutes, rate, warmUp, trace, snapshots, bare }) {
  const place = soakPlace(FILES);
  const probe = join(place.folder, "probe");
  let lane;
  try {
    lane = await Lane.start(place, { node: ["--expose-gc", "--import", PROBE], env: { SOAK_PROBE: probe } });
    const [from, to] = [warmUp * 60, (warmUp + minutes) * 60];
    const probeEvery = Math.min(PROBE_EVERY_S, (to - from) / LEAST_PROBES);
    const watched = await load(lane, {
      place,
      probe,
      rate: rate / 2,
      warmUp: from,
      seconds: to,
      probeEvery,
      snapshots,
    });
    for (const look of trace === undefined ? [] : watched.held)
      appendFileSync(trace, `${JSON.stringify([lane.name, ...look])}\n`);
    const exit = await lane.stop();
    const beside = { bare: await bare, exit, fault: place.auditFault() };
    return { name: lane.name, rows: rowsOf(watched, { from, to, rate: rate / 2, ...beside }) };
  } catch (error) {
    const measured = `failed: ${cell(error.stack ?? String(error))}`;
    return { name: Lane.name, rows: [{ what: "the soak itself", measured, limit: "", passed: false }] };
  } finally {
    if (lane !== undefined && !lane.hasEnded) await lane.stop();
    place.remove();
  }
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        minutes: { type: "string", default: "20" },
        rate: { type: "string", default: "200" },
        "warm-up": { type: "string" },
        trace: { type: "string" },
        snapshots: { type: "boolean", default: false },
      },
    });
    const [minutes, rate] = [Number(values.minutes), Number(values.rate)];
    const warmUp =
      values["warm-up"] === undefined ? Math.min(WARM_UP_MINUTES, minutes * WARM_UP_SHARE) : Number(values["warm-up"]);
    if (!(minutes > 0) || !(rate >= 2) || !(warmUp >= 0))
      throw new Error("--minutes, --rate and --warm-up want numbers");
    return { minutes, rate, warmUp, trace: values.trace, snapshots: values.snapshots };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}
