// `npm run bench -- scale`: what sharing over Redis costs, and what it keeps. Counts are exact; times are ratios within this run.
import { randomInt } from "node:crypto";
import { keysOf } from "../packages/mcp/dist/cluster/member.js";
import { RedisStores } from "../packages/mcp/dist/redis/redis-stores.js";
import { CHURN_MINUTES, churn } from "./scale/churn.mjs";
import {
  agent,
  at,
  children,
  ECHO,
  effectsOf,
  KEY,
  LANES,
  measured,
  META,
  openSession,
  pick,
  post,
  redisClock,
  redisTrip,
  row,
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
  const calls = Number(argv[argv.indexOf("--calls") + 1] || 6_000);
  const minutes = Number(argv[argv.indexOf("--minutes") + 1] || CHURN_MINUTES);
  const kills = Number(argv[argv.indexOf("--kills") + 1] || 5);
  const operations = Number(argv[argv.indexOf("--operations") + 1] || 20_000);
  const seconds = Number(argv[argv.indexOf("--seconds") + 1] || 900);
  const only = argv.includes("--only") ? argv[argv.indexOf("--only") + 1].split(",") : Object.keys(CASES);
  const unknown = only.find((name) => !(name in CASES));
  if (unknown !== undefined) {
    console.error(`there is no case ${unknown}; there are ${Object.keys(CASES).join(", ")}`);
    return 2;
  }
  const faults = [];
  const redis = await startRedis();
  try {
    for (const name of only)
      for await (const line of await CASES[name]({ redis, calls, kills, minutes, operations, seconds, faults }))
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
    for (let turn = 0; turn < TURNS; turn++) {
      for (const where of ["alone", "shared"]) {
        const what = `C1 ${where}, ${limited === "" ? "no limits" : "limits"}`;
        const { cpu, times } = await statelessTurn({ redis, calls, faults, what, limited, where });
        sums[where] += cpu;
        lines.push(row(what, calls, cpu, times, ""));
      }
    }
    const share = (sums.alone / sums.shared).toFixed(2);
    lines.push(`C1 ${limited === "" ? "no limits" : "limits"}: ${share} of alone a CPU second (at least ${least})`);
  }
  return lines;
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
  const { cpu, times } = await measured(members, calls, send, lanes);
  const effects = await effectsOf(members);
  if (effects !== calls + warmOf(members))
    faults.push(`${what}: ${effects} effects of ${calls + warmOf(members)} calls`);
  await stop(members);
  return { cpu, times };
}

async function sessions({ redis, calls, faults }) {
  const lines = [];
  const sums = { local: 0, random: 0 };
  const tails = { local: [], random: [] };
  const turns = Array.from({ length: TURNS }, () => [
    ["local", "C2 local: one process", 1],
    ["random", "C2 random of 3", 3],
  ]).flat();
  for (const [where, what, count] of turns) {
    const members = await startMembers(count, redis.url, "");
    const ids = [];
    for (let n = 0; n < 30; n++) ids.push(await openSession(pick(members).port));
    const send = (id) => {
      const headers = { "mcp-session-id": ids[id % ids.length], "mcp-protocol-version": "2025-11-25" };
      return post(pick(members).port, { jsonrpc: "2.0", id, ...ECHO }, headers);
    };
    const { cpu, times } = await measured(members, calls, send);
    const effects = await effectsOf(members);
    if (effects !== calls + warmOf(members))
      faults.push(`${what}: ${effects} effects of ${calls + warmOf(members)} calls`);
    sums[where] += cpu;
    tails[where].push(...times);
    lines.push(row(what, calls, cpu, times, `every call exactly once: ${effects === calls + warmOf(members)}`));
    await stop(members);
  }
  const share = (sums.local / sums.random).toFixed(2);
  const tail = at(tails.random, 0.99) / at(tails.local, 0.99);
  lines.push(`C2: ${share} of local a CPU second (at least 0.6), p99 ${tail.toFixed(1)} times local (at most 4)`);
  return lines;
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
  const added = at(away, 0.5) - at(local, 0.5);
  return [
    `C4 questions answered through another process: 1000 of 1000, effects ${effects} of 2000, ` +
      `added p50 ${added.toFixed(2)} ms = ${(added / trip).toFixed(1)} Redis round trips of ${trip.toFixed(2)} ms (at most 10)`,
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

async function streams({ redis, faults }) {
  const members = await startMembers(3, redis.url, "");
  const trip = await redisTrip(redis);
  const times = [];
  let gaps = 0;
  const params = { name: "count", arguments: {}, _meta: { progressToken: "p" } };
  for (let n = 0; n < 1_000; n++) {
    const first = pick(members);
    const id = await openSession(first.port);
    const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    const asked = pick(members);
    const all = eventsIn(
      (await send(asked.port, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers)).text,
    );
    const seen = randomInt(all.length - 1);
    const begun = performance.now();
    const other = pick(members.filter((each) => each !== asked));
    const rest = eventsIn(
      (await send(other.port, undefined, { ...headers, "last-event-id": all[seen].id }, "GET")).text,
    );
    times.push(performance.now() - begun);
    if (JSON.stringify(rest) !== JSON.stringify(all.slice(seen + 1))) gaps++;
  }
  await stop(members);
  if (gaps > 0) faults.push(`C3: ${gaps} of 1000 streams had a gap or a double`);
  const tail = at(times, 0.99);
  return [
    `C3 streams resumed at another process: ${1_000 - gaps} of 1000 with no gap and no double, p99 ${tail.toFixed(2)} ms = ` +
      `${(tail / trip).toFixed(1)} Redis round trips of ${trip.toFixed(2)} ms (at most 20)`,
  ];
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
