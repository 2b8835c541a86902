// The HTTP workloads: each drives one freshly started server once and returns what it measured.
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ChildService } from "../measure/child-service.mjs";
import { cpuNanoseconds } from "../measure/process-stats.mjs";

const LOAD = fileURLToPath(new URL("load.mjs", import.meta.url));
/** The accounting of a thread that has just gone to sleep is complete after a scheduler tick or two. */
const SETTLE_MS = 10;
const CONNECTIONS = 32;
const WARM_UP = 10_000;
const LARGE_WARM_UP = 10;
const LIST_WARM_UP = 5;
const LIST_TOOLS = 1_000;
/** Sessions opened before the first reading: what is made once is made by then. */
const SESSION_WARM_UP = 500;

/** Many small calls over 32 connections. CPU microseconds of the server a call, and calls a second. */
export function throughput(mode) {
  return (server, settings) =>
    withServer(server, { mode, connections: CONNECTIONS }, async ({ service, load }) => {
      const calls = settings.calls * (server.share ?? 1);
      // The warm-up is the same for all, so that nobody is measured with code that is not compiled yet.
      const first = Math.min(settings.calls, WARM_UP);
      await load.run("calls", { kind: "small", first: 0, count: first });
      const { cpu, wall } = await clocked(service, () => load.run("calls", { kind: "small", first, count: calls }));
      return { cpuMicros: cpu / calls / 1e3, perSecond: (calls / wall) * 1e9 };
    });
}

/** W6: a million characters there and back, one call at a time. */
export function large(server, { calls }) {
  return withServer(server, { mode: "json", connections: 1 }, async ({ service, load }) => {
    await load.run("calls", { kind: "large", first: 0, count: LARGE_WARM_UP });
    const options = { kind: "large", first: LARGE_WARM_UP, count: calls };
    const { cpu } = await clocked(service, () => load.run("calls", options));
    return { cpuMicros: cpu / calls / 1e3 };
  });
}

/** W7: the whole list of 1,000 tools, every page of it. */
export function list(server, { calls }) {
  const args = ["--tools", String(LIST_TOOLS)];
  return withServer(server, { mode: "json", connections: 1, args }, async ({ service, load }) => {
    await load.run("list", { count: LIST_WARM_UP, tools: LIST_TOOLS });
    const { cpu, wall, bytes, pages } = await clocked(service, () =>
      load.run("list", { count: calls, tools: LIST_TOOLS }),
    );
    return { cpuMicros: cpu / calls / 1e3, wallMicros: wall / calls / 1e3, bytes, pages };
  });
}

/** W9: open sessions without a stream. Kilobytes of heap and of resident memory a session. */
export function openSessions(server, { sessions }) {
  const execArgv = ["--expose-gc"];
  return withServer(server, { mode: "json", connections: CONNECTIONS, execArgv }, async ({ service, load }) => {
    await load.run("sessions", { count: SESSION_WARM_UP });
    const before = await service.ask("memory");
    await load.run("sessions", { count: sessions });
    const after = await service.ask("memory");
    return {
      heapKB: (after.heapUsed - before.heapUsed) / sessions / 1024,
      rssKB: (after.rss - before.rss) / sessions / 1024,
    };
  });
}

async function withServer(server, { mode, connections, args = [], execArgv = [] }, use) {
  const service = new ChildService(server.script, {
    args: [...(server.args ?? []), "--mode", mode, ...args],
    env: server.env,
    execArgv: [...server.execArgv, ...execArgv],
  });
  const load = new ChildService(LOAD);
  try {
    const { port } = await service.hear();
    const accept = server.jsonOnly === true && mode !== "sse" ? "application/json" : undefined;
    const streams = mode === "sse" || server.streams?.includes(mode) === true;
    await load.run("open", { port, token: server.token, mode, accept, streams, connections });
    return await use({ service, load });
  } catch (error) {
    throw new Error(`${error.message}${service.complaint()}`, { cause: error });
  } finally {
    await Promise.all([service.stop(), load.stop()]);
  }
}

/** Runs `work` and returns what it returned with the server's CPU, in nanoseconds. */
async function clocked(service, work) {
  await delay(SETTLE_MS);
  const before = cpuNanoseconds(service.pid);
  const value = await work();
  await delay(SETTLE_MS);
  return { ...value, cpu: cpuNanoseconds(service.pid) - before };
}
