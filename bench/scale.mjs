// `npm run bench -- scale`: what sharing over Redis costs, and what it keeps. Counts are exact; times are ratios within this run.
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { keysOf } from "../packages/mcp/dist/cluster/relay-link.js";
import { RedisStores } from "../packages/mcp/dist/redis/redis-stores.js";
import { CHURN_MINUTES, churn } from "./scale/churn.mjs";
import {
  agent,
  at,
  bareCommand,
  children,
  cpuOf,
  ECHO,
  effectsOf,
  inLanes,
  KEY,
  LANES,
  measured,
  META,
  openSession,
  pick,
  post,
  redisClock,
  redisTrip,
  tripOf,
  tripStore,
  row,
  scriptsRun,
  send,
  startMembers,
  startRedis,
  STATELESS,
  stop,
  warmOf,
} from "./scale/fleet.mjs";
import { history } from "./scale/history.mjs";
import { killed } from "./scale/kills.mjs";
import { beatCosts, between, predicted, seeded } from "./scale/simulation.mjs";

/** Returns the exit code: 0, or 1 where something was lost, doubled or let through. */
export async function main(argv) {
  const names = ["only", "calls", "minutes", "kills", "operations", "seconds", "trails"];
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const { values } = parseArgs({ args: argv, options });
  const number = (name, usual) => Number(values[name] ?? usual);
  const calls = number("calls", 6_000);
  const minutes = number("minutes", CHURN_MINUTES);
  const kills = number("kills", 5);
  const operations = number("operations", 20_000);
  const seconds = number("seconds", 900);
  const { trails } = values;
  const only = values.only?.split(",") ?? Object.keys(CASES);
  const unknown = only.find((name) => !(name in CASES));
  if (unknown !== undefined) {
    console.error(`there is no case ${unknown}; there are ${Object.keys(CASES).join(", ")}`);
    return 2;
  }
  const faults = [];
  const redis = await startRedis();
  try {
    for (const name of only)
      for await (const line of await CASES[name]({ redis, calls, kills, minutes, operations, seconds, trails, faults }))
        console.log(line);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    agent.destroy();
  }
  for (const fault of faults) console.log(`FAULT: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

/** By turns, since a crowded machine is slower at one time than at another. */
const TURNS = 3;

async function stateless({ redis, calls, faults }) {
  const lines = [];
  for (const [limited, least] of [
    ["", 0.97],
    ["limited", 0.9],
  ]) {
    const sums = { alone: 0, shared: 0 };
    const shared = { scripts: 0, ms: 0 };
    for (let turn = 0; turn < TURNS; turn++) {
      for (const where of ["alone", "shared"]) {
        const what = `C1 ${where}, ${limited === "" ? "no limits" : "limits"}`;
        const before = scriptsRun(redis);
        const { cpu, times, ms, made } = await statelessTurn({ redis, calls, faults, what, limited, where });
        sums[where] += cpu;
        if (where === "shared") shared.ms += ms;
        // As many as the measured calls had of them.
        if (where === "shared") shared.scripts += ((scriptsRun(redis) - before) * calls) / made;
        lines.push(row(what, calls, cpu, times, ""));
      }
    }
    const share = sums.alone / sums.shared;
    const name = `C1 ${limited === "" ? "no limits" : "limits"}`;
    lines.push(`${name}: ${share.toFixed(2)} of alone a CPU second (at least ${least})`);
    if (limited !== "") lines.push(await besideBareCommands(redis, { name, share, alone: sums.alone, shared }));
  }
  return lines;
}

/** A bare program that sends less often than that is not slower for it. */
const SLOWEST_PACE_MS = 5;

/** What Node and the machine take for as many commands of a bare program, whoever sends them, and what is left beside that. */
async function besideBareCommands(redis, { name, share, alone, shared: { scripts, ms } }) {
  const cost = await bareCommand(redis, Math.min((ms * 2) / scripts, SLOWEST_PACE_MS));
  const most = alone / (alone + scripts * cost);
  return (
    `${name}: ${Math.round(scripts)} commands of ${(cost * 1e6).toFixed(0)} µs in a bare Node process leave ${most.toFixed(2)}; ` +
    `found ${(share / most).toFixed(2)} of that`
  );
}

async function statelessTurn({ redis, calls, faults, what, limited, where, count = 2, lanes = LANES }) {
  const url = where === "alone" ? "" : redis.url;
  const members = await startMembers(count, url, limited);
  const body = (id) => ({
    ...{ jsonrpc: "2.0", id, method: "tools/call" },
    params: { name: "echo", arguments: { text: "hello" }, _meta: META },
  });
  const headers = { "mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": "echo" };
  const send = (id) => post(pick(members).port, body(id), headers);
  const { cpu, times, ms } = await measured(members, calls, send, lanes);
  const effects = await effectsOf(members);
  if (effects !== calls + warmOf(members))
    faults.push(`${what}: ${effects} effects of ${calls + warmOf(members)} calls`);
  await stop(members);
  return { cpu, times, ms, made: effects };
}

/** Calls of each process before they are measured: the same for all, since one that is not warm yet costs several times as much. */
const WARM_CALLS = 3_000;

/**
 * Each request goes to a random process, or to its session's own: of the same three processes, by turns, which so are as warm and
 * have as much to do at once. Beside it one process that has as many calls as each of the three.
 */
async function sessions({ redis, calls, faults }) {
  const lines = [];
  const sums = { one: 0, own: 0, random: 0 };
  const times = { one: [], own: [], random: [] };
  for (let turn = 0; turn < TURNS; turn++) {
    const one = await sessionTurn(redis, 1, Math.round(calls / 3), ["own"]);
    const three = await sessionTurn(redis, 3, calls, turn % 2 === 0 ? ["own", "random"] : ["random", "own"]);
    for (const [where, what, { cpu, took }] of [
      ["one", "one process", one.own],
      ["own", "3 processes, each request to its session's own", three.own],
      ["random", "3 processes, each request to a random one", three.random],
    ]) {
      sums[where] += cpu;
      times[where].push(...took);
      lines.push(row(`C2 ${what}`, took.length, cpu, took, ""));
    }
    for (const { lost } of [one, three]) if (lost !== 0) faults.push(`C2: ${lost} calls more or less than effects`);
  }
  const tail = at(times.random, 0.99) / at(times.own, 0.99);
  lines.push(
    `C2: ${(sums.own / sums.random).toFixed(2)} of local a CPU second (at least 0.6), ${((3 * sums.one) / sums.random).toFixed(2)} of one ` +
      `process alone, p99 ${tail.toFixed(1)} times local (at most 4); each call exactly once`,
  );
  return lines;
}

async function sessionTurn(redis, count, calls, orders) {
  const members = await startMembers(count, redis.url, "");
  const all = [];
  for (let n = 0; n < 30; n++) all.push({ own: members[n % count], id: await openSession(members[n % count].port) });
  const sendTo = (where) => (n) => {
    const { own, id } = all[n % all.length];
    const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    return post((where === "own" ? own : pick(members)).port, { jsonrpc: "2.0", id: n, ...ECHO }, headers);
  };
  const warm = WARM_CALLS * count;
  for (const where of orders) await inLanes(warm / orders.length, sendTo(where));
  const found = {};
  for (const where of orders) {
    const before = await cpuOf(members);
    const took = [];
    const one = async (n) => {
      const begun = performance.now();
      const { error } = await sendTo(where)(n);
      if (error !== undefined) throw new Error(JSON.stringify(error));
      took.push(performance.now() - begun);
    };
    await inLanes(calls, one);
    found[where] = { cpu: (await cpuOf(members)) - before, took };
  }
  const lost = (await effectsOf(members)) - warm - calls * orders.length;
  await stop(members);
  return { ...found, lost };
}

async function questions({ redis, faults }) {
  const members = await startMembers(3, redis.url, "");
  const trip = await redisTrip(redis);
  const asked = { name: "ask", arguments: {}, _meta: META };
  const headers = { "mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": "ask" };
  const round = async (id, elsewhere) => {
    const first = pick(members);
    const { result } = await post(first.port, { jsonrpc: "2.0", id, method: "tools/call", params: asked }, headers);
    const [key] = Object.keys(result.inputRequests);
    const inputResponses = { [key]: { action: "accept", content: { sure: true } } };
    const params = { ...asked, inputResponses, requestState: result.requestState };
    const others = members.filter((each) => (each === first) !== elsewhere);
    const begun = performance.now();
    const answer = await post(pick(others).port, { jsonrpc: "2.0", id: id + 1, method: "tools/call", params }, headers);
    if (answer.result?.content?.[0]?.text !== "accept") faults.push(`C4: ${JSON.stringify(answer)}`);
    return performance.now() - begun;
  };
  const local = [];
  const away = [];
  for (let n = 0; n < 1_000; n++) {
    local.push(await round(n * 4, false));
    away.push(await round(n * 4 + 2, true));
  }
  const effects = await effectsOf(members);
  if (effects !== 2_000) faults.push(`C4: ${effects} effects of 2000 questions`);
  await stop(members);
  const own = at(local, 0.5);
  const added = at(away, 0.5) - own;
  return [
    `C4 questions answered through another process: 1000 of 1000, effects ${effects} of 2000, ` +
      `added p50 ${added.toFixed(2)} ms = ${(added / trip).toFixed(1)} Redis round trips of ${trip.toFixed(2)} ms (at most 10), ` +
      `${(added / own).toFixed(2)} of the ${own.toFixed(2)} ms that the same answer takes at the call's own process`,
  ];
}

async function limits({ redis, faults }) {
  const stores = [];
  for (let n = 0; n < 10; n++) {
    const one = new RedisStores(redis.url, { keys: keysOf(KEY), prefix: "c7" });
    await one.open(`n${n}`, { keys: ["k"] });
    stores.push(one);
  }
  const rule = { perSecond: 500, burst: 100 };
  const [before] = await redisClock(stores[0]);
  let passed = 0;
  const work = stores.map(async (one) => {
    for (let n = 0; n < 500; n++) {
      const waits = await Promise.all(Array.from({ length: 10 }, () => one.limits.take({ k: rule })));
      passed += waits.filter((wait) => wait === 0).length;
    }
  });
  await Promise.all(work);
  const [after] = await redisClock(stores[0]);
  const most = Math.ceil(((after - before) / 1_000) * rule.perSecond + rule.burst + 1);
  if (passed > most) faults.push(`C7: ${passed} passed, at most ${most} may`);
  for (const one of stores) await one.close();
  return [`C7 limits: 10 stores, 50000 requests, ${passed} passed, at most ${most} in that time`];
}

async function memory({ redis }) {
  const members = await startMembers(1, redis.url, "");
  for (let n = 0; n < 1_000; n++) await openSession(members[0].port);
  const keys = redis.cli("--scan", "--pattern", "*:s:*").split("\n");
  const bytes = keys.slice(0, 200).map((key) => Number(redis.cli("memory", "usage", key)));
  const lasting = redis
    .cli("--scan")
    .split("\n")
    .filter((key) => Number(redis.cli("pttl", key)) < 0).length;
  const parked = "0 (a parked call has no record: its state names its process)";
  await stop(members);
  return [
    `C8 Redis: ${Math.round(bytes.reduce((a, b) => a + b) / bytes.length)} bytes a session of ${keys.length} (at most 1024), ` +
      `${parked} a parked call, ${lasting} keys without an end`,
  ];
}

/** Streams that are resumed at the same time: a balancer's clients come back one after the other. */
const RESUMED_AT_ONCE = 4;
const STREAMS = 1_000;

/** A session and the events of a call it made at one of the processes. */
async function streamOf(asked) {
  const id = await openSession(asked.port);
  const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
  const params = { name: "count", arguments: {}, _meta: { progressToken: "p" } };
  const { text } = await send(asked.port, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers);
  return { headers, asked, all: eventsIn(text) };
}

/** Resumes a stream after a random event. Resolves with the milliseconds it took, and whether all came, once and in order. */
async function resumed({ headers, all }, port) {
  const seen = randomInt(all.length - 1);
  const begun = performance.now();
  const { text } = await send(port, undefined, { ...headers, "last-event-id": all[seen].id }, "GET");
  const ms = performance.now() - begun;
  return { ms, whole: JSON.stringify(eventsIn(text)) === JSON.stringify(all.slice(seen + 1)) };
}

async function streams({ redis, faults }) {
  const members = await startMembers(3, redis.url, "");
  const store = await tripStore(redis);
  const times = { own: [], other: [], trip: [] };
  let gaps = 0;
  await inLanes(
    STREAMS + RESUMED_AT_ONCE * 25,
    async (n) => {
      const stream = await streamOf(pick(members));
      const own = await resumed(stream, stream.asked.port);
      const other = await resumed(stream, pick(members.filter((each) => each !== stream.asked)).port);
      const trip = await tripOf(store);
      if (!own.whole || !other.whole) gaps++;
      // The first ones find processes that are not connected yet.
      if (n < RESUMED_AT_ONCE * 25) return;
      for (const [where, ms] of Object.entries({ own: own.ms, other: other.ms, trip })) times[where].push(ms);
    },
    RESUMED_AT_ONCE,
  );
  const killed = await streamsOfKilled(members);
  await store.close();
  await stop(members.slice(1));
  if (gaps + killed.gaps > 0) faults.push(`C3: ${gaps} and ${killed.gaps} streams had a gap or a double`);
  // On a crowded machine whatever is measured waits for the processor: p50 is compared to p50, and p99 to p99.
  const trips = (all, share) =>
    `${at(all, share).toFixed(2)} ms = ${(at(all, share) / at(times.trip, share)).toFixed(1)} trips`;
  const said = (all) => `p50 ${trips(all, 0.5)}, p99 ${trips(all, 0.99)}`;
  return [
    `C3 ${RESUMED_AT_ONCE} at a time, in turns: a Redis round trip p50 ${at(times.trip, 0.5).toFixed(2)} ms, p99 ${at(times.trip, 0.99).toFixed(2)} ms`,
    `C3 resumed at their own process: ${said(times.own)}`,
    `C3 resumed at another process: ${STREAMS - gaps} of ${STREAMS} with no gap and no double, ${said(times.other)} (p99 at most 20)`,
    `C3 resumed after their process was killed: ${killed.times.length - killed.gaps} of ${killed.times.length}, ${said(killed.times)}`,
  ];
}

/** Streams of calls that had ended, resumed after their process was killed and its lease had ended. */
async function streamsOfKilled([first, ...others]) {
  const all = [];
  await inLanes(STREAMS, async () => all.push(await streamOf(first)), RESUMED_AT_ONCE);
  await stop([first]);
  // The first one waits for the lease.
  await resumed(all[0], others[0].port);
  const times = [];
  let gaps = 0;
  const one = async (n) => {
    const { ms, whole } = await resumed(all[n], pick(others).port);
    times.push(ms);
    if (!whole) gaps++;
  };
  await inLanes(STREAMS, one, RESUMED_AT_ONCE);
  return { times, gaps };
}

function eventsIn(text) {
  const blocks = text.split("\n\n").filter((block) => block.includes("id: "));
  return blocks.map((block) => ({ id: /^id: (.*)$/m.exec(block)[1], data: /^data: (.*)$/m.exec(block)?.[1] ?? "" }));
}

/** Processes that are measured beside the model of them. */
const MOST_REAL = 4;

/** The model's processes cost what one does with its share of the calls, and of those that are under way at once. */
async function* growth({ redis, calls, faults }) {
  const turn = async (count, limited, share = 1) => {
    const about = { count, limited, calls: Math.round(calls / share), lanes: Math.round(LANES / share) };
    const { cpu, times } = await statelessTurn({ redis, faults, what: "C10", where: "shared", ...about });
    return { cpu, seconds: times.reduce((sum, each) => sum + each, 0) / 1_000 / about.lanes };
  };
  const bare = await turn(1, "");
  const beats = await beatCosts({ url: redis.url, cli: redis.cli, keys: keysOf(KEY) });
  let perCall = 0;
  let take = 0;
  for (let count = 1; count <= MOST_REAL; count++) {
    // By turns, since a crowded machine is slower at one time than at another.
    const alone = [await turn(1, "limited", count)];
    const real = await turn(count, "limited");
    alone.push(await turn(1, "limited", count));
    const own = (alone[0].cpu + alone[1].cpu) / 2;
    perCall = own / (calls / count);
    if (count === 1) take = Math.max(0, (own - bare.cpu) / calls);
    const model = count * own + count * (real.seconds - alone[0].seconds) * between(beats, count, "own");
    const error = ((model - real.cpu) / real.cpu) * 100;
    yield `C10 ${count} real: ${Math.round(calls / real.cpu)} calls a CPU second, model ${Math.round(calls / model)} (${error.toFixed(0)} %)`;
  }
  const costs = { call: perCall, beats, take: 0, takeRedis: 30e-6, fetch: 2 * take + 20e-6, relay: 2 * perCall };
  for (const [processes, sessions] of [
    [4, 40_000],
    [20, 200_000],
    [100, 1_000_000],
  ])
    yield simulated(processes, sessions, costs);
}

function simulated(processes, sessions, costs) {
  const found = predicted({ processes, sessions, perSession: 1 / 30 }, costs, seeded(processes));
  const { cores, redis, commands, fetched, relayed } = found;
  return (
    `C10 simulated ${processes} processes, ${sessions} sessions, a request each 30 s: ${cores.toFixed(1)} cores ` +
    `(${((cores / sessions) * 1e6).toFixed(1)} a million sessions), Redis ${redis.toFixed(2)} cores and ${Math.round(commands)} commands a second, ` +
    `${(fetched * 100).toFixed(0)} % fetch facts, ${(relayed * 100).toFixed(1)} % handed on`
  );
}

const CASES = {
  ...{ C1: stateless, C2: sessions, C3: streams, C4: questions, C5: killed, C7: limits },
  ...{ C8: memory, C9: churn, C10: growth, history },
};
