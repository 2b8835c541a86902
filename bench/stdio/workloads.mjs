// The workloads: each drives one freshly started server once and returns what it measured.
import { setTimeout as delay } from "node:timers/promises";
import { cpuNanoseconds, residentBytes } from "../measure/process-stats.mjs";
import { INITIALIZE, startServer } from "../measure/raw-client.mjs";
import { quantile } from "../measure/statistics.mjs";
import { callLine, callLines, checkAnswers, LARGE_TEXT, listLine } from "./requests.mjs";

/** The accounting of a thread that has just gone to sleep is complete after a scheduler tick or two. */
const SETTLE_MS = 10;
const IN_FLIGHT = 64;
/** Large enough that one call dwarfs the pipe's buffer, few enough that a run takes a second. */
const LARGE_WARM_UP = 10;
const LIST_WARM_UP = 5;
const LIST_TOOLS = 1_000;
const IDLE_MS = 300;

/** W1: many small calls, 64 in flight. CPU microseconds of the server a call, and calls a second. */
export async function throughput(server, { calls }) {
  return withClient(server, [], async (client) => {
    const warmUp = Math.min(calls, 20_000);
    checkAnswers(await client.pump(callLines(server.asks, 0, warmUp), IN_FLIGHT), server.asks, {
      first: 0,
      count: warmUp,
    });
    const requests = callLines(server.asks, warmUp, calls);
    const measured = await clocked(client, () => client.pump(requests, IN_FLIGHT));
    checkAnswers(measured.value, server.asks, { first: warmUp, count: calls });
    return { cpuMicros: measured.cpu / calls / 1e3, perSecond: (calls / measured.wall) * 1e9 };
  });
}

/** W2: one call at a time. Microseconds from the write to the answer: p50 and p99. */
export async function latency(server, { calls }) {
  return withClient(server, [], async (client) => {
    const warmUp = Math.min(calls, 2_000);
    await client.pump(callLines(server.asks, 0, warmUp), 1);
    const answers = [];
    const micros = [];
    for (const line of callLines(server.asks, warmUp, calls)) {
      const from = performance.now();
      answers.push(await client.exchange(line));
      micros.push((performance.now() - from) * 1e3);
    }
    checkAnswers(answers, server.asks, { first: warmUp, count: calls });
    return { p50: quantile(micros, 0.5), p99: quantile(micros, 0.99) };
  });
}

/** W5: from spawn to the first answer and to the answer of the first tool call, and memory when idle. */
export async function start(server) {
  const from = performance.now();
  const client = startServer(server);
  try {
    await client.exchange(`${JSON.stringify(INITIALIZE)}\n`);
    const ready = performance.now() - from;
    client.notify("notifications/initialized");
    const answer = await client.exchange(callLine(0, server.asks.call(0)));
    const firstCall = performance.now() - from;
    checkAnswers([answer], server.asks, { first: 0, count: 1 });
    await delay(IDLE_MS);
    return { ready, firstCall, idleMB: residentBytes(client.pid) / 2 ** 20 };
  } finally {
    await client.stop();
  }
}

/** W6: a million characters there and back. CPU microseconds of the server a call. */
export async function large(server, { calls }) {
  const asks = { call: () => ["echo", { text: LARGE_TEXT }], expected: () => LARGE_TEXT };
  return withClient(server, [], async (client) => {
    checkAnswers(await client.pump(callLines(asks, 0, LARGE_WARM_UP), 1), asks, { first: 0, count: LARGE_WARM_UP });
    const first = LARGE_WARM_UP;
    let lastAnswer;
    const measured = await clocked(client, async () => {
      for (const line of callLines(asks, first, calls)) lastAnswer = await client.exchange(line);
    });
    checkAnswers([lastAnswer], asks, { first: first + calls - 1, count: 1 });
    return { cpuMicros: measured.cpu / calls / 1e3 };
  });
}

/** W7: the whole list of 1,000 tools, every page of it. CPU microseconds of the server and wall microseconds a list. */
export async function list(server, { calls }) {
  return withClient(server, ["--tools", String(LIST_TOOLS)], async (client) => {
    for (let id = 0; id < LIST_WARM_UP; id += 1) checkList(await wholeList(client, id));
    let pages;
    const measured = await clocked(client, async () => {
      for (let id = 0; id < calls; id += 1) pages = await wholeList(client, id);
    });
    checkList(pages);
    const bytes = pages.reduce((total, page) => total + page.length, 0);
    return {
      cpuMicros: measured.cpu / calls / 1e3,
      wallMicros: measured.wall / calls / 1e3,
      bytes,
      pages: pages.length,
    };
  });
}

async function wholeList(client, id) {
  const pages = [await client.exchange(listLine(id))];
  for (let cursor = nextCursor(pages[0]); cursor !== undefined; cursor = nextCursor(pages.at(-1))) {
    pages.push(await client.exchange(listLine(id, cursor)));
  }
  return pages;
}

/** The cursor of a page, found without parsing the page. */
function nextCursor(page) {
  const at = page.lastIndexOf('"nextCursor":"');
  return at === -1 ? undefined : /^"nextCursor":"([^"]*)"/.exec(page.toString("latin1", at))?.[1];
}

function checkList(pages) {
  const names = pages.flatMap((page) => JSON.parse(page.toString("utf8")).result.tools.map((tool) => tool.name));
  if (new Set(names).size !== LIST_TOOLS)
    throw new Error(`the list names ${new Set(names).size} of ${LIST_TOOLS} tools`);
}

async function withClient(server, options, use) {
  const client = startServer({ ...server, args: [...server.args, ...options] });
  try {
    await client.initialize();
    return await use(client);
  } finally {
    await client.stop();
  }
}

/** Runs `work` and returns what the server's CPU and the clock say about it, in nanoseconds. */
async function clocked(client, work) {
  await delay(SETTLE_MS);
  const cpuBefore = cpuNanoseconds(client.pid);
  const from = performance.now();
  const value = await work();
  const wall = (performance.now() - from) * 1e6;
  await delay(SETTLE_MS);
  return { value, wall, cpu: cpuNanoseconds(client.pid) - cpuBefore };
}
