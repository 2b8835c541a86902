// `npm run bench -- gateway`: processor time of the gateway's process for each call, beside floors that relay and nothing else.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { connect as connectTcp } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { approveServers } from "../../scripts/lib/approve-servers.mjs";
import { fixed, machine, table } from "../measure/markdown.mjs";
import { cpuNanoseconds, cpuSource, peakBytes, residentBytes, resetPeak } from "../measure/process-stats.mjs";
import { asker, compare, median, metaOf, openSession, parker, pipeAsker, run, SESSION, STATELESS } from "./calling.mjs";
import { comparePeers } from "./peers.mjs";
import { children, homes, nginx, piped, service, SERVICES, start } from "./processes.mjs";

const USAGE = `npm run bench -- gateway [options]
  --calls 5000        calls of one round
  --rounds 3          rounds of each, taken in turns; the median counts
  --starts 3          times that all of it is started anew; the start with the middle ratio counts
  --only B1,peers     only these; peers: other people's gateways, installed from npm into the user's cache
  --no-gate           exit 0 though a figure is over its target
`;
const COMMAND = fileURLToPath(new URL("../../packages/secure-local/dist/mcp-secure-local.cjs", import.meta.url));
/** A policy with servers by name and URL, approved, in a home of its own. */
async function approved(servers) {
  const home = mkdtempSync(join(tmpdir(), "bench-gateway-"));
  const policy = join(home, "policy.yaml");
  const entries = Object.entries(servers).map(([name, url]) => `  ${name}: { url: "${url}" }\n`);
  const named = entries.length === 0 ? "" : `servers:\n${entries.join("")}`;
  const tools = 'tools: { allowed: ["*"], rate_limits: { default: 1000000 } }';
  writeFileSync(policy, `version: "1.0"\n${tools}\n${named}`);
  const env = { PATH: process.env.PATH, HOME: home };
  if (entries.length > 0) approveServers(COMMAND, policy, { env });
  return { home, policy, env };
}

/** Processor milliseconds of the product from its start on a pipe to its first list of tools, and how many are in it. */
async function firstList({ policy, env }, stayMs = 0) {
  const child = start(COMMAND, ["--policy", policy], { env });
  const answer = new Promise((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      if (text.endsWith("\n")) resolve(JSON.parse(text));
    });
    child.once("exit", () => reject(new Error(`the product ended: ${child.said().slice(0, 300)}`)));
  });
  const meta = metaOf();
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } })}\n`);
  const { result } = await answer;
  const ms = cpuNanoseconds(child.pid) / 1e6;
  await new Promise((resolve) => setTimeout(resolve, stayMs));
  child.stdin.end();
  await new Promise((resolve) => child.once("exit", resolve));
  return { ms, tools: result.tools.length };
}

/** The product with one server in its policy, approved. */
async function product(url) {
  const { home, policy, env } = await approved({ up: url });
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

/** A folder that is taken away at the end. */
function folder() {
  const home = mkdtempSync(join(tmpdir(), "bench-gateway-"));
  homes.add(home);
  return home;
}

/** Our gateway in B2's chain: prefixed, one rule of a policy, and a log that is not synced. */
function underOneRule(url) {
  return service("ours", { urls: [url], rule: { allowed: "up__*", log: join(folder(), "log") } });
}

const side = (reached, how) => ({ ...reached, ask: asker(reached.url, how) });

/** Each resolves to rows: what, the floor's figure, ours, and how many times the floor it may be. */
const WORKLOADS = {
  async B1(n) {
    const up = await service("upstream-http", { era: "stateless" });
    const floor = side(await service("floor-http", { url: up.url }), { era: "stateless" });
    const gate = side(await service("ours", { urls: [up.url], prefix: "" }), { era: "stateless" });
    const pipe = side(await service("floor-tcp", { url: up.url }), { era: "stateless" });
    const proxy = await nginx(up.url, folder());
    const beside = proxy === undefined ? [] : [side(proxy, { era: "stateless" })];
    const [base, ours, piped, passed] = await compare([floor, gate, pipe, ...beside], n);
    return [
      ...rowsOf("2026-07-28 to 2026-07-28 over HTTP, no prefix", [base, ours], "F2", 1.15),
      ...rowsOf("beside it F1: a pipe of TCP", [base, piped], "F2"),
      ...(passed === undefined ? [] : rowsOf("beside it F1: nginx, proxy_pass", [base, passed], "F2")),
    ];
  },
  async B2(n) {
    const up = await service("upstream-http", { era: "stateless" });
    const how = { era: "stateless", name: "up__read" };
    const floor = side(await service("floor-http", { url: up.url, rename: true }), how);
    const gate = side(await underOneRule(up.url), how);
    const log = join(folder(), "log");
    const synced = side(await service("floor-http", { url: up.url, rename: true, log }), how);
    const whole = side(await product(up.url), how);
    const [base, plain, least, all] = await compare([floor, gate, synced, whole], n);
    return [
      ...rowsOf("the same, prefixed, one policy rule, log not synced", [base, plain], "F3", 1.3),
      {
        id: "B10",
        what: "the product: policy, limits, pins, cleaning, log synced in groups",
        floor: "B2",
        base: plain,
        measured: all,
        limit: 2,
      },
      {
        id: "B10",
        what: "the same, beside F3 with a log of two lines a call, synced in groups",
        floor: "F3s",
        base: least,
        measured: all,
      },
      { id: "B10", what: "what has that log and nothing else: F3s", floor: "B2", base: plain, measured: least },
      // What B2 may be of F3, twice: B2 itself is less than F3.
      {
        id: "B10",
        what: "the same, beside F3: twice what B2 may be of it",
        floor: "F3",
        base,
        measured: all,
        limit: 2.6,
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
    const floor = await service("floor-http", { url: up.url, rename: true });
    const reached = [up, floor, await underOneRule(up.url), await product(up.url)];
    const times = reached.map(() => []);
    const asks = reached.map(({ url }) => asker(url, how));
    for (let call = 0; call < (n.calls * 2) / 3 + 500; call++) {
      for (const [at, ask] of asks.entries()) {
        const began = performance.now();
        await ask();
        if (call >= 500) times[at].push((performance.now() - began) * 1_000);
      }
    }
    const quantile = (at, q) => times[at].toSorted((a, b) => a - b)[Math.floor(times[at].length * q)];
    const added = (at, q) => quantile(at, q) - quantile(0, q);
    const all = (at) => [0.5, 0.99, 0.999].map((q) => `${fixed(quantile(at, q), 0)}`).join(" / ");
    const row = (at, what, limit) => {
      const told = `latency added at one in flight, ${what} (its p50 / p99 / p99.9: ${all(at)} µs)`;
      return { id: "B7", what: told, floor: "F3", base: added(1, 0.5), measured: added(at, 0.5), limit };
    };
    return [row(2, "B2's chain", 2), row(3, "the whole product, log synced")];
  },
  async B8(n) {
    const ups = [];
    for (let at = 0; at < 10; at++) ups.push((await service("upstream-http", { era: "stateless", tools: 100 })).url);
    const how = { era: "stateless", method: "tools/list" };
    const floor = side(await service("floor-merge", { urls: ups }), how);
    const gate = side(await service("ours", { urls: ups }), how);
    const few = { ...n, calls: Math.ceil(n.calls / 25), warm: 0, inFlight: 4 };
    return rowsOf("merged list, 10 servers of 100 tools, warm", await compare([floor, gate], few), "by hand", 0.4);
  },
  async B9(n) {
    const plain = await service("upstream-http", { era: "session" });
    const asking = await service("upstream-http", { era: "session", asks: true });
    const calls = side(await product(plain.url), { era: "stateless", name: "up__read" });
    const parks = await product(asking.url);
    const sides = [calls, { ...parks, ask: parker(parks.url, "up__read") }];
    const [one, resumed] = await compare(sides, { ...n, calls: Math.ceil(n.calls / 2.5), warm: 0 });
    const what = "park and resume, the whole product";
    return [
      { id: "B9", what, floor: "two plain calls", base: 2 * one, measured: resumed, limit: 2.2 },
      ...(await parkedRows(asking.url)),
    ];
  },
  async B11(n) {
    const how = { era: "stateless" };
    const few = { ...n, calls: Math.ceil(n.calls / 25), warm: LONG_WARM, inFlight: 4 };
    const up = await service("upstream-http", { ...how, bytes: LONG_RESULT });
    const floor = side(await service("floor-http", { url: up.url }), how);
    const splicing = side(await service("floor-http", { url: up.url, parse: true }), how);
    const parsing = side(await service("floor-http", { url: up.url, rename: true }), how);
    const gate = side(await service("ours", { urls: [up.url], prefix: "" }), how);
    const [piped, spliced, parsed, relayed] = await compare([floor, splicing, parsing, gate], few);
    const lined = await service("upstream-http", { ...how, bytes: LONG_RESULT, lines: true });
    const pipe = side(await service("floor-http", { url: lined.url }), how);
    const lines = side(await service("ours", { urls: [lined.url], prefix: "" }), how);
    return [
      ...rowsOf("a result of 1 MB", [piped, relayed], "F2", 1.1),
      ...rowsOf("the same, lines of a program", await compare([pipe, lines], few), "F2"),
      ...rowsOf("the same, beside what parses it and sends its own bytes on", [spliced, relayed], "F2p"),
      ...rowsOf("the same, beside what reads it as well", [parsed, relayed], "F3", 1.1),
      ...(await unreadRows({
        F2p: () => service("floor-http", { url: up.url, parse: true }),
        ours: () => service("ours", { urls: [up.url], prefix: "" }),
      })),
    ];
  },
  async B12() {
    const ups = [];
    for (let at = 0; at < 40; at++) ups.push((await service("upstream-http", { era: "stateless" })).url);
    // What connects is compiled once, however many there are: both have run it more often than V8 needs for that.
    const few = await service("ours", { urls: ups.slice(0, 20) }, ["--expose-gc"]);
    const many = await service("ours", { urls: ups }, ["--expose-gc"]);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const upstream = ((await many.heap()) - (await few.heap())) / 20 / 1_024;
    const before = await few.heap();
    for (let at = 0; at < SESSIONS; at++) await openSession(few.url);
    const session = ((await few.heap()) - before) / SESSIONS / 1_024;
    return [
      { id: "B12", what: "KB of heap for an upstream that idles, of 20 over HTTP", measured: upstream, limit: 30 },
      { id: "B12", what: "KB of heap for a session that idles, of 1,000", measured: session, limit: 6 },
    ];
  },
  async B13({ rounds }) {
    const alive = await service("upstream-http", { era: "stateless", tools: 5 });
    const dead = await service("upstream-http", { era: "stateless", tools: 5 });
    const urls = Array.from({ length: 20 }, (_, at) => [`up${at}`, at < 15 ? alive.url : dead.url]);
    const [none, all] = [await approved({}), await approved(Object.fromEntries(urls))];
    dead.close();
    const times = [[], []];
    // As people start it: a session that lasts leaves the compiled code behind for the next one.
    for (const each of [none, all]) await firstList(each, CODE_KEPT_MS);
    for (let round = 0; round < rounds * 4; round++) {
      times[0].push((await firstList(none)).ms);
      const { ms, tools } = await firstList(all);
      if (tools < 100) throw new Error(`the first list has ${tools} tools`);
      times[1].push(ms);
    }
    for (const { home } of [none, all]) rmSync(home, { recursive: true, force: true });
    const [base, measured] = times.map((each) => median(each) * 1_000);
    const what = "from the start to the first list, 20 servers, 5 of them dead";
    return [{ what, floor: "no servers", base, measured, limit: 1.3 }];
  },
};

/** By then what V8 compiled has been kept. */
const CODE_KEPT_MS = 1_000;
const SESSIONS = 1_000;
const PARKED = 10_000;
/** Of a session each holds a connection to its server: as many as may be open there. */
const PARKED_IN_SESSIONS = 1_000;
const READERS = 100;
/** Bytes of the text in it. */
const LONG_RESULT = 1_000_000;
/** Long calls before those that are measured: until then V8 compiles what a call runs. */
const LONG_WARM = 3_000;
/** After that long a connection that nobody uses is closed. */
const IDLE_MS = 5_000;

/** What a call costs that waits for its caller: one to a server without sessions, and one whose request there stays open. */
async function parkedRows(url) {
  const stateless = await service("upstream-http", { era: "stateless", asks: true });
  const how = { urls: [stateless.url], parks: true };
  const each = await parkedBytes(how, PARKED);
  const other = await parkedBytes({ urls: [url], revision: SESSION }, PARKED_IN_SESSIONS);
  const what = `KB of heap for a parked call, of ${PARKED}, its server of ${STATELESS}`;
  const held = `the same, of ${PARKED_IN_SESSIONS}, its request to a server of ${SESSION} held open`;
  return [
    { id: "B9", what, measured: each, limit: 6 },
    { id: "B9", what: held, measured: other },
  ];
}

async function parkedBytes(how, parked) {
  const gate = await service("ours", how, ["--expose-gc"]);
  const park = parker(gate.url, "up__read", true);
  const before = parked / 10;
  for (let at = 0; at < before; at++) await park();
  const heap = await gate.heap();
  for (let at = before; at < parked; at++) await park();
  return ((await gate.heap()) - heap) / (parked - before) / 1_024;
}

/** What a hundred results that nobody reads cost: of the floor, and of ours. */
async function unreadRows(gateways) {
  const what = `MB above idle, ${READERS} readers of 1 MB that read nothing`;
  const measured = {};
  for (const [name, begin] of Object.entries(gateways)) {
    const gate = await begin();
    measured[name] = await slowReaders(gate);
    gate.close();
  }
  return [
    { id: "B11", what: `${what}: what parses it and sends its own bytes on`, measured: measured.F2p },
    { id: "B11", what, measured: measured.ours, limit: 64 },
  ];
}

/** Memory above idle while so many ask for 1 MB each and read nothing for a while; then they read, and it has to be all there. */
async function slowReaders({ pid, url }) {
  await run(asker(url, { era: "stateless" }), 1, 1);
  const idle = residentBytes(pid);
  resetPeak(pid);
  const text = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "read", arguments: {}, _meta: metaOf() },
  });
  const { hostname, port } = new URL(url);
  const headers = `host: ${hostname}:${port}\r\ncontent-type: application/json\r\naccept: application/json\r\nmcp-protocol-version: ${STATELESS}\r\nmcp-method: tools/call\r\nmcp-name: read\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`;
  const sockets = Array.from({ length: READERS }, () => {
    const socket = connectTcp({ host: hostname, port: Number(port) });
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(`POST /mcp HTTP/1.1\r\n${headers}connection: close\r\n\r\n${text}`);
    return socket;
  });
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const megabytes = (peakBytes(pid) - idle) / 1_000_000;
  const bytes = await Promise.all(sockets.map(readAll));
  if (bytes.some((each) => each < LONG_RESULT)) throw new Error(`a slow reader was given ${Math.min(...bytes)} bytes`);
  return megabytes;
}

function rowsOf(what, [base, measured], floor, limit) {
  return [{ what, floor, base, measured, limit }];
}

const load = () => fixed(loadavg()[0], 1);

/** Reads until all of a long result is there, or the connection ends. Not every floor ends it when it is asked to. */
const readAll = (socket) =>
  new Promise((resolve) => {
    let bytes = 0;
    socket
      .on("data", (chunk) => {
        bytes += chunk.length;
        if (bytes > LONG_RESULT) socket.destroy();
      })
      .on("close", () => resolve(bytes));
    socket.resume();
  });

/** Ends all that was started. */
async function ended() {
  // Nothing of it is to be kept, and what drains would be waited for.
  for (const child of children) child.kill("SIGKILL");
  await Promise.all([...children].map((child) => new Promise((resolve) => child.once("exit", resolve))));
  for (const home of homes) rmSync(home, { recursive: true, force: true });
}

const PEERS = "peers";

/** A table of its own: there are no targets for what others do. False when a floor or ours failed. */
async function besidePeers(numbers) {
  const headings = ["shape and revision", "process", "µs", "times the floor", "times ours"];
  const write = (text) => process.stdout.write(text);
  write(`\n## Peers\n\n${table(headings, [])}\n`);
  return comparePeers(numbers, { end: ended, write });
}

/** What one start of a workload measures, by a process that has asked nothing before: what it asked of others has compiled it otherwise. */
function measured(name, { calls, rounds }) {
  const words = ["--measure", name, "--calls", String(calls), "--rounds", String(rounds)];
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, "gateway", ...words], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr.trim().split("\n").at(-1) ?? `ended with ${status}`);
  return JSON.parse(stdout);
}

const RUN = fileURLToPath(new URL("../run.mjs", import.meta.url));

/** The process of one start: writes its rows as JSON. */
async function measureOnce(name, numbers) {
  try {
    process.stdout.write(JSON.stringify(await WORKLOADS[name](numbers)));
    return 0;
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return 1;
  } finally {
    await ended();
  }
}

/** The rows of a workload, each that of the start in which its figure was the middle one, with the figures of all starts. */
function middleRows(name, { starts, ...numbers }) {
  const runs = Array.from({ length: starts }, () => measured(name, numbers));
  // What is counted has no floor.
  const timesOf = ({ base, measured: ours }) => (base === undefined ? ours : ours / base);
  return runs[0].map((_, at) => {
    const sorted = runs.map((rows) => rows[at]).sort((one, other) => timesOf(one) - timesOf(other));
    const middle = sorted[Math.floor(sorted.length / 2)];
    return { id: name, floor: "-", ...middle, times: timesOf(middle), all: sorted.map(timesOf) };
  });
}

/** One row of the table; what has no limit is stated, and nothing more. */
function written({ id, what, floor, base, measured: ours, times, all, limit }, verdict) {
  const isCounted = base === undefined;
  const figures = isCounted ? ["-", fixed(ours, 1), "-"] : [fixed(base, 1), fixed(ours, 1), fixed(times, 2)];
  const starts = all.map((each) => fixed(each, isCounted ? 1 : 2)).join(" ");
  return `| ${[id, what, floor, ...figures, starts, limit ?? "-", verdict].join(" | ")} |\n`;
}

/** Returns the exit code: 0, 1 when a figure is over its target or failed, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  const { only, numbers, gate, measure } = options;
  if (measure !== undefined) return measureOnce(measure, numbers);
  process.stdout.write(
    `# Gateway\n\n${machine()} CPU from ${cpuSource()}, µs a call of the process in the middle.\n\n`,
  );
  const headings = ["", "workload", "floor", "its µs", "ours µs", "times", "of each start", "at most", "verdict"];
  process.stdout.write(`${table(headings, [])}\n`);
  const loads = [load()];
  let passed = true;
  for (const name of only.filter((each) => each !== PEERS)) {
    try {
      for (const row of middleRows(name, numbers)) {
        const verdict = row.limit === undefined ? "-" : row.times <= row.limit ? "pass" : "MISSED";
        passed &&= verdict !== "MISSED";
        process.stdout.write(written(row, verdict));
      }
    } catch (error) {
      passed = false;
      const said = error.message.replaceAll("|", "/");
      process.stdout.write(`| ${name} | failed: ${said} | - | - | - | - | - | - | FAILED |\n`);
    }
  }
  if (only.includes(PEERS)) passed = (await besidePeers(numbers)) && passed;
  process.stdout.write(`\nThe machine's load: ${loads[0]} before, ${load()} at the end.\n`);
  return passed || !gate ? 0 : 1;
}

function readOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        calls: { type: "string", default: "5000" },
        rounds: { type: "string", default: "3" },
        starts: { type: "string", default: "3" },
        only: { type: "string" },
        "no-gate": { type: "boolean" },
        measure: { type: "string" },
      },
    });
    const known = [...Object.keys(WORKLOADS), PEERS];
    const only = values.only?.split(",") ?? known;
    const unknown = only.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new Error(`no workload ${unknown}: there are ${known.join(", ")}`);
    const [calls, rounds, starts] = [values.calls, values.rounds, values.starts].map(Number);
    return { only, numbers: { calls, rounds, starts }, gate: !values["no-gate"], measure: values.measure };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}
