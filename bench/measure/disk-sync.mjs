// What this machine's disk asks for one record that must survive a crash.
import { closeSync, fdatasync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { median } from "./statistics.mjs";

const ROUNDS = 300;
/** About as long as an audit record. */
const RECORD = `${"r".repeat(400)}\n`;
const sync = promisify(fdatasync);

/** Median microseconds of an append and its fdatasync in `folder`. */
export async function appendAndSyncMicros(folder) {
  const file = openSync(join(folder, "disk-sync"), "a");
  const micros = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = performance.now();
    writeSync(file, RECORD);
    await sync(file);
    micros.push((performance.now() - from) * 1e3);
  }
  closeSync(file);
  return median(micros);
}
