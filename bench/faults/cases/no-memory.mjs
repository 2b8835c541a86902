// F12: large calls by the hundred where there is little memory. What does not fit is refused for now, and nobody is killed.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { arena } from "../arena.mjs";
import { startHttpProduct } from "../http-client.mjs";
import { startProduct } from "../stdio-client.mjs";

const LIMIT_MB = 256;
const MB = 2 ** 20;
const CALLS = 200;
const CHARS = 2 * MB;
const RECOVERY_MS = 5_000;

export async function run() {
  return [...(await overHttp()), ...(await overStdio())];
}

async function overHttp() {
  const group = memoryGroup();
  if (group === undefined) return [{ what: "cgroup of 256 MB", measured: "no cgroup can be made here", skipped: true }];
  const place = arena();
  const wrap = ["sh", "-c", `echo $$ > ${group}/cgroup.procs && exec "$@"`, "sh"];
  let server;
  try {
    server = await startHttpProduct(place, { wrap });
    const content = "x".repeat(CHARS);
    const callers = Array.from({ length: CALLS }, () => server.client());
    const write = (caller, n) => caller.call("write_file", { path: `${place.work}/big${n}.txt`, content });
    const outcomes = await Promise.all(callers.map(write));
    for (const caller of callers) caller.close();
    const recovered = await timeToServe(server);
    const peak = Number(readFileSync(`${group}/memory.max_usage_in_bytes`, "utf8")) / MB;
    const failures = Number(readFileSync(`${group}/memory.failcnt`, "utf8"));
    const how = server.hasEnded ? await server.exited : await server.stop();
    const done = outcomes.filter(({ ok }) => ok).length;
    const shed = outcomes.filter(
      ({ ok, error, retryAfter }) => !ok && (error?.data?.retryAfterMs > 0 || retryAfter > 0),
    );
    const other = outcomes.filter((outcome) => !outcome.ok && !shed.includes(outcome));
    const fault = place.auditFault();
    return [
      {
        what: `${CALLS} calls of ${CHARS / MB} MB at once over HTTP in ${LIMIT_MB} MB`,
        measured: `${done} done, ${shed.length} refused for now, ${other.length} otherwise${other.length === 0 ? "" : ` (${other[0].text.slice(0, 80)})`}; peak ${peak.toFixed(0)} MB, limit hit ${failures} times; small call served ${recovered === undefined ? "never" : `after ${recovered.toFixed(0)} ms`}; exit ${how}; ${fault ?? "audit verifies"}`,
        limit: "no kill, refusals are retryable, serves again",
        passed: how === 0 && other.length === 0 && recovered < RECOVERY_MS && fault === undefined,
      },
    ];
  } finally {
    server?.child.kill("SIGKILL");
    await server?.exited;
    removeGroup(group);
    place.remove();
  }
}

/** One client that sends all it has: it is read no faster than it is served. */
async function overStdio() {
  const group = memoryGroup();
  if (group === undefined) return [];
  const place = arena();
  const wrap = ["sh", "-c", `echo $$ > ${group}/cgroup.procs && exec "$@"`, "sh"];
  const client = startProduct(place, { wrap });
  try {
    await client.initialize();
    const content = "x".repeat(CHARS);
    const paths = Array.from({ length: CALLS }, (_, n) => `${place.work}/big${n}.txt`);
    const outcomes = await Promise.all(paths.map((path) => client.call("write_file", { path, content })));
    const small = await client.call("calculate", { expression: "2 + 2" });
    const peak = Number(readFileSync(`${group}/memory.max_usage_in_bytes`, "utf8")) / MB;
    const how = client.hasEnded ? await client.exited : await client.stop();
    const done = outcomes.filter(({ ok }) => ok).length;
    const shed = outcomes.filter(({ ok, error }) => !ok && error?.data?.retryAfterMs > 0).length;
    const fault = place.auditFault();
    return [
      {
        what: `${CALLS} calls of ${CHARS / MB} MB at once over stdio in ${LIMIT_MB} MB`,
        measured: `${done} done, ${shed} refused for now; peak ${peak.toFixed(0)} MB; small call ${small.ok ? "served" : small.text}; exit ${how}; ${fault ?? "audit verifies"}`,
        limit: "no kill, refusals are retryable, serves again",
        passed: done + shed === CALLS && small.ok && how === 0 && fault === undefined,
      },
    ];
  } finally {
    client.child.kill("SIGKILL");
    await client.exited;
    removeGroup(group);
    place.remove();
  }
}

/** A control group of its own (version 1), limited; undefined where that may not be made. */
function memoryGroup() {
  const group = `/sys/fs/cgroup/memory/mcp-secure-local-faults-${process.pid}`;
  try {
    mkdirSync(group);
    writeFileSync(`${group}/memory.limit_in_bytes`, String(LIMIT_MB * MB));
    return group;
  } catch {
    return undefined;
  }
}

function removeGroup(group) {
  try {
    rmdirSync(group);
  } catch {
    // Somebody is still ending in it; an empty group costs nothing.
  }
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
