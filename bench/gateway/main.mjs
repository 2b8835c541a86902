// `npm run bench -- gateway`: processor time of the gateway's process for each call, beside floors that relay and nothing else.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { fixed, machine, table } from "../measure/markdown.mjs";
import { cpuNanoseconds, cpuSource } from "../measure/process-stats.mjs";

const USAGE = `npm run bench -- gateway [options]
  --calls 3000        calls of one round
  --rounds 5          rounds of each, taken in turns; the median counts
  --only B1,B3        only these
  --no-gate           exit 0 though a figure is over its target
`;
const SERVICES = fileURLToPath(new URL("services.mjs", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../packages/secure-local/dist/mcp-secure-local.cjs", import.meta.url));
const [STATELESS, SESSION] = ["2026-07-28", "2025-11-25"];
const IN_FLIGHT = 16;
const CLIENT = { name: "bench", version: "1.0.0" };

/** Everything that was started, ended at the end whatever happens. */
const children = new Set();

function start(file, args, options = {}) {
  const child = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "pipe"], ...options });
  children.add(child);
  child.once("exit", () => children.delete(child));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  child.said = () => said;
  return child;
}

/** A service of the bench; resolves to its process and URL. */
async function service(role, options = {}) {
  const child = start(SERVICES, [role, JSON.stringify(options)]);
  const url = await new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", (text) => resolve(JSON.parse(text).url));
    child.once("exit", () => reject(new Error(`${role} ended: ${child.said().slice(0, 300)}`)));
  });
  return { pid: child.pid, url, close: () => child.kill() };
}

/** A service that speaks over its pipes. */
function piped(role, options) {
  const child = start(SERVICES, [role, JSON.stringify(options)]);
  return { pid: child.pid, child, close: () => child.kill() };
}

/** Asks over kept connections; `era` says in which form. Resolves to the text of the answer. */
function asker(url, { era, session, name = "read", method = "tools/call" }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const meta = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const named = method === "tools/call" ? { name, arguments: { path: "notes/plan.txt", count: 3 } } : {};
  const params = era === "stateless" ? { ...named, _meta: meta } : named;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": era === "stateless" ? STATELESS : SESSION,
    ...(era === "stateless"
      ? { "mcp-method": method, ...(method === "tools/call" ? { "mcp-name": name } : {}) }
      : { "mcp-session-id": session ?? "bench-session" }),
  };
  let ids = 0;
  return () => post(url, { agent, headers, message: { jsonrpc: "2.0", id: ++ids, method, params } });
}

function post(url, { agent, headers, message }) {
  const text = JSON.stringify(message);
  return new Promise((resolve, reject) => {
    const options = { agent, method: "POST", headers: { ...headers, "content-length": Buffer.byteLength(text) } };
    const outgoing = request(url, options, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => resolve({ headers: answer.headers, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.on("error", reject);
    outgoing.end(text);
  });
}

/** Opens a session of 2025-11-25 and gives its id. */
async function openSession(url) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = { protocolVersion: SESSION, capabilities: {}, clientInfo: CLIENT };
  const opened = await post(url, { headers, message: { jsonrpc: "2.0", id: 0, method: "initialize", params } });
  const session = opened.headers["mcp-session-id"];
  const more = { ...headers, "mcp-session-id": session, "mcp-protocol-version": SESSION };
  await post(url, { headers: more, message: { jsonrpc: "2.0", method: "notifications/initialized" } });
  return session;
}

/** Asks over pipes. */
function pipeAsker({ child }) {
  const waiting = new Map();
  let [rest, ids] = ["", 0];
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const { id } = JSON.parse(line);
      waiting.get(id)?.({ text: line });
      waiting.delete(id);
    }
  });
  const meta = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return () =>
    new Promise((resolve) => {
      const id = ++ids;
      waiting.set(id, resolve);
      const params = { name: "read", arguments: { path: "notes/plan.txt", count: 3 }, _meta: meta };
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params })}\n`);
    });
}

/** Calls with so many in flight; every answer must be a result. */
async function run(ask, calls, inFlight) {
  let left = calls;
  const lane = async () => {
    while (left-- > 0) {
      const { text } = await ask();
      if (!text.includes('"result"') || text.includes('"isError":true'))
        throw new Error(`an answer is no result: ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

/** Microseconds of each process for a call: the median of rounds taken in turns. */
async function compare(sides, { calls, rounds, inFlight = IN_FLIGHT }) {
  const figures = sides.map(() => []);
  for (const { ask } of sides) await run(ask, Math.ceil(calls / 2), inFlight);
  for (let round = 0; round < rounds; round++) {
    for (const [at, { pid, ask }] of sides.entries()) {
      const before = cpuNanoseconds(pid);
      await run(ask, calls, inFlight);
      figures[at].push((cpuNanoseconds(pid) - before) / calls / 1_000);
    }
  }
  return figures.map(median);
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** The product with one server in its policy, approved. */
async function product(url) {
  const home = mkdtempSync(join(tmpdir(), "bench-gateway-"));
  const policy = join(home, "policy.yaml");
  writeFileSync(
    policy,
    `version: "1.0"\ntools: { allowed: ["up__*"], rate_limits: { default: 1000000 } }\nservers: { up: { url: "${url}" } }\n`,
  );
  const env = { PATH: process.env.PATH, HOME: home };
  const review = start(COMMAND, ["servers", "review", "--yes", "--policy", policy], { env });
  await new Promise((resolve) => review.once("exit", resolve));
  const child = start(
    COMMAND,
    ["serve", "--no-auth", "--port", "0", "--rate", "1000000", "--quiet", "--policy", policy],
    { env },
  );
  let said = "";
  const found = await new Promise((resolve, reject) => {
    const look = (text) => {
      said += text;
      const [at] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said) ?? [];
      if (at !== undefined) resolve(at);
    };
    child.stdout.setEncoding("utf8").on("data", look);
    child.stderr.on("data", look);
    child.once("exit", () => reject(new Error(`the product ended: ${said.slice(0, 300)}`)));
  });
  const close = () => {
    child.once("exit", () => rmSync(home, { recursive: true, force: true }));
    child.kill();
  };
  return { pid: child.pid, url: found, close };
}

const side = (reached, how) => ({ ...reached, ask: asker(reached.url, how) });

/** Each resolves to rows: what, the floor's figure, ours, and how many times the floor it may be. */
const WORKLOADS = {
  async B1(n) {
    const up = await service("upstream-http", { era: "stateless" });
    const floor = side(await service("floor-http", { url: up.url }), { era: "stateless" });
    const gate = side(await service("ours", { urls: [up.url], prefix: "" }), { era: "stateless" });
    return rowsOf("2026-07-28 to 2026-07-28 over HTTP, no prefix", await compare([floor, gate], n), "F2", 1.15);
  },
  async B2(n) {
    const up = await service("upstream-http", { era: "stateless" });
    const how = { era: "stateless", name: "up__read" };
    const floor = side(await service("floor-http", { url: up.url, rename: true }), how);
    const gate = side(await service("ours", { urls: [up.url] }), how);
    const whole = side(await product(up.url), how);
    const [base, plain, all] = await compare([floor, gate, whole], n);
    return [
      ...rowsOf("the same, prefixed", [base, plain], "F3", 1.3),
      {
        id: "B10",
        what: "the product: policy, limits, pins, cleaning, log synced in groups",
        floor: "B2",
        base: plain,
        measured: all,
        limit: 2,
      },
    ];
  },
  async B3(n) {
    const up = await service("upstream-http", { era: "stateless" });
    const floor = side(await service("floor-http", { url: up.url, rename: true }), {
      era: "stateless",
      name: "up__read",
    });
    const ours = await service("ours", { urls: [up.url] });
    const gate = side(ours, { era: "session", session: await openSession(ours.url), name: "up__read" });
    return rowsOf("2025-11-25 session to 2026-07-28", await compare([floor, gate], n), "F3", 1.5);
  },
  async B4(n) {
    const up = await service("upstream-http", { era: "session", sse: true });
    const json = await service("upstream-http", { era: "session" });
    const how = { era: "stateless", name: "up__read" };
    const floor = side(await service("floor-http", { url: json.url, rename: true }), how);
    const gate = side(await service("ours", { urls: [up.url], revision: SESSION }), how);
    return rowsOf("2026-07-28 to a 2025-11-25 session that answers by SSE", await compare([floor, gate], n), "F3", 1.6);
  },
  async B5(n) {
    const command = [process.execPath, SERVICES, "upstream-stdio", JSON.stringify({ era: "stateless" })];
    const floor = side(await service("floor-stdio", { command }), { era: "stateless" });
    const gate = side(await service("ours", { command, prefix: "" }), { era: "stateless" });
    return rowsOf("HTTP to stdio, 64 in flight", await compare([floor, gate], { ...n, inFlight: 64 }), "F4", 1.3);
  },
  async B6(n) {
    const up = await service("upstream-http", { era: "stateless" });
    const sides = [piped("floor-pipe", { url: up.url }), piped("ours", { urls: [up.url], prefix: "", stdio: true })];
    const asked = sides.map((each) => ({ ...each, ask: pipeAsker(each) }));
    return rowsOf("stdio to HTTP, 64 in flight", await compare(asked, { ...n, inFlight: 64 }), "F4", 1.3);
  },
  async B7(n) {
    const up = await service("upstream-http", { era: "stateless" });
    const how = { era: "stateless", name: "up__read" };
    const reached = [up, await service("floor-http", { url: up.url, rename: true }), await product(up.url)];
    const times = [[], [], []];
    const asks = reached.map(({ url }) => asker(url, how));
    for (let call = 0; call < n.calls + 500; call++) {
      for (const [at, ask] of asks.entries()) {
        const began = performance.now();
        await ask();
        if (call >= 500) times[at].push((performance.now() - began) * 1_000);
      }
    }
    const quantile = (at, q) => times[at].toSorted((a, b) => a - b)[Math.floor(times[at].length * q)];
    const added = (at, q) => quantile(at, q) - quantile(0, q);
    const whole = [0.5, 0.99, 0.999].map((q) => `${fixed(quantile(2, q), 0)}`).join(" / ");
    const what = `latency added at one in flight, whole chain (its p50 / p99 / p99.9: ${whole} µs)`;
    return [{ id: "B7", what, floor: "F3", base: added(1, 0.5), measured: added(2, 0.5), limit: 2 }];
  },
  async B8(n) {
    const ups = [];
    for (let at = 0; at < 10; at++) ups.push((await service("upstream-http", { era: "stateless", tools: 100 })).url);
    const how = { era: "stateless", method: "tools/list" };
    const floor = side(await service("floor-merge", { urls: ups }), how);
    const gate = side(await service("ours", { urls: ups }), how);
    const few = { ...n, calls: Math.ceil(n.calls / 20), inFlight: 4 };
    return rowsOf("merged list, 10 servers of 100 tools, warm", await compare([floor, gate], few), "by hand", 0.4);
  },
  async B11(n) {
    const up = await service("upstream-http", { era: "stateless", bytes: 1_000_000 });
    const floor = side(await service("floor-http", { url: up.url }), { era: "stateless" });
    const gate = side(await service("ours", { urls: [up.url], prefix: "" }), { era: "stateless" });
    const few = { ...n, calls: Math.ceil(n.calls / 20), inFlight: 4 };
    return rowsOf("a result of 1 MB", await compare([floor, gate], few), "F2", 1.1);
  },
};

function rowsOf(what, [base, measured], floor, limit) {
  return [{ what, floor, base, measured, limit }];
}

/** Returns the exit code: 0, 1 when a figure is over its target or failed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const { only, numbers, gate } = options;
  process.stdout.write(
    `# Gateway\n\n${machine()} CPU from ${cpuSource()}, µs a call of the process in the middle.\n\n`,
  );
  process.stdout.write(`${table(["", "workload", "floor", "its µs", "ours µs", "times", "at most", "verdict"], [])}\n`);
  let passed = true;
  for (const name of only) {
    try {
      for (const { id = name, what, floor, base, measured, limit } of await WORKLOADS[name](numbers)) {
        const times = measured / base;
        passed &&= times <= limit;
        const figures = [
          fixed(base, 1),
          fixed(measured, 1),
          fixed(times, 2),
          limit,
          times <= limit ? "pass" : "MISSED",
        ];
        process.stdout.write(`| ${id} | ${what} | ${floor} | ${figures.join(" | ")} |\n`);
      }
    } catch (error) {
      passed = false;
      process.stdout.write(
        `| ${name} | failed: ${error.message.replaceAll("|", "/")} | - | - | - | - | - | FAILED |\n`,
      );
    } finally {
      // Nothing of it is to be kept, and what drains would be waited for.
      for (const child of children) child.kill("SIGKILL");
      await Promise.all([...children].map((child) => new Promise((resolve) => child.once("exit", resolve))));
    }
  }
  return passed || !gate ? 0 : 1;
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        calls: { type: "string", default: "3000" },
        rounds: { type: "string", default: "5" },
        only: { type: "string" },
        "no-gate": { type: "boolean" },
      },
    });
    const only = values.only?.split(",") ?? Object.keys(WORKLOADS);
    const unknown = only.find((name) => !Object.hasOwn(WORKLOADS, name));
    if (unknown !== undefined)
      throw new Error(`no workload ${unknown}: there are ${Object.keys(WORKLOADS).join(", ")}`);
    return { only, numbers: { calls: Number(values.calls), rounds: Number(values.rounds) }, gate: !values["no-gate"] };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}
