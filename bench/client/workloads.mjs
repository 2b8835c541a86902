// Has one client, in a process of its own, call the tools of a server that is in another one.
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ChildService } from "../measure/child-service.mjs";
import { cpuNanoseconds } from "../measure/process-stats.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const CALLER = here("caller.mjs");
/** The cheapest servers there are, so that the client is never the one who waits. */
const STDIO_SERVER = here("../stdio/servers/floor-b.mjs");
const HTTP_SERVERS = { json: here("../http/servers/floor.mjs"), modern: here("../http/servers/ours-library.mjs") };
/** The accounting of a thread that has just gone to sleep is complete after a scheduler tick or two. */
const SETTLE_MS = 10;
/** The same for all, so that nobody is measured with code that is not compiled yet. */
const WARM_UP = 5_000;

/** CPU microseconds of the client a call, and calls a second. */
export function calls(transport, mode) {
  return async (client, settings) => {
    const service =
      mode === undefined ? undefined : new ChildService(HTTP_SERVERS[mode], { args: ["--mode", mode], execArgv: [] });
    const caller = new ChildService(CALLER, { execArgv: client.execArgv });
    try {
      const target = service === undefined ? { args: [STDIO_SERVER] } : { port: (await service.hear()).port };
      await caller.run("open", { client: client.id, transport, modern: mode === "modern", ...target });
      return await measured(caller, { ...settings, calls: settings.calls * (client.share ?? 1) });
    } catch (error) {
      throw new Error(`${error.message}${caller.complaint()}`, { cause: error });
    } finally {
      await caller.run("close").catch(() => undefined);
      await Promise.all([service?.stop(), caller.stop()]);
    }
  };
}

async function measured(caller, { calls: count, inFlight }) {
  await caller.run("calls", { first: 0, count: WARM_UP, inFlight });
  await delay(SETTLE_MS);
  const before = cpuNanoseconds(caller.pid);
  const wall = await caller.run("calls", { first: WARM_UP, count, inFlight });
  await delay(SETTLE_MS);
  return { cpuMicros: (cpuNanoseconds(caller.pid) - before) / count / 1e3, perSecond: (count / wall) * 1e9 };
}
