// `npm run bench -- gateway-faults`: what the users of good servers notice of twenty bad ones beside them, and what is left of
// the processes of servers however the product ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { approveServers } from "../scripts/lib/approve-servers.mjs";
import { carriers, settle } from "./faults/leftovers.mjs";
import { machine, table } from "./measure/markdown.mjs";
import { residentBytes } from "./measure/process-stats.mjs";
import { quantile } from "./measure/statistics.mjs";

const USAGE = `npm run bench -- gateway-faults [options]
  --seconds 60   of load in all: one product with bad servers and one with good ones in their place, in turns
  --ends 100     ends of each kind: kill -9, SIGTERM, a crash
`;
const COMMAND = fileURLToPath(new URL("../packages/secure-local/dist/mcp-secure-local.cjs", import.meta.url));
const SERVERS = fileURLToPath(new URL("gateway/bad-servers.mjs", import.meta.url));
const SERVICES = fileURLToPath(new URL("gateway/services.mjs", import.meta.url));
const HEALTHY = 4;
/** Turns of each side: what else the machine does meets both alike. */
const TURNS = 10;
/** Milliseconds between two calls of a server that may be bad. */
const BAD_PAUSE_MS = 250;
/** What a call of a bad server may take before its caller gives up. */
const BAD_PATIENCE_MS = 2_000;
const GONE_MS = 5_000;
const ENDS = { "kill -9": "SIGKILL", SIGTERM: "SIGTERM", "a crash": "SIGABRT" };

const children = new Set();

function start(file, args, options = {}) {
  const child = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "pipe"], ...options });
  children.add(child);
  child.once("exit", () => children.delete(child));
  child.stderr.resume();
  return child;
}

async function firstLine(child) {
  const [text] = await once(child.stdout.setEncoding("utf8"), "data");
  return JSON.parse(text);
}

/** A served product with four good servers and twenty that can turn bad. */
async function product() {
  const home = mkdtempSync(join(tmpdir(), "gateway-faults-"));
  const fleet = start(SERVERS, []);
  const { urls } = await firstLine(fleet);
  const entries = Object.values(urls).map((url, at) => `  bad${at}: { url: "${url}" }`);
  for (let at = 0; at < HEALTHY; at++) {
    const { url } = await firstLine(start(SERVICES, ["upstream-http", '{"era":"stateless"}']));
    entries.push(`  good${at}: { url: "${url}" }`);
  }
  const policy = join(home, "policy.yaml");
  const tools = 'tools: { allowed: ["*"], timeout: 5, rate_limits: { default: 1000000 } }';
  writeFileSync(policy, `version: "1.0"\n${tools}\nservers:\n${entries.join("\n")}\n`);
  const env = { PATH: process.env.PATH, HOME: home };
  approveServers(COMMAND, policy, { env });
  const words = ["serve", "--no-auth", "--port", "0", "--rate", "1000000", "--json", "--policy", policy];
  const child = start(COMMAND, words, { env });
  const { url } = await firstLine(child);
  const agent = new Agent({ keepAlive: true });
  return { home, fleet, kinds: Object.keys(urls), pid: child.pid, url, agent, good: [], failed: 0 };
}

function call({ url, agent }, name, signal) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const text = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: {}, _meta: meta },
  });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
    "content-length": Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, method: "POST", headers, signal }, (response) => {
      let told = "";
      response.setEncoding("utf8").on("data", (chunk) => (told += chunk.slice(0, 1_000)));
      response.on("end", () => resolve(told)).on("error", reject);
    });
    outgoing.on("error", reject).end(text);
  });
}

/** One turn of load: every good server called one after the other, the others now and then. */
async function load(side, ms) {
  const until = performance.now() + ms;
  const good = async (at) => {
    while (performance.now() < until) {
      const began = performance.now();
      const text = await call(side, `good${at}__read`);
      side.good.push(performance.now() - began);
      if (!text.includes("a note of some length")) side.failed += 1;
    }
  };
  const other = async (at) => {
    while (performance.now() < until) {
      await call(side, `bad${at}__read`, AbortSignal.timeout(BAD_PATIENCE_MS)).catch(() => undefined);
      await pause(BAD_PAUSE_MS);
    }
  };
  await Promise.all([...Array.from({ length: HEALTHY }, (_, at) => good(at)), ...side.kinds.map((_, at) => other(at))]);
}

async function beside(seconds) {
  const [calm, rough] = [await product(), await product()];
  rough.fleet.stdin.write("turn\n");
  for (const side of [calm, rough]) await load(side, 3_000);
  for (const side of [calm, rough]) Object.assign(side, { good: [], failed: 0 });
  const sizes = [];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const side of [calm, rough]) await load(side, (seconds * 1_000) / TURNS / 2);
    sizes.push(residentBytes(rough.pid));
  }
  const [before, after] = [calm, rough].map(({ good }) => quantile(good, 0.99));
  const half = sizes.slice(0, TURNS / 2);
  const growth = Math.max(...sizes.slice(TURNS / 2)) / Math.max(...half);
  for (const { home } of [calm, rough]) rmSync(home, { recursive: true, force: true });
  return [
    {
      what: `p99 of good servers beside 20 bad ones, to that beside 20 good ones (${before.toFixed(1)} ms)`,
      measured: `${(after / before).toFixed(2)} (${after.toFixed(1)} ms; ${rough.good.length} and ${calm.good.length} calls)`,
      limit: "1.2",
      passed: after <= 1.2 * before,
    },
    {
      what: "calls of good servers that failed",
      measured: `${rough.failed}, beside good ones ${calm.failed}`,
      limit: "0",
      passed: rough.failed === 0,
    },
    {
      what: "memory with bad servers, second half to first",
      measured: growth.toFixed(2),
      limit: "1.2",
      passed: growth <= 1.2,
    },
  ];
}

/** A server that heeds no signal, behind its wall: it is gone however the product ends. */
async function ends(name, runs) {
  const home = mkdtempSync(join(tmpdir(), "gateway-ends-"));
  const folder = join(home, "programs");
  mkdirSync(folder);
  const program = join(folder, "stays.mjs");
  writeFileSync(program, STAYS);
  const policy = join(home, "policy.yaml");
  const entry = `stays: { command: ["${process.execPath}", "${program}"], filesystem: { readable_paths: ["${folder}/**"] } }`;
  writeFileSync(policy, `version: "1.0"\ntools: { allowed: ["*"] }\nservers: { ${entry} }\n`);
  const env = { PATH: process.env.PATH, HOME: home };
  approveServers(COMMAND, policy, { env });
  let left = 0;
  let longest = 0;
  for (let run = 0; run < runs; run++) {
    const child = start(COMMAND, ["--policy", policy], { env });
    const answered = new Promise((resolve, reject) => {
      child.stdout.setEncoding("utf8").on("data", (text) => text.includes('"result"') && resolve());
      child.once("exit", () => reject(new Error("the product ended before it had answered")));
    });
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { name: "stays__read", arguments: {}, _meta: meta };
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
    await answered;
    if (carriers(program).length === 0) throw new Error("the server does not run though it has answered");
    const gone = once(child, "exit");
    process.kill(child.pid, ENDS[name]);
    await gone;
    const settled = await settle(() => carriers(program), GONE_MS);
    left += settled.left;
    longest = Math.max(longest, settled.ms);
  }
  rmSync(home, { recursive: true, force: true });
  const measured = `${left} left; the last was gone after ${longest.toFixed(0)} ms`;
  return {
    what: `processes of a server ${GONE_MS / 1_000} s after ${name}, ${runs} times`,
    measured,
    limit: "0",
    passed: left === 0,
  };
}

const STAYS = `
for (const name of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(name, () => undefined);
setInterval(() => undefined, 1_000);
const answers = {
  initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "stays", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "read", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "read" }] }),
};
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const { id, method } of lines.map((line) => JSON.parse(line))) {
    const said = answers[method] ? { result: answers[method]() } : { error: { code: -32601, message: "no " + method } };
    if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...said }) + "\\n");
  }
});
`;

/** Returns the exit code: 0, 1 when something did not hold, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  process.stdout.write(`# Bad servers behind the gateway\n\n${machine()}\n\n`);
  process.stdout.write(`${table(["what", "measured", "at most", "verdict"], [])}\n`);
  let passed = true;
  try {
    const rows = options.seconds > 0 ? [() => beside(options.seconds)] : [];
    for (const name of options.ends > 0 ? Object.keys(ENDS) : [])
      rows.push(async () => [await ends(name, options.ends)]);
    for (const row of rows) {
      for (const { what, measured, limit, passed: held } of await row()) {
        passed &&= held;
        process.stdout.write(`| ${what} | ${measured} | ${limit} | ${held ? "pass" : "MISSED"} |\n`);
      }
    }
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
  return passed ? 0 : 1;
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: { seconds: { type: "string", default: "60" }, ends: { type: "string", default: "100" } },
    });
    const [seconds, ends] = [Number(values.seconds), Number(values.ends)];
    if (!(seconds >= 0) || !(ends >= 0)) throw new Error("--seconds and --ends take numbers");
    return { seconds, ends };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}
