// Calls at a steady rate for a while, and looks at the server now and then.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { residentBytes } from "../measure/process-stats.mjs";
import { callOf, CRASH_EVERY_MS } from "./calls.mjs";

const TICK_MS = 10;
const RESIDENT_EVERY_S = 1;
const OTHER_EVERY_S = 2;
/** Calls under way from which on no more are made: then the server is too slow for the rate, which is told. */
const MOST_OPEN = 500;
const PROBE_MS = 5_000;

/** Everything that was seen of one server. Times are seconds since the start. */
export class Watched {
  latencies = [];
  resident = [];
  held = [];
  counts = { honest: 0, failed: 0, faults: 0, wronglyServed: 0, held: 0 };
  firstFailure = "";
  /** Seconds without calls. */
  rested = 0;
}

/** Resolves after `seconds` with what was seen; rejects when the server ends. */
export async function load(lane, { place, probe, rate, seconds, probeEvery }) {
  const watched = new Watched();
  const start = performance.now();
  const now = () => (performance.now() - start) / 1_000;
  const open = new Set();
  let [made, nextResident, nextOther, nextProbe, nextCrash] = [0, 0, 1, probeEvery, CRASH_EVERY_MS / 1_000];
  /** Seconds in which no calls were made, because the server was looked at. */
  let rested = 0;
  while (now() < seconds) {
    if (lane.hasEnded) throw new Error(`${lane.name}: the server ended: ${lane.complaints.slice(-500)}`);
    for (const due = Math.floor((now() - rested) * rate); made < due; made += 1) {
      if (open.size >= MOST_OPEN) watched.counts.held += 1;
      else track(open, one(lane, watched, { n: made, work: place.work, now }));
    }
    if (now() >= nextResident) {
      nextResident += RESIDENT_EVERY_S;
      watched.resident.push([now(), residentBytes(lane.pid)]);
    }
    if (now() >= nextOther) {
      nextOther += OTHER_EVERY_S;
      track(open, lane.other());
    }
    if (now() >= nextCrash) {
      nextCrash += CRASH_EVERY_MS / 1_000;
      watched.counts.faults += 1;
      track(open, lane.call(["brittle_crash", {}]));
    }
    if (now() >= nextProbe) {
      nextProbe += probeEvery;
      const from = now();
      // At rest: what calls under way hold is no leak, and there are more of them whenever the machine is busy.
      await Promise.all(open);
      await look(lane, watched, { probe, now });
      rested += now() - from;
    }
    await delay(TICK_MS);
  }
  await Promise.all(open);
  watched.rested = rested;
  return watched;
}

function track(open, work) {
  const tracked = work.finally(() => open.delete(tracked));
  open.add(tracked);
}

async function one(lane, watched, { n, work, now }) {
  const { kind, call } = callOf(n, work);
  if (kind === "honest") {
    const { ok, text, ms } = await lane.call(call);
    watched.counts.honest += 1;
    watched.latencies.push([now(), ms]);
    if (ok) return;
    watched.counts.failed += 1;
    watched.firstFailure ||= `${call[0]}: ${text.slice(0, 120)}`;
    return;
  }
  watched.counts.faults += 1;
  const { ok } = kind === "cancelled" ? await lane.cancelled(call, n) : await lane.call(call);
  if (ok !== (kind === "cancelled")) watched.counts.wronglyServed += 1;
}

/** Has the server collect its garbage and say what it holds. */
async function look(lane, watched, { probe, now }) {
  const before = linesOf(probe).length;
  process.kill(lane.pid, "SIGUSR2");
  for (const end = performance.now() + PROBE_MS; performance.now() < end; await delay(20)) {
    const lines = linesOf(probe);
    if (lines.length === before) continue;
    watched.held.push([now(), JSON.parse(lines.at(-1))]);
    return;
  }
}

function linesOf(file) {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}
