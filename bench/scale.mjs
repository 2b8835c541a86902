// `npm run bench -- scale`: what sharing over Redis costs, and what it keeps. Counts are exact; times are ratios within this run.
import { fork } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect as dial, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { keysOf } from "../packages/mcp/dist/cluster/member.js";
import { RedisStores } from "../packages/mcp/dist/redis/redis-stores.js";

const KEY = randomBytes(32).toString("base64");
const MEMBER = fileURLToPath(new URL("scale/member.mjs", import.meta.url));
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const STATELESS = "2026-07-28";
const children = new Set();

/** Returns the exit code: 0, or 1 where something was lost, doubled or let through. */
export async function main(argv) {
  const calls = Number(argv[argv.indexOf("--calls") + 1] || 6_000);
  const kills = Number(argv[argv.indexOf("--kills") + 1] || 5);
  const only = argv.includes("--only") ? argv[argv.indexOf("--only") + 1].split(",") : Object.keys(CASES);
  const unknown = only.find((name) => !(name in CASES));
  if (unknown !== undefined) {
    console.error(`there is no case ${unknown}; there are ${Object.keys(CASES).join(", ")}`);
    return 2;
  }
  const faults = [];
  const redis = await startRedis();
  try {
    for (const name of only) for (const line of await CASES[name]({ redis, calls, kills, faults })) console.log(line);
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

async function statelessTurn({ redis, calls, faults, what, limited, where }) {
  const url = where === "alone" ? "" : redis.url;
  const members = await startMembers(2, url, limited);
  const body = (id) => ({
    ...{ jsonrpc: "2.0", id, method: "tools/call" },
    params: { name: "echo", arguments: { text: "hello" }, _meta: META },
  });
  const headers = { "mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": "echo" };
  const send = (id) => post(pick(members).port, body(id), headers);
  const { cpu, times } = await measured(members, calls, send);
  const effects = await effectsOf(members);
  if (effects !== calls + WARM) faults.push(`${what}: ${effects} effects of ${calls + WARM} calls`);
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
    if (effects !== calls + WARM) faults.push(`${what}: ${effects} effects of ${calls + WARM} calls`);
    sums[where] += cpu;
    tails[where].push(...times);
    lines.push(row(what, calls, cpu, times, `every call exactly once: ${effects === calls + WARM}`));
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

async function killed({ redis, kills, faults }) {
  let errors = 0;
  let done = 0;
  let inFlight = 0;
  let longest = 0;
  for (let kill = 0; kill < kills; kill++) {
    const members = await startMembers(3, redis.url, "");
    const ids = [];
    for (let n = 0; n < 12; n++) ids.push(await openSession(pick(members).port));
    const alive = [...members];
    const load = { over: false };
    const lanes = ids.map(async (session, lane) => {
      for (let n = 0; !load.over; n++) {
        const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
        const begun = performance.now();
        try {
          const { error } = await post(pick(alive).port, { jsonrpc: "2.0", id: lane * 1e6 + n, ...ECHO }, headers);
          if (error === undefined) done++;
          else errors++;
        } catch {
          errors++;
        }
        longest = Math.max(longest, performance.now() - begun);
      }
    });
    await pause(300);
    const [victim] = alive.splice(0, 1);
    inFlight += ids.length;
    victim.child.kill("SIGKILL");
    await pause(5_000);
    load.over = true;
    await Promise.all(lanes);
    for (const id of ids) {
      const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
      const { error } = await post(pick(alive).port, { jsonrpc: "2.0", id: 1, ...ECHO }, headers).catch((e) => ({
        error: e,
      }));
      if (error !== undefined) faults.push(`C5: a session did not go on: ${JSON.stringify(error)}`);
    }
    await stop(alive);
  }
  if (errors > inFlight) faults.push(`C5: ${errors} errors, at most ${inFlight} calls were in flight`);
  return [
    `C5 kill -9 of one of 3 under load, ${kills} times: ${done} calls answered, ${errors} errors ` +
      `(at most ${inFlight}, one a session in flight), longest ${Math.round(longest)} ms (lease 3000)`,
  ];
}

const CASES = { C1: stateless, C2: sessions, C4: questions, C7: limits, C8: memory, C5: killed };

const META = {
  "io.modelcontextprotocol/protocolVersion": STATELESS,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};
const ECHO = { method: "tools/call", params: { name: "echo", arguments: { text: "hello" } } };
const WARM = 500;
const LANES = 16;

async function measured(members, calls, send) {
  await inLanes(WARM, (n) => send(n));
  const before = await cpuOf(members);
  const times = [];
  await inLanes(calls, async (n) => {
    const begun = performance.now();
    const { error } = await send(WARM + n);
    if (error !== undefined) throw new Error(JSON.stringify(error));
    times.push(performance.now() - begun);
  });
  return { cpu: (await cpuOf(members)) - before, times };
}

async function inLanes(count, work) {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

function row(what, calls, cpu, times, more) {
  const rate = Math.round(calls / cpu);
  return `${what}: ${rate} calls a CPU second, p50 ${at(times, 0.5).toFixed(2)} ms, p99 ${at(times, 0.99).toFixed(2)} ms ${more}`;
}

function at(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

const pick = (list) => list[randomInt(list.length)];
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function startMembers(count, redis, limited) {
  const prefix = `b${randomBytes(4).toString("hex")}`;
  const starting = Array.from({ length: count }, async (_, n) => {
    const child = fork(MEMBER, [redis, prefix, `m${n}`, KEY, limited]);
    children.add(child);
    const [{ port }] = await once(child, "message");
    return { child, port };
  });
  return Promise.all(starting);
}

async function told(members) {
  return Promise.all(
    members.map(async ({ child }) => {
      child.send("tell");
      return (await once(child, "message"))[0];
    }),
  );
}

const cpuOf = async (members) => (await told(members)).reduce((sum, { cpu }) => sum + (cpu.user + cpu.system) / 1e6, 0);
const effectsOf = async (members) => (await told(members)).reduce((sum, { effects }) => sum + effects, 0);

async function stop(members) {
  await Promise.all(
    members.map(async ({ child }) => {
      child.kill("SIGKILL");
      await once(child, "exit");
      children.delete(child);
    }),
  );
}

async function openSession(port) {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const { headers } = await send(port, { jsonrpc: "2.0", id: 0, method: "initialize", params }, {});
  return headers["mcp-session-id"];
}

const post = async (port, body, headers) => JSON.parse((await send(port, body, headers)).text);

function send(port, body, headers) {
  return new Promise((resolve, reject) => {
    const all = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
    const asked = request({ port, host: "127.0.0.1", path: "/mcp", method: "POST", agent, headers: all }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (chunk) => (text += chunk));
      reply.on("end", () => resolve({ text, headers: reply.headers }));
      reply.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(JSON.stringify(body));
  });
}

async function startRedis() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  const child = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", ""], {
    stdio: "ignore",
  });
  children.add(child);
  for (;;) {
    const socket = dial(port, "127.0.0.1");
    const there = await new Promise((resolve) =>
      socket.on("connect", () => resolve(true)).on("error", () => resolve(false)),
    );
    socket.destroy();
    if (there) break;
    await pause(20);
  }
  const cli = (...args) => execFileSync("redis-cli", ["-p", String(port), ...args], { encoding: "utf8" }).trim();
  return { url: `redis://127.0.0.1:${port}`, cli };
}

async function redisClock(stores) {
  const { nodes } = await stores.beat("clock", "tcp://127.0.0.1:1");
  return [performance.now(), nodes];
}

async function redisTrip({ url }) {
  const stores = new RedisStores(url, { keys: keysOf(KEY), prefix: "trip" });
  await stores.open("trip", { keys: ["k"] });
  const times = [];
  for (let n = 0; n < 500; n++) {
    const begun = performance.now();
    await stores.sessions.get("none");
    times.push(performance.now() - begun);
  }
  await stores.close();
  return at(times, 0.5);
}
