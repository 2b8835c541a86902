// `npm run bench -- console`: what the console's page costs: opening it, what is written becoming seen, the server, memory, size.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { fixed, machine, table } from "./measure/markdown.mjs";

const PARTS = "size,opening,seen,served,memory";
const USAGE = `npm run bench -- console [--minutes 2] [--rounds 5] [--only NAMES] [--write]
  Minutes are those over which the memory of the page is watched; 30 show what the page is to hold.
  NAMES are of ${PARTS}.
  With --write the report goes to bench/RESULTS-console.md as well.
`;
const DIST = fileURLToPath(new URL("../packages/secure-local/dist/", import.meta.url));
const COMMAND = join(DIST, "mcp-secure-local.cjs");
const RESULTS = fileURLToPath(new URL("RESULTS-console.md", import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const POLICY = 'version: "1.0"\ntools: { allowed: [calculate], rate_limits: { default: 1000000 } }\n';
const RECORDS = 100_000;
/** Calls a second while it is measured how soon they are seen, and seconds of that. */
const RATE = 500;
const RATE_SECONDS = 10;
/** Calls of the serving process in one round, and how many a second. */
const SERVED = 2_000;
const SERVED_RATE = 400;
/** Calls a second while memory is watched, and what the page is filled with before. */
const WATCHED_RATE = 50;
const FILLED = 6_000;

/** A folder of its own with a policy, and what runs in it. */
class Place {
  home = mkdtempSync(join(tmpdir(), "bench-console-"));
  policy = join(this.home, "policy.yaml");
  log = join(this.home, "state/mcp-secure-local/audit.log");
  children = [];
  #ids = 0;

  constructor(records = 0) {
    writeFileSync(this.policy, POLICY, { mode: 0o600 });
    mkdirSync(join(this.home, "state/mcp-secure-local"), { recursive: true, mode: 0o700 });
    if (records > 0) this.write(records / 2);
  }

  /**
   * Records of calls that ended well, as a server writes them but for the chain, which the page does not read.
   * Returns the time that stands in them.
   */
  write(calls) {
    const lines = [];
    const now = Date.now();
    for (let count = 0; count < calls; count += 1) {
      const about = {
        time: new Date(now).toISOString(),
        id: (this.#ids += 1),
        connection: 1,
        method: "tools/call",
        tool: "calculate",
      };
      const decision = { allowed: true, rule: "tools.allowed: calculate", line: 2 };
      lines.push(
        JSON.stringify({
          kind: "call.intent",
          ...about,
          client: "bench 1",
          arguments: { expression: `${now}` },
          decision,
        }),
      );
      lines.push(JSON.stringify({ kind: "call.result", ...about, duration_ms: 1, outcome: "ok" }));
    }
    appendFileSync(this.log, `${lines.join("\n")}\n`, { mode: 0o600 });
    return now;
  }

  start(words) {
    const env = {
      ...process.env,
      HOME: this.home,
      XDG_STATE_HOME: join(this.home, "state"),
      XDG_CONFIG_HOME: join(this.home, "config"),
    };
    const child = spawn(process.execPath, [COMMAND, ...words, "--policy", this.policy], {
      env,
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.children.push(child);
    return child;
  }

  /** The address that the console prints. */
  async console() {
    const lines = createInterface(this.start(["console"]).stdout)[Symbol.asyncIterator]();
    return (await lines.next()).value;
  }

  /** Ends what was started last. */
  async endLast() {
    const child = this.children.pop();
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  async end() {
    await Promise.all(this.children.map((child) => (child.kill("SIGKILL"), child.exitCode ?? once(child, "exit"))));
    rmSync(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

export async function main(argv) {
  let values;
  try {
    const options = {
      minutes: { type: "string", default: "2" },
      rounds: { type: "string", default: "5" },
      only: { type: "string", default: PARTS },
      write: { type: "boolean", default: false },
    };
    ({ values } = parseArgs({ args: argv, options }));
    const unknown = values.only.split(",").find((name) => !PARTS.split(",").includes(name));
    if (unknown !== undefined) throw new Error(`--only ${unknown}: there is no such part`);
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return 2;
  }
  if (!existsSync(CHROMIUM)) {
    process.stdout.write(`skipped: there is no ${CHROMIUM}; install Chromium, or name one in CHROMIUM\n`);
    return 0;
  }
  const [minutes, rounds] = [Number(values.minutes), Number(values.rounds)];
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"],
  });
  const parts = {
    size: () => [sizeRow()],
    opening: () => openingRows(browser, rounds),
    seen: async () => [await seenRow(browser)],
    served: () => servedRows(browser, rounds),
    memory: async () => [await memoryRow(browser, minutes)],
  };
  const rows = [];
  try {
    for (const name of values.only.split(",")) rows.push(...(await parts[name]()));
  } finally {
    await browser.close();
  }
  const report = `# The console

\`npm run bench -- console --minutes ${values.minutes} --rounds ${values.rounds}\`, ${machine()} What is compared was taken by turns.

${table(
  ["what", "measured", "at most", "verdict"],
  rows.map(({ what, measured, limit, holds }) => [
    what,
    measured,
    limit,
    holds === undefined ? "-" : holds ? "pass" : "MISSED",
  ]),
)}
`;
  process.stdout.write(report);
  if (values.write) writeFileSync(RESULTS, report);
  return rows.every(({ holds }) => holds) ? 0 : 1;
}

function sizeRow() {
  const folder = join(DIST, "console");
  const bytes = readdirSync(folder)
    .filter((name) => name.endsWith(".br"))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  return {
    what: "the page, compressed",
    measured: `${fixed(bytes / 1024, 1)} KB`,
    limit: "60 KB",
    holds: bytes <= 60 * 1024,
  };
}

/** From the address to the first picture with data, by the processor time of the page, and by the clock. */
async function openingRows(browser, rounds) {
  const places = { empty: new Place(), full: new Place(RECORDS) };
  const addresses = {};
  for (const [name, place] of Object.entries(places)) addresses[name] = await place.console();
  const times = { empty: [], full: [] };
  const work = { empty: [], full: [] };
  // The first page of each signs in; those that are measured are of a browser that is.
  const contexts = {};
  for (const name of Object.keys(places)) {
    contexts[name] = await browser.newContext();
    await opened(contexts[name], addresses[name]);
  }
  for (let round = 0; round < rounds; round += 1)
    for (const name of Object.keys(places)) {
      const { page, ms, workMs } = await opened(contexts[name], new URL(addresses[name]).origin);
      times[name].push(ms);
      work[name].push(workMs);
      await page.close();
    }
  await Promise.all(Object.values(places).map((place) => place.end()));
  return [
    ratioRow(`opening with ${RECORDS} records, by the clock`, times),
    { ...ratioRow(`the same, by the work of the page`, work), limit: "-", holds: true },
  ];
}

function ratioRow(what, { empty, full }) {
  const ratio = median(full) / median(empty);
  const measured = `${fixed(ratio, 2)} times an empty page (${fixed(median(full), 0)} of ${fixed(median(empty), 0)} ms)`;
  return { what, measured, limit: "1.5 times", holds: ratio <= 1.5 };
}

async function opened(context, address) {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const from = performance.now();
  await page.goto(address);
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  await page.locator(".facts, .empty").first().waitFor();
  const ms = performance.now() - from;
  const { metrics } = await session.send("Performance.getMetrics");
  const workMs = 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
  return { page, ms, workMs, session };
}

/** From the moment in a record to the moment in which its row is in the page. */
async function seenRow(browser) {
  const place = new Place(2);
  const { page } = await opened(await browser.newContext(), await place.console());
  await page.evaluate('location.hash = "/calls"');
  await page.locator(".call").first().waitFor();
  await page.evaluate(`
    window.looks = [];
    let last = 0;
    new MutationObserver(() => {
      const newest = Number(document.querySelector(".call [role=cell]:nth-child(3)")?.textContent);
      if (!(newest > last)) return;
      window.looks.push([Date.now(), newest]);
      last = newest;
    }).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
  `);
  const tick = 20;
  const written = [];
  for (let sent = 0, from = performance.now(); sent < RATE * RATE_SECONDS;) {
    const due = Math.min(RATE * RATE_SECONDS, Math.floor(((performance.now() - from) / 1_000) * RATE));
    if (due > sent) written.push(place.write(due - sent));
    sent = Math.max(sent, due);
    await wait(tick);
  }
  await wait(1_000);
  const delays = longestWaits(await page.evaluate("window.looks"), written).sort((a, b) => a - b);
  await place.end();
  const p99 = delays[Math.min(delays.length - 1, Math.floor(delays.length * 0.99))] ?? Infinity;
  const measured = `${fixed(median(delays), 0)} ms (p50), ${fixed(p99, 0)} (p99), ${fixed(delays.at(-1), 0)} (worst) of ${delays.length} looks`;
  return { what: `a record seen at ${RATE} calls a second`, measured, limit: "250 ms (p99)", holds: p99 <= 250 };
}

/** Of what came into view at once, the record that was written first has waited longest. */
function longestWaits(looks, written) {
  let before = 0;
  return looks.flatMap(([at, newest]) => {
    const first = written.find((time) => time > before);
    before = newest;
    return first === undefined || first > newest ? [] : [at - first];
  });
}

/**
 * The processor time of one serving process by turns: with a console open, and with none. A console and a browser at work
 * take caches and cores from whatever runs beside them: so calls are also made while the console of another place shows as
 * many records that no server wrote. What is more than that is what the serving process itself pays.
 */
async function servedRows(browser, rounds) {
  const [place, other] = [new Place(), new Place(2)];
  const ask = await client(place);
  await opened(await browser.newContext(), await other.console());
  await ask.calls(4 * SERVED);
  const spent = { alone: [], watched: [], beside: [] };
  for (let round = 0; round < Math.max(3, rounds); round += 1) {
    spent.alone.push(await spentOn(ask));
    spent.beside.push(await spentOn(ask, (calls) => other.write(calls)));
    const context = await browser.newContext();
    await opened(context, await place.console());
    spent.watched.push(await spentOn(ask));
    await context.close();
    await place.endLast();
  }
  await Promise.all([place, other].map((each) => each.end()));
  const what = "processor time of the serving process, a console open";
  return [
    servedRow(`${what}, beside as much work of another console`, spent.watched, spent.beside),
    { ...servedRow(`${what}, beside an idle machine`, spent.watched, spent.alone), limit: "-", holds: undefined },
  ];
}

/** Seconds of processor time for `SERVED` calls; those before are for the machine to come to rest. */
async function spentOn(ask, also) {
  await ask.calls(SERVED_RATE, also);
  const before = cpuOf(ask.pid);
  await ask.calls(SERVED, also);
  return cpuOf(ask.pid) - before;
}

function servedRow(what, watched, unwatched) {
  const [mine, theirs] = [median(watched), median(unwatched)];
  const more = (mine / theirs - 1) * 100;
  const measured = `${fixed(Math.abs(more), 1)} % ${more < 0 ? "less" : "more"} (${fixed((mine * 1e6) / SERVED, 0)} of ${fixed((theirs * 1e6) / SERVED, 0)} µs a call)`;
  return { what, measured, limit: "5 % more", holds: more <= 5 };
}

async function client(place) {
  const child = place.start([]);
  const waiting = new Map();
  createInterface(child.stdout).on("line", (line) => {
    const { id } = JSON.parse(line);
    waiting.get(id)?.();
    waiting.delete(id);
  });
  let ids = 0;
  const ask = (method, params) => {
    const id = (ids += 1);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  await ask("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  });
  return {
    pid: child.pid,
    /** @param also told of how many calls each write is */
    async calls(count, also) {
      const all = [];
      for (let sent = 0, from = performance.now(); sent < count;) {
        const due = Math.min(count, Math.ceil(((performance.now() - from) / 1_000) * SERVED_RATE));
        if (due > sent) also?.(due - sent);
        for (; sent < due; sent += 1)
          all.push(ask("tools/call", { name: "calculate", arguments: { expression: "6 * 7" } }));
        await wait(5);
      }
      await Promise.all(all);
    },
  };
}

/** Seconds. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** What the page holds after a collection, at the beginning and at the end of the time. */
async function memoryRow(browser, minutes) {
  const place = new Place(2 * FILLED);
  const { page, session } = await opened(await browser.newContext(), await place.console());
  await page.evaluate('location.hash = "/calls"');
  place.write(FILLED);
  await session.send("HeapProfiler.enable");
  const held = [];
  const looks = Math.max(12, Math.round(minutes * 6));
  for (let look = 0; look < looks; look += 1) {
    const until = performance.now() + (minutes * 60_000) / looks;
    while (performance.now() < until) {
      place.write(WATCHED_RATE / 5);
      await wait(200);
    }
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    held.push(usedSize / 2 ** 20);
  }
  await place.end();
  const third = Math.floor(looks / 3);
  const [first, last] = [median(held.slice(0, third)), median(held.slice(-third))];
  const measured = `${fixed(first, 1)} MB in the first third, ${fixed(last, 1)} in the last of ${minutes} minutes`;
  return { what: "memory of the page", measured, limit: "level (10 % more)", holds: last <= first * 1.1 };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
