// What the cases of the bench `scale` have in common: a Redis of their own, processes that share over it, and requests to them.
import { execFileSync, fork, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect as dial, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { keysOf } from "../../packages/mcp/dist/cluster/relay-link.js";
import { RedisStores } from "../../packages/mcp/dist/redis/redis-stores.js";

export const KEY = randomBytes(32).toString("base64");
const MEMBER = fileURLToPath(new URL("member.mjs", import.meta.url));
/** A client that waits for an answer does not keep others from asking. */
export const agent = new Agent({ keepAlive: true });
export const STATELESS = "2026-07-28";
export const children = new Set();

export const META = {
  "io.modelcontextprotocol/protocolVersion": STATELESS,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
};
export const ECHO = { method: "tools/call", params: { name: "echo", arguments: { text: "hello" } } };
/** Calls before what is measured, for each process: an engine that is not warm yet costs several times as much. */
export const WARM = 1_500;
export const warmOf = (members) => WARM * members.length;
export const LANES = 16;

export async function measured(members, calls, send, lanes = LANES) {
  await inLanes(warmOf(members), (n) => send(n), lanes);
  const before = await cpuOf(members);
  const times = [];
  const one = async (n) => {
    const begun = performance.now();
    const { error } = await send(warmOf(members) + n);
    if (error !== undefined) throw new Error(JSON.stringify(error));
    times.push(performance.now() - begun);
  };
  const begun = performance.now();
  await inLanes(calls, one, lanes);
  return { cpu: (await cpuOf(members)) - before, times, ms: performance.now() - begun };
}

export async function inLanes(count, work, lanes = LANES) {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

export function row(what, calls, cpu, times, more) {
  const rate = Math.round(calls / cpu);
  return `${what}: ${rate} calls a CPU second, p50 ${at(times, 0.5).toFixed(2)} ms, p99 ${at(times, 0.99).toFixed(2)} ms ${more}`;
}

export function at(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export const pick = (list) => list[randomInt(list.length)];
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function startMembers(count, redis, limited) {
  const prefix = newPrefix();
  return Promise.all(Array.from({ length: count }, (_, n) => startMember(redis, prefix, `m${n}`, { limited })));
}

/** A prefix nobody else has. */
export const newPrefix = () => `b${randomBytes(4).toString("hex")}`;

/** Starts one process that shares. `env`: what its part of the bench reads; `heard`: told what it says before it is there. */
export async function startMember(redis, prefix, node, { limited = "", env = {}, heard = () => undefined } = {}) {
  const child = fork(MEMBER, [redis, prefix, node, KEY, limited], { env: { ...process.env, ...env } });
  children.add(child);
  const port = await new Promise((resolve, reject) => {
    child.on("message", (message) => (message.port === undefined ? heard(message) : resolve(message.port)));
    child.once("exit", (code) => reject(new Error(`${node} ended with ${code}`)));
  });
  return { child, port, node };
}

export async function told(members) {
  return Promise.all(
    members.map(async ({ child }) => {
      child.send("tell");
      return (await once(child, "message"))[0];
    }),
  );
}

export const cpuOf = async (members) =>
  (await told(members)).reduce((sum, { cpu }) => sum + (cpu.user + cpu.system) / 1e6, 0);
export const effectsOf = async (members) => (await told(members)).reduce((sum, { effects }) => sum + effects, 0);

export async function stop(members) {
  await Promise.all(
    members.map(async ({ child }) => {
      child.kill("SIGKILL");
      await once(child, "exit");
      children.delete(child);
    }),
  );
}

export async function openSession(port) {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const { headers } = await send(port, { jsonrpc: "2.0", id: 0, method: "initialize", params }, {});
  return headers["mcp-session-id"];
}

export const post = async (port, body, headers) => JSON.parse((await send(port, body, headers)).text);

export function send(port, body, headers, method = "POST") {
  return new Promise((resolve, reject) => {
    const all = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
    const asked = request({ port, host: "127.0.0.1", path: "/mcp", method, agent, headers: all }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (chunk) => (text += chunk));
      reply.on("end", () => resolve({ text, headers: reply.headers, status: reply.statusCode }));
      reply.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export async function startRedis() {
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
  return { url: `redis://127.0.0.1:${port}`, port, cli, child };
}

/** Scripts that Redis was asked to run so far. */
export function scriptsRun({ cli }) {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(cli("INFO", "commandstats"))?.[1] ?? 0);
}

const BARE_COMMANDS = 2_000;

/**
 * Seconds of processor time that the shortest command costs a bare Node process that sends one each `everyMs`, above one that
 * wakes as often and sends nothing: what no client of Redis can be below on this machine.
 */
export async function bareCommand({ port }, everyMs) {
  const socket = dial(port, "127.0.0.1").setNoDelay(true);
  await once(socket, "connect");
  const cost = async (ask) => {
    const begun = process.cpuUsage();
    for (let n = 0; n < BARE_COMMANDS; n++) {
      await pause(everyMs);
      if (!ask) continue;
      const answered = once(socket, "data");
      socket.write("PING\r\n");
      await answered;
    }
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1e6 / BARE_COMMANDS;
  };
  const asking = await cost(true);
  const waking = await cost(false);
  socket.destroy();
  return asking - waking;
}

export async function redisClock(stores) {
  const { nodes } = await stores.beat("clock", "tcp://127.0.0.1:1");
  return [performance.now(), nodes];
}

export async function tripStore({ url }) {
  const stores = new RedisStores(url, { keys: keysOf(KEY), prefix: "trip" });
  await stores.open("trip", { keys: ["k"] });
  return stores;
}

/** Milliseconds of one command. */
export async function tripOf(stores) {
  const begun = performance.now();
  await stores.sessions.get("none");
  return performance.now() - begun;
}

export async function redisTrip(redis) {
  const stores = await tripStore(redis);
  const times = [];
  for (let n = 0; n < 500; n++) times.push(await tripOf(stores));
  await stores.close();
  return at(times, 0.5);
}
