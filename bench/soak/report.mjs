// What a soak showed: rows of what was measured, what is allowed, and whether it holds.
import { cell } from "../measure/markdown.mjs";
import { heldObjects, mostGrown } from "./snapshot.mjs";
import { minima, slope } from "./series.mjs";

const MB = 2 ** 20;
const HOUR = 3_600;
const SLOPE_LIMIT = 1;
const DRIFT_LIMIT = 0.1;
/** Differences below this are the clock's and the scheduler's, whatever share of a short call they are. */
const DRIFT_FLOOR_MS = 0.3;
/** Resident memory is pages: only what comes back lowest in a minute says something. */
const RESIDENT_WINDOW_S = 60;
/** A series shorter than so many standard errors above the limit says nothing. */
const SURE = 2;
/** Connections that come and go are caught in the middle now and then. */
const DESCRIPTORS_LIMIT = 4;
const GROWN_SHOWN = 5;

/** `from` and `to`: the seconds that count; `bare`: the `Latencies` of the server beside it. */
export function rowsOf(watched, { from, to, rate, exit, fault, bare }) {
  const counting = ([at]) => at >= from && at < to;
  const held = watched.held.filter(counting);
  const heap = slope(held.map(([at, { heapUsed, external }]) => [at / HOUR, (heapUsed + external) / MB]));
  const short = Math.min(RESIDENT_WINDOW_S, (to - from) / 6);
  const resident = slope(
    minima(watched.resident.filter(counting), short).map(([at, bytes]) => [at / HOUR, bytes / MB]),
  );
  const { counts } = watched;
  const total = counts.honest + counts.faults;
  const seconds = to - from - watched.rested;
  return [
    memoryRow(
      "heap and buffers after collection",
      heap,
      held.map(([, { heapUsed, external }]) => heapUsed + external),
    ),
    ...(watched.snapshots.length === 0 ? [] : [objectsRow(watched.snapshots)]),
    memoryRow(
      "resident memory, lowest of each minute",
      resident,
      watched.resident.filter(counting).map(([, bytes]) => bytes),
    ),
    ...[0.5, 0.99].map((share) => driftRow(watched.latencies, bare, { from, to, share })),
    descriptorRow(held),
    {
      what: "calls",
      measured: `${total} (${(total / seconds).toFixed(0)}/s, ${((100 * counts.faults) / total).toFixed(1)} % faults), ${counts.failed} honest ones failed${watched.firstFailure && ` (${cell(watched.firstFailure)})`}, ${counts.wronglyServed} faults served, ${counts.held} not made in time`,
      limit: "0 failed, served or late",
      passed: counts.failed === 0 && counts.wronglyServed === 0 && counts.held === 0 && total >= rate * seconds * 0.97,
    },
    {
      what: "at the end",
      measured: `${held.at(-1)?.[1].uncaught ?? "?"} uncaught exceptions, exit ${exit}, ${fault ?? "audit verifies"}`,
      limit: "0, exit 0, verifies",
      passed: held.at(-1)?.[1].uncaught === 0 && exit === 0 && fault === undefined,
    },
  ];
}

function memoryRow(what, { slope: rise, error }, bytes) {
  const range = `${(Math.min(...bytes) / MB).toFixed(1)} to ${(Math.max(...bytes) / MB).toFixed(1)} MB, ${bytes.length} samples`;
  return {
    what: `slope of ${what}`,
    measured: `${rise.toFixed(2)} MB/h (+-${error.toFixed(2)}; ${range})`,
    limit: `< ${SLOPE_LIMIT} MB/h`,
    // Too short a soak cannot tell: what is certain fails, what is not is shown with its error.
    passed: rise - SURE * error < SLOPE_LIMIT,
    certain: SURE * error < SLOPE_LIMIT,
  };
}

/** Exact: what the program holds at rest, counted in two snapshots. A leak is in here, and compiled code is not. */
function objectsRow(snapshots) {
  const objects = snapshots.map(([at, file]) => [at, heldObjects(file)]);
  const what = "slope of the program's own objects, from the first to the last snapshot";
  if (objects.length < 2) return { what, measured: `${objects.length} snapshots`, limit: "2", passed: false };
  const [[start, before], [end, after]] = [objects[0], objects.at(-1)];
  const rise = (after.bytes - before.bytes) / MB / ((end - start) / HOUR);
  return {
    what,
    measured: `${rise.toFixed(2)} MB/h (${(before.bytes / MB).toFixed(2)} and ${(after.bytes / MB).toFixed(2)} MB, ${((end - start) / 60).toFixed(1)} min apart; most grown: ${cell(mostGrown(before, after, GROWN_SHOWN))})`,
    limit: `< ${SLOPE_LIMIT} MB/h`,
    passed: rise < SLOPE_LIMIT,
  };
}

/** What the bare server beside it drifts by is the machine's or the client's part: it is told, and excuses nothing. */
function driftRow(latencies, bare, { from, to, share }) {
  const { first, last } = latencies.quarters({ from, to, share });
  const beside = bare.quarters({ from, to, share });
  const drift = last / first;
  const machine = beside.last / beside.first;
  const own = drift / machine - 1;
  const percent = (ratio) => `${(100 * ratio).toFixed(1)} %`;
  return {
    what: `p${share * 100} of honest calls, first and last quarter`,
    measured: `${first.toFixed(2)} and ${last.toFixed(2)} ms (${percent(drift - 1)}; the bare server beside it ${beside.first.toFixed(2)} and ${beside.last.toFixed(2)} ms, ${percent(machine - 1)}; so ${percent(own)} of its own)`,
    limit: `< +${100 * DRIFT_LIMIT} %`,
    passed: drift - 1 < DRIFT_LIMIT || last - first < DRIFT_FLOOR_MS,
  };
}

function descriptorRow(held) {
  const counts = held.map(([, { descriptors }]) => descriptors);
  const half = Math.ceil(counts.length / 2);
  const [early, late] = [Math.min(...counts.slice(0, half)), Math.min(...counts.slice(half))];
  const kinds = JSON.stringify(held.at(-1)?.[1].kinds ?? {}).replaceAll('"', "");
  return {
    what: "descriptors, fewest of the first and of the second half",
    measured: `${early} and ${late}; active at the end ${kinds}`,
    limit: `+<= ${DESCRIPTORS_LIMIT}`,
    passed: late - early <= DESCRIPTORS_LIMIT,
  };
}
