// Loaded before the product: at SIGUSR2 it collects garbage and appends what is really held to the file SOAK_PROBE. Where there
// is a file of that name and `.want`, it first writes a snapshot of the heap to that of `.heapsnapshot`.
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { writeHeapSnapshot } from "node:v8";

let uncaught = 0;
process.on("uncaughtExceptionMonitor", () => (uncaught += 1));
process.on("SIGUSR2", () => {
  // The first pass may only mark what weak references free.
  globalThis.gc();
  globalThis.gc();
  const wish = `${process.env.SOAK_PROBE}.want`;
  if (existsSync(wish)) {
    writeHeapSnapshot(`${process.env.SOAK_PROBE}.heapsnapshot`);
    rmSync(wish);
  }
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  // Pages of files, such as the engine's own code, come and go with what is run and with the system's need.
  const anonymous = 1024 * Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1]);
  const kinds = {};
  for (const kind of process.getActiveResourcesInfo()) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const descriptors = readdirSync("/proc/self/fd").length - 1;
  appendFileSync(
    process.env.SOAK_PROBE,
    `${JSON.stringify({ rss, anonymous, heapUsed, heapTotal, external, descriptors, kinds, uncaught })}\n`,
  );
});
