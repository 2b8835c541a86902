// The history: calls of many clients while faults come at random, and a judge that finds what must not be; and faults that are
// planted in the processes, each of which it has to find.
import { randomInt } from "node:crypto";
import { appendFileSync } from "node:fs";
import { Judge } from "./checker.mjs";
import { pause, pick } from "./fleet.mjs";
import { Lane, now } from "./load.mjs";
import { MovingFleet } from "./moving-fleet.mjs";

/** Enough that those which wait for a process that is held do not keep the others from calling. */
const LANES = 1_500;
/** Of them so many are one principal, and meet the limit. */
const SHARERS = 200;
/** Operations a second that are aimed at: what leaves this machine some time for faults. */
const AIM = 750;
const PROCESSES = 3;
/** Little enough that the clients which share a principal meet it on a slow machine too. */
const RATE = { perSecond: 20, burst: 10 };
/** Milliseconds between two faults, and that one lasts: shorter and longer than a lease. */
const BETWEEN_MS = 4_000;
const LASTS_MS = 5_000;
/** Milliseconds after a fault in which processes may not have heard yet that it is over. */
const SETTLES_MS = 4_000;
const PLANTS = {
  twice: "ran twice",
  lost: "answered and never ran",
  wrong: "another's answer",
  late: "ran after its answer, out of its session's order",
  unlimited: "more than the limit",
};

/** Each does something, waits, and puts it right. */
const FAULTS = {
  async killed({ fleet }) {
    await fleet.kill(fleet.any());
    await fleet.add();
  },
  async left({ fleet }) {
    await fleet.kill(fleet.any(), "SIGTERM");
    await fleet.add();
  },
  async held({ fleet }, ms) {
    const { child } = fleet.any();
    child.kill("SIGSTOP");
    await pause(ms);
    child.kill("SIGCONT");
  },
  async "cut off from each other"({ fleet }, ms) {
    const cut = fleet.members.map(({ relay }) => relay);
    for (const cable of cut) cable.cut();
    await pause(ms);
    for (const cable of cut) cable.mend();
  },
  async "one cut off from Redis"({ fleet }, ms) {
    const { store } = pick(fleet.members);
    store.cut();
    await pause(ms);
    store.mend();
  },
  async "Redis held"({ redis }, ms) {
    redis.child.kill("SIGSTOP");
    await pause(ms);
    redis.child.kill("SIGCONT");
  },
  async "Redis slow"({ redis }, ms) {
    const until = now() + ms;
    while (now() < until) {
      redis.cli("client", "pause", "300", "ALL");
      await pause(400);
    }
  },
  async "Redis full"({ redis }, ms) {
    redis.cli("config", "set", "maxmemory", "1");
    await pause(ms);
    redis.cli("config", "set", "maxmemory", "0");
  },
};
const OF_REDIS = new Set(["one cut off from Redis", "Redis held", "Redis slow", "Redis full"]);

/** `trails`: a file to which each call that nobody answered is written, with what it met. */
export async function* history({ redis, operations, seconds, trails, faults }) {
  const { judged, happened, took } = await record({ redis, operations, seconds, trails, cables: true });
  const found = judged.finish();
  for (const [kind, { count, examples }] of found)
    faults.push(`history: ${kind}, ${count} times: ${examples.join("; ")}`);
  const sum = [...found.values()].reduce((all, { count }) => all + count, 0);
  const outcomes = [...judged.outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  const memory = Math.round(process.memoryUsage().rss / 1e6);
  yield (
    `history: ${judged.calls} operations in ${Math.round(took)} s, ${Math.round(judged.calls / took)} a second (${outcomes}), ` +
      `${judged.effects} effects, ${happened.length} faults (${tally(happened.map(({ what }) => what))}), judged in ${memory} MB: ${sum} violations`
  );
  for (const [plant, kind] of Object.entries(PLANTS)) yield await planted(redis, plant, kind, faults);
}

async function planted(redis, plant, kind, faults) {
  const rate = plant === "unlimited" ? { perSecond: 10_000, burst: 10_000 } : RATE;
  const { judged } = await record({ redis, operations: 3_000, seconds: 30, plant, rate });
  const count = judged.finish().get(kind)?.count ?? 0;
  if (count === 0) faults.push(`history: the planted fault "${plant}" was not found`);
  return `history with a planted fault, "${plant}": ${kind}, ${count} times in ${judged.calls} operations`;
}

/** Milliseconds between two readings of what tools wrote down, and for which some of it may not be read yet. */
const READ_MS = 500;
const LAG_MS = 3_000;

/** Has clients call until there were so many calls, or so many seconds. With cables, while faults come at random. */
async function record({ redis, operations, seconds, trails, plant, rate = RATE, cables = false }) {
  const fleet = new MovingFleet(redis, { count: PROCESSES, rate, plant, cables, clocks: cables });
  await fleet.start();
  const happened = [];
  const disturbed = (from, to) =>
    happened.some((each) => OF_REDIS.has(each.what) && each.from < to && each.to + SETTLES_MS > from);
  const judged = new Judge({ limit: RATE, disturbed });
  const read = () => {
    const until = now() - LAG_MS;
    for (const effect of fleet.newEffects()) judged.effect(effect);
    judged.sweep(until);
  };
  const reading = setInterval(read, READ_MS);
  const begun = now();
  let ended = 0;
  const told = {
    begin: (call) => judged.begin(call),
    end(call) {
      ended++;
      const whole = withFaults(call, happened);
      if (call.hung === true && trails !== undefined) appendFileSync(trails, `${JSON.stringify(whole)}\n`);
      judged.end(whole);
    },
  };
  const over = () => ended >= operations || now() - begun > seconds * 1_000;
  const pace = { everyMs: (LANES / AIM) * 1_000, sharers: SHARERS };
  const lanes = Array.from({ length: LANES }, (_, n) => new Lane(n, fleet, told, pace).run(over));
  const disturbing = cables ? disturb({ fleet, redis }, happened, over) : undefined;
  await Promise.all([...lanes, disturbing]);
  const took = (now() - begun) / 1_000;
  // What was planted late is written by then.
  await pause(500);
  clearInterval(reading);
  read();
  await fleet.stop();
  return { judged, happened, took };
}

/** What nobody answered, with the faults from a while before it to its end. */
function withFaults(call, happened) {
  if (call.hung !== true) return call;
  const near = happened.filter(({ from, to }) => from < call.end && to > call.begin - SETTLES_MS);
  const told = near.map(
    ({ what, from, to }) => `${what} ${[from, to].map((at) => Math.round(at - call.begin)).join(" to ")}`,
  );
  return { ...call, trail: [...call.trail, ...told] };
}

async function disturb(world, happened, over) {
  while (!over()) {
    await pause(randomInt(BETWEEN_MS));
    const what = pick(Object.keys(FAULTS));
    const fault = { what, from: now(), to: Number.POSITIVE_INFINITY };
    happened.push(fault);
    await FAULTS[what](world, 200 + randomInt(LASTS_MS));
    fault.to = now();
  }
}

function tally(words) {
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
