// F12: large calls by the hundred where there is little memory. What does not fit is refused for now, and nobody is killed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { residentBytes } from "../../measure/process-stats.mjs";
import { arena } from "../arena.mjs";
import { startHttpProduct } from "../http-client.mjs";
import { memoryGroup } from "../memory-group.mjs";
import { startProduct } from "../stdio-client.mjs";

const LIMIT_MB = 256;
const MB = 2 ** 20;
const CALLS = 200;
const CHARS = 2 * MB;
/** The longest file `read_file` takes: read and cut, it is some fifty megabytes on the way. */
const FILE_BYTES = 7.9 * MB;
const RECOVERY_MS = 5_000;
/** Of the limit; from 85 % on there is shedding. */
const [BELOW, ABOVE] = [0.75, 0.88];
const SHED_CALLS = 40;
/** How often the product looks at its memory. */
const LOOK_MS = 100;
const BALLAST = fileURLToPath(new URL("../ballast.mjs", import.meta.url));
const SLOW = `
import { definePlugin } from "mcp-secure-local/plugin";
export default definePlugin({ name: "slow", version: "1.0.0", tools: { wait: { description: "Waits",
  annotations: { readOnlyHint: true }, run: () => new Promise((resolve) => setTimeout(resolve, 3_000, "done")) } } });
`;

export async function run() {
  const rows = [];
  for (const measure of [bigRequests, bigAnswers, overStdio, threshold]) {
    const group = memoryGroup(LIMIT_MB);
    if (group === undefined)
      return [{ what: "cgroup of 256 MB", measured: "no cgroup can be made here", skipped: true }];
    const place = arena({
      tools: ["calculate", "write_file", "read_file", "slow_*"],
      load: measure === threshold ? ["slow"] : [],
    });
    try {
      rows.push(await measure(place, group));
    } finally {
      group.remove();
      place.remove();
    }
  }
  return rows;
}

function bigRequests(place, group) {
  const content = "x".repeat(CHARS);
  const write = (caller, n) => caller.call("write_file", { path: `${place.work}/big${n}.txt`, content });
  return overHttp(place, group, { what: `${CALLS} calls of ${CHARS / MB} MB`, call: write });
}

/** Small requests: what comes in says nothing of what they take. */
function bigAnswers(place, group) {
  const path = join(place.work, "big.txt");
  const line = "all work and no play\n";
  writeFileSync(path, line.repeat(Math.floor(FILE_BYTES / line.length)));
  return overHttp(place, group, {
    what: `${CALLS} reads of a file of ${FILE_BYTES / MB} MB`,
    call: (caller) => caller.call("read_file", { path }),
  });
}

async function overHttp(place, group, { what, call }) {
  const server = await startHttpProduct(place, { wrap: group.wrap });
  try {
    const callers = Array.from({ length: CALLS }, () => server.client());
    const outcomes = await Promise.all(callers.map(call));
    for (const caller of callers) caller.close();
    const recovered = await timeToServe(server);
    const { use } = group;
    const how = server.hasEnded ? await server.exited : await server.stop();
    const done = outcomes.filter(({ ok }) => ok).length;
    const shed = outcomes.filter(isForNow);
    const other = outcomes.filter((outcome) => !outcome.ok && !shed.includes(outcome));
    const fault = place.auditFault();
    return {
      what: `${what} at once over HTTP in ${LIMIT_MB} MB`,
      measured: `${done} done, ${shed.length} refused for now, ${other.length} otherwise${other.length === 0 ? "" : ` (${other[0].text.slice(0, 80)})`}; ${use}; small call served ${recovered === undefined ? "never" : `after ${recovered.toFixed(0)} ms`}; exit ${how}; ${fault ?? "audit verifies"}`,
      limit: "no kill, some are done, refusals are retryable, serves again",
      passed: how === 0 && done > 0 && other.length === 0 && recovered < RECOVERY_MS && fault === undefined,
    };
  } finally {
    server.child.kill("SIGKILL");
    await server.exited;
  }
}

/** One client that sends all it has: it is read no faster than it is served. */
async function overStdio(place, group) {
  const client = startProduct(place, { wrap: group.wrap });
  try {
    await client.initialize();
    const content = "x".repeat(CHARS);
    const paths = Array.from({ length: CALLS }, (_, n) => `${place.work}/big${n}.txt`);
    const outcomes = await Promise.all(paths.map((path) => client.call("write_file", { path, content })));
    const small = await client.call("calculate", { expression: "2 + 2" });
    const { use } = group;
    const how = client.hasEnded ? await client.exited : await client.stop();
    const done = outcomes.filter(({ ok }) => ok).length;
    const shed = outcomes.filter(isForNow).length;
    const fault = place.auditFault();
    return {
      what: `${CALLS} calls of ${CHARS / MB} MB at once over stdio in ${LIMIT_MB} MB`,
      measured: `${done} done, ${shed} refused for now; ${use}; small call ${small.ok ? "served" : small.text}; exit ${how}; ${fault ?? "audit verifies"}`,
      limit: "no kill, refusals are retryable, serves again",
      passed: done + shed === CALLS && small.ok && how === 0 && fault === undefined,
    };
  } finally {
    client.child.kill("SIGKILL");
    await client.exited;
  }
}

/** Memory is taken to a share below the bound, then above it, then let go, while one call is under way. */
async function threshold(place, group) {
  place.writePlugin("slow", { "plugin.mjs": SLOW });
  const seen = [];
  for (const share of [BELOW, ABOVE]) {
    const env = { FAULTS_BALLAST: String(share * LIMIT_MB * MB) };
    const node = ["--expose-gc", "--import", BALLAST];
    const server = await startHttpProduct(place, { wrap: group.wrap, node, env });
    try {
      seen.push(await heldAt(server, share * LIMIT_MB * MB));
    } finally {
      await server.stop();
    }
  }
  const [below, above] = seen;
  const told = ({ share, shed, health, metric }) =>
    `at ${(100 * share).toFixed(0)} % ${shed} of ${SHED_CALLS} refused with 503 and Retry-After, health ${health}, metric ${metric}`;
  return {
    what: `calls while another runs and so much of ${LIMIT_MB} MB is held`,
    measured: `${told(below)}; ${told(above)}, the one under way ${above.first}; let go: ${above.after}, health ${above.healthAfter}`,
    limit: "0 below 85 %, all above, then served again",
    passed:
      below.shed === 0 &&
      below.health === "ok" &&
      above.share > 0.85 &&
      above.shed === SHED_CALLS &&
      above.metric === String(SHED_CALLS) &&
      above.health === "degraded" &&
      above.first === "done" &&
      above.after === "served" &&
      above.healthAfter === "ok",
  };
}

async function heldAt(server, ballast) {
  const [slow, other] = [server.client(), server.client()];
  const wait = async () => (await slow.call("slow_wait")).text;
  for (const end = performance.now() + RECOVERY_MS; (await wait()) !== "done"; await delay(20)) {
    if (performance.now() > end) throw new Error("the plugin does not answer");
  }
  const first = wait();
  await settled(server, (bytes) => bytes >= ballast);
  const share = residentBytes(server.pid) / (LIMIT_MB * MB);
  let shed = 0;
  for (let n = 0; n < SHED_CALLS; n += 1) {
    const { status, retryAfter } = await other.call("calculate", { expression: "2 + 2" });
    if (status === 503 && retryAfter > 0) shed += 1;
  }
  const { status: health } = await server.health();
  const metric = /^mcp_secure_local_shed_total (\d+)$/m.exec(await server.metrics())?.[1];
  const text = await first;
  await settled(server, (bytes) => bytes < ballast - LIMIT_MB * MB * 0.1);
  const { ok } = await other.call("calculate", { expression: "2 + 2" });
  const after = { after: ok ? "served" : "refused", healthAfter: (await server.health()).status };
  for (const caller of [slow, other]) caller.close();
  return { share, shed, health, metric, first: text, ...after };
}

/** Has the server take or let go of its ballast, and waits until it has, and until it has looked. */
async function settled(server, reached) {
  process.kill(server.pid, "SIGUSR2");
  for (const end = performance.now() + RECOVERY_MS; !reached(residentBytes(server.pid)); await delay(20)) {
    if (performance.now() > end) throw new Error("the ballast is not as it should be");
  }
  await delay(2 * LOOK_MS);
}

function isForNow({ ok, error, retryAfter }) {
  return !ok && (error?.data?.retryAfterMs > 0 || retryAfter > 0);
}

async function timeToServe(server) {
  const from = performance.now();
  while (performance.now() - from < 2 * RECOVERY_MS && !server.hasEnded) {
    const caller = server.client();
    const { ok } = await caller.call("calculate", { expression: "2 + 2" });
    caller.close();
    if (ok) return performance.now() - from;
    await delay(20);
  }
  return undefined;
}
