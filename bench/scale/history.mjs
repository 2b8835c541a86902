// The history: calls of many clients while faults come at random, and a judge that finds what must not be; and faults that are
// planted in the processes, each of which it has to find.
import { randomInt } from "node:crypto";
import { judge } from "./checker.mjs";
import { pause, pick } from "./fleet.mjs";
import { Lane, now } from "./load.mjs";
import { MovingFleet } from "./moving-fleet.mjs";

const LANES = 24;
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

export async function* history({ redis, operations, seconds, faults }) {
  const { calls, effects, happened, took } = await record({ redis, operations, seconds, cables: true });
  const disturbed = (from, to) =>
    happened.some((each) => OF_REDIS.has(each.what) && each.from < to && each.to + SETTLES_MS > from);
  const found = judge(calls, effects, { limit: RATE, disturbed });
  for (const [kind, { count, examples }] of found)
    faults.push(`history: ${kind}, ${count} times: ${examples.join("; ")}`);
  const sum = [...found.values()].reduce((all, { count }) => all + count, 0);
  yield (
    `history: ${calls.length} operations in ${Math.round(took)} s (${tally(calls.map(({ outcome }) => outcome))}), ${effects.length} effects, ` +
      `${happened.length} faults (${tally(happened.map(({ what }) => what))}): ${sum} violations`
  );
  for (const [plant, kind] of Object.entries(PLANTS)) yield await planted(redis, plant, kind, faults);
}

async function planted(redis, plant, kind, faults) {
  const rate = plant === "unlimited" ? { perSecond: 10_000, burst: 10_000 } : RATE;
  const { calls, effects } = await record({ redis, operations: 1_000, seconds: 30, plant, rate });
  const count = judge(calls, effects, { limit: RATE }).get(kind)?.count ?? 0;
  if (count === 0) faults.push(`history: the planted fault "${plant}" was not found`);
  return `history with a planted fault, "${plant}": ${kind}, ${count} times in ${calls.length} operations`;
}

/** Has clients call until there were so many calls, or so many seconds. With cables, while faults come at random. */
async function record({ redis, operations, seconds, plant, rate = RATE, cables = false }) {
  const fleet = new MovingFleet(redis, { count: PROCESSES, rate, plant, cables, clocks: cables });
  await fleet.start();
  const calls = [];
  const happened = [];
  const begun = now();
  const over = () => calls.length >= operations || now() - begun > seconds * 1_000;
  const lanes = Array.from({ length: LANES }, (_, n) => new Lane(n, fleet, calls).run(over));
  const disturbing = cables ? disturb({ fleet, redis }, happened, over) : undefined;
  await Promise.all([...lanes, disturbing]);
  const took = (now() - begun) / 1_000;
  // What was planted late is written by then.
  await pause(500);
  const effects = fleet.effects();
  await fleet.stop();
  return { calls, effects, happened, took };
}

async function disturb(world, happened, over) {
  while (!over()) {
    await pause(randomInt(BETWEEN_MS));
    const what = pick(Object.keys(FAULTS));
    const from = now();
    await FAULTS[what](world, 200 + randomInt(LASTS_MS));
    happened.push({ what, from, to: now() });
  }
}

function tally(words) {
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
