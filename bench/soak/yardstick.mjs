// Calls a bare server beside the soak's own ones, all the while: how much slower it becomes is the machine's part.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { StdioClient } from "../faults/stdio-client.mjs";
import { Latencies } from "./series.mjs";

const BARE_SERVER = fileURLToPath(new URL("bare-server.mjs", import.meta.url));
/** Enough for a p99 of each window, and little beside what is measured. */
const CALLS_A_SECOND = 50;
/** About as long as a call of a tool. */
const TEXT = "x".repeat(200);

/**
 * Calls until `seconds` after now or until nobody wants it any more; resolves to the `Latencies`, in seconds since now.
 * Rejects when the server ends.
 */
export async function yardstick(folder, seconds, signal) {
  const child = spawn(process.execPath, [BARE_SERVER, join(folder, "bare-server.log")], { stdio: "pipe" });
  const client = new StdioClient(child);
  const latencies = new Latencies();
  const start = performance.now();
  const now = () => (performance.now() - start) / 1_000;
  for (let made = 0; now() < seconds && !signal.aborted; made += 1) {
    const at = now();
    const { ms, gone } = await client.call("work", { n: made, text: TEXT });
    if (gone !== undefined) throw new Error(`the bare server ended: ${client.stderr.slice(-500)}`);
    latencies.add(at, ms);
    await delay(Math.max(1, 1_000 * ((made + 1) / CALLS_A_SECOND - now())));
  }
  await client.stop();
  return latencies;
}
