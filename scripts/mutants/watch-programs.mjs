// Tells of programs that will never come to an end, whatever else the machine does: by the processor time they took, and by
// whether any of them wants more. On systems without /proc only long silence is told.
import { readFileSync, readdirSync } from "node:fs";

const LOOK_MS = 1_000;
/** Looks in a row at which nothing ran and nothing wanted to: no test waits this long for a clock. */
const IDLE_LOOKS = 12;
/** Less than this of a second is a timer's or a collector's, and no work. */
const IDLE_SECONDS = 0.02;
/** Without /proc: looks in all. */
const BLIND_LOOKS = 180;
const NANOSECONDS = 1e9;

/**
 * Calls `told` once, with "spins" when `pid` and what it started have taken more than `most` seconds of processors since now,
 * with "waits" when none of them has wanted a processor for a while; what it returns stops the watch.
 */
export function watchPrograms(pid, most, told, lookMs = LOOK_MS) {
  const first = accounts(pid);
  const seen = new Map();
  let [looks, idle, before] = [0, 0, 0];
  const timer = setInterval(() => {
    looks += 1;
    const now = accounts(pid);
    for (const [program, { ran, wanted }] of now) {
      const from = first.get(program) ?? { ran: 0, wanted: 0 };
      seen.set(program, { ran: ran - from.ran, wanted: wanted - from.wanted });
    }
    const sum = (key) => [...seen.values()].reduce((all, each) => all + each[key], 0);
    idle = now.size > 0 && sum("wanted") - before < IDLE_SECONDS ? idle + 1 : 0;
    before = sum("wanted");
    const verdict =
      sum("ran") > most ? "spins" : idle >= IDLE_LOOKS || (now.size === 0 && looks >= BLIND_LOOKS) ? "waits" : "";
    if (verdict === "") return;
    clearInterval(timer);
    told(verdict);
  }, lookMs);
  return () => clearInterval(timer);
}

/** By process: seconds it ran, and seconds it ran or stood in line for a processor. */
function accounts(pid) {
  return new Map(familyOf(pid).map((each) => [each, account(each)]));
}

function account(pid) {
  let [ran, waited] = [0, 0];
  for (const thread of listed(`/proc/${pid}/task`)) {
    const [took = 0, stood = 0] = text(`/proc/${pid}/task/${thread}/schedstat`).split(" ").map(Number);
    ran += took / NANOSECONDS;
    waited += stood / NANOSECONDS;
  }
  return { ran, wanted: ran + waited };
}

/** A process and all that it and those started; empty without /proc. */
export function familyOf(pid) {
  const family = text(`/proc/${pid}/stat`) === "" ? [] : [pid];
  for (const each of family)
    for (const thread of listed(`/proc/${each}/task`))
      family.push(...text(`/proc/${each}/task/${thread}/children`).split(" ").filter(Boolean).map(Number));
  return family;
}

// A process that has ended meanwhile has nothing left to be read.
function text(path) {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

function listed(path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
