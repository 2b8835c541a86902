// Calls at a steady rate for a while, and looks at the server now and then.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { residentBytes } from "../measure/process-stats.mjs";
import { callOf, CRASH_EVERY_MS } from "./calls.mjs";
import { Latencies } from "./series.mjs";

const TICK_MS = 10;
/**
 * The warm-up begins so many times as fast, for this share of it: what counts is how often code was run. Then the engine
 * drops what is run seldom at the usual rate, which takes minutes and must be over before anything counts.
 */
const WARM_SHARE = 0.2;
const WARM_FACTOR = 5;
const RESIDENT_EVERY_S = 1;
const OTHER_EVERY_S = 2;
/** Calls under way from which on no more are made: then the server is too slow for the rate, which is told. */
const MOST_OPEN = 500;
/** The same in the warm-up, which takes what the machine gives: fewer than one plugin may have. */
const MOST_OPEN_WARM = 40;
const PROBE_MS = 30_000;

/** Everything that was seen of one server. Times are seconds since the start. */
export class Watched {
  latencies = new Latencies();
  resident = [];
  held = [];
  /** When each snapshot was taken, and its file. */
  snapshots = [];
  counts = { honest: 0, failed: 0, faults: 0, wronglyServed: 0, held: 0 };
  firstFailure = "";
  /** Seconds without calls since the warm-up. */
  rested = 0;
}

/** Warms up, then calls at the rate; resolves `seconds` after the start with what was seen since the warm-up; rejects when the server ends. */
export async function load(lane, { place, probe, rate, warmUp, seconds, probeEvery, snapshots }) {
  const watched = new Watched();
  const start = performance.now();
  const now = () => (performance.now() - start) / 1_000;
  const open = new Set();
  let [made, nextResident, nextOther, nextProbe, nextCrash] = [0, 0, 1, probeEvery, CRASH_EVERY_MS / 1_000];
  /** Calls that should have been made, and the time up to which they are counted. */
  let [due, paidUntil] = [0, now()];
  while (now() < seconds) {
    if (lane.hasEnded) throw new Error(`${lane.name}: the server ended: ${lane.complaints.slice(-500)}`);
    const warming = now() < warmUp;
    const fast = now() < warmUp * WARM_SHARE;
    due += (now() - paidUntil) * rate * (fast ? WARM_FACTOR : 1);
    paidUntil = now();
    for (; made < Math.floor(due); made += 1) {
      if (open.size < (fast ? MOST_OPEN_WARM : MOST_OPEN))
        track(open, one(lane, watched, { n: made, work: place.work, now, warming, fast }));
      else if (!warming) watched.counts.held += 1;
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
      if (!warming) watched.counts.faults += 1;
      track(open, lane.call(["brittle_crash", {}]));
    }
    if (now() >= nextProbe) {
      nextProbe += probeEvery;
      const from = now();
      // At rest: what calls under way hold is no leak, and there are more of them whenever the machine is busy.
      await Promise.all(open);
      // What writing a snapshot takes is given back slowly, so the first one comes early.
      const wanted = snapshots && watched.snapshots.length === 0 && now() >= warmUp / 2;
      await look(lane, watched, { probe, now, snapshot: wanted });
      paidUntil = now();
      if (!warming) watched.rested += now() - from;
    }
    await delay(TICK_MS);
  }
  await Promise.all(open);
  if (snapshots) await look(lane, watched, { probe, now, snapshot: true });
  return watched;
}

function track(open, work) {
  const tracked = work.finally(() => open.delete(tracked));
  open.add(tracked);
}

async function one(lane, watched, { n, work, now, warming, fast }) {
  const { kind, call } = callOf(n, work, fast);
  if (kind === "honest") {
    const { ok, text, ms } = await lane.call(call);
    if (!warming) {
      watched.counts.honest += 1;
      watched.latencies.add(now(), ms);
    }
    if (ok) return;
    watched.counts.failed += 1;
    watched.firstFailure ||= `${call[0]}: ${text.slice(0, 120)}`;
    return;
  }
  if (!warming) watched.counts.faults += 1;
  const { ok } = kind === "cancelled" ? await lane.cancelled(call, n) : await lane.call(call);
  if (ok !== (kind === "cancelled")) watched.counts.wronglyServed += 1;
}

/** Has the server collect its garbage and say what it holds. */
async function look(lane, watched, { probe, now, snapshot }) {
  const before = linesOf(probe).length;
  if (snapshot) writeFileSync(`${probe}.want`, "");
  process.kill(lane.pid, "SIGUSR2");
  for (const end = performance.now() + PROBE_MS; performance.now() < end; await delay(20)) {
    const lines = linesOf(probe);
    if (lines.length === before) continue;
    if (snapshot) {
      const file = `${probe}-${watched.snapshots.length}.heapsnapshot`;
      renameSync(`${probe}.heapsnapshot`, file);
      watched.snapshots.push([now(), file]);
    } else watched.held.push([now(), JSON.parse(lines.at(-1))]);
    return;
  }
}

function linesOf(file) {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}
