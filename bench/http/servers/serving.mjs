// How every HTTP server of the bench is told what to do and says where it listens, and how it tells its memory.
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

/** What `--mode` asks for: `json`, `sse`, `alone` or `modern`. */
export const mode = process.argv[process.argv.indexOf("--mode") + 1];

/** Listens on a port of the system's choice, says so, and returns it. */
export async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  listening(port);
  return port;
}

/** Says where this process listens. */
export function listening(port) {
  process.send({ port });
}

/** Rounds of collection after which nothing that could go is left. */
const COLLECTIONS = 4;
process.on("message", async (asked) => {
  if (asked !== "memory") return;
  for (let round = 0; round < COLLECTIONS; round += 1) {
    globalThis.gc();
    await delay(20);
  }
  const { heapUsed, rss } = process.memoryUsage();
  process.send({ heapUsed, rss });
});
process.on("disconnect", () => process.exit());
// A server that has nothing left to do ends, as it would without the bench.
process.channel.unref();
