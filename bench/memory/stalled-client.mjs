// A client that asks for 300 MB and does not read: how far does the server's memory grow, and is every byte right in the end?
import { setTimeout as delay } from "node:timers/promises";
import { LineSplitter } from "../measure/line-splitter.mjs";
import { cpuNanoseconds, peakBytes, residentBytes, resetPeak } from "../measure/process-stats.mjs";
import { startServer } from "../measure/raw-client.mjs";
import { callLine, excerpt } from "../stdio/requests.mjs";
import { blob } from "./blob.mjs";

const WARM_UP_CALLS = 5;
const SAMPLE_MS = 50;
/** The server has come to rest when it used next to no CPU for this long. */
const REST_MS = 1_000;
const REST_CPU_SHARE = 0.02;
const STALL_LIMIT_MS = 30_000;

/** What is asked, and how a line that comes back is checked off; `expected` lines must come in all. */
export const SCENARIOS = {
  calls: {
    title: "calls answered with 1 MB each",
    requests: (count) => Array.from({ length: count }, (_, n) => callLine(n, ["blob", { n }])).join(""),
    expected: (count) => count,
    check({ id, result }, open) {
      return open.delete(id) && result?.content?.[0]?.text === blob(id);
    },
  },
  flood: {
    title: "log notifications of 1 MB from one call, each awaited",
    requests: (count) => callLine("flood", ["flood", { n: count }]),
    expected: (count) => count + 1,
    check({ id, method, params, result }, open, seen) {
      if (id === "flood") return open.size === 0 && result?.content?.[0]?.text === "done";
      return method === "notifications/message" && open.delete(seen) && params.data === blob(seen);
    },
  },
};

/** Returns the server's growth in bytes while nobody read, and while everything was read afterwards. */
export async function stalledClient(server, scenario, count) {
  const client = startServer(server);
  try {
    await client.initialize();
    for (let n = 0; n < WARM_UP_CALLS; n += 1) await client.exchange(callLine(`warm${n}`, ["blob", { n }]));
    await delay(REST_MS);
    const before = residentBytes(client.pid);
    const peaks = resetPeak(client.pid);

    client.child.stdout.pause();
    client.child.stdin.write(scenario.requests(count));
    const sampled = await untilAtRest(client);
    const stalled = (peaks ? peakBytes(client.pid) : sampled) - before;

    const from = performance.now();
    await readAll(client, scenario, count);
    return { before, stalled, drained: peakBytes(client.pid) - before, drainMs: performance.now() - from };
  } finally {
    await client.stop();
  }
}

/** Waits until the server does nothing any more; returns the highest resident memory seen. */
async function untilAtRest(client) {
  let highest = 0;
  const from = performance.now();
  let restedSince = from;
  let cpu = cpuNanoseconds(client.pid);
  while (performance.now() - restedSince < REST_MS) {
    await delay(SAMPLE_MS);
    const now = performance.now();
    if (now - from > STALL_LIMIT_MS)
      throw new Error(`the server was still busy after ${STALL_LIMIT_MS / 1000} s unread`);
    highest = Math.max(highest, residentBytes(client.pid));
    const used = cpuNanoseconds(client.pid) - cpu;
    cpu += used;
    if (used > SAMPLE_MS * 1e6 * REST_CPU_SHARE) restedSince = now;
  }
  return highest;
}

async function readAll(client, scenario, count) {
  const open = new Set(Array.from({ length: count }, (_, index) => index));
  const lines = new LineSplitter();
  let seen = 0;
  let wrong;
  const finished = client.read((chunk, done) => {
    lines.push(chunk, (line) => {
      if (!scenario.check(JSON.parse(line), open, seen)) wrong ??= `line ${seen} is wrong: ${excerpt(line)}`;
      seen += 1;
    });
    if (seen >= scenario.expected(count) || wrong !== undefined) done();
  });
  client.child.stdout.resume();
  await finished;
  if (wrong !== undefined) throw new Error(wrong);
  if (open.size > 0) throw new Error(`${open.size} of ${count} never came`);
}
