// The soak's yardstick: a program that does with each line what any server with a log must, and keeps nothing.
//
// Each line is read as JSON, recorded and synced, worked on for a moment, recorded and synced again, and answered. What
// becomes slower here does so by the machine or by who measures.
import { createHash } from "node:crypto";
import { closeSync, fdatasync, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const sync = promisify(fdatasync);
/** About as long as an audit record. */
const RECORD = `${"r".repeat(400)}\n`;
/** The log begins anew after so many records, so that it does not fill the disk. */
const RECORDS_A_LOG = 10_000;
const ROUNDS = 20;

let [log, written] = [openSync(process.argv[2], "w"), 0];

async function record() {
  if ((written += 1) % RECORDS_A_LOG === 0) {
    closeSync(log);
    log = openSync(process.argv[2], "w");
  }
  writeSync(log, RECORD);
  await sync(log);
}

/** Something of which processor, memory and collector all have a part. */
function work(text) {
  let value = JSON.parse(text);
  for (let round = 0; round < ROUNDS; round += 1) {
    const hash = createHash("sha256").update(JSON.stringify(value)).digest("hex");
    value = JSON.parse(JSON.stringify({ ...value, hash }));
  }
  return value.hash;
}

for await (const line of createInterface({ input: process.stdin })) {
  await record();
  const { id } = JSON.parse(line);
  const text = work(line);
  await record();
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } })}\n`);
}
