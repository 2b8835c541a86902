// Loaded before the product: at SIGUSR2 it collects garbage and appends what is really held to the file SOAK_PROBE.
import { appendFileSync, readdirSync } from "node:fs";

let uncaught = 0;
process.on("uncaughtExceptionMonitor", () => (uncaught += 1));
process.on("SIGUSR2", () => {
  // The first pass may only mark what weak references free.
  globalThis.gc();
  globalThis.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  const kinds = {};
  for (const kind of process.getActiveResourcesInfo()) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const descriptors = readdirSync("/proc/self/fd").length - 1;
  appendFileSync(
    process.env.SOAK_PROBE,
    `${JSON.stringify({ rss, heapUsed, external, descriptors, kinds, uncaught })}\n`,
  );
});
