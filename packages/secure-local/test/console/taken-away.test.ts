// Records that the console cannot show: of a log that somebody took away, and those that were archived.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { LogState, LookedThrough, Verification } from "@secure-local/console/api";
import { AuditLog } from "../../src/audit/audit-log.js";
import { CheckpointWriter, checkpointKey } from "../../src/audit/checkpoint.js";
import { Watched } from "./running.js";

const LONG = 60_000;
const POLICY = `version: "1.0"
tools: { allowed: [calculate] }
audit: { checkpoints: { file: NOTES/../checkpoints.jsonl, every_records: 1 } }
`;
const stateOf = (home: string): string => join(home, "state/mcp-secure-local");

/** A process that writes so many records into a log and ends. */
async function write(home: string, name: string, count: number): Promise<void> {
  const state = stateOf(home);
  const file = join(home, "checkpoints.jsonl");
  const key = checkpointKey(join(state, "audit-key.pem"));
  const writer = new CheckpointWriter({ file, key, everyRecords: 1, everyMs: 60_000, say: () => {} });
  const audit = await AuditLog.open(join(state, name), { checkpoints: writer });
  writer.begin(audit.file);
  for (let index = 0; index < count; index++) await audit.record({ kind: "denied", tool: `t${index}` });
  await audit.close();
}

function take(home: string, name: string): void {
  for (const each of readdirSync(stateOf(home))) if (each.startsWith(name)) rmSync(join(stateOf(home), each));
}

const verified = async (watched: Watched): Promise<Verification[]> =>
  JSON.parse((await watched.post("/api/verify", {})).text) as Verification[];

it("says that a log is missing that checkpoints know, read by this console or not", { timeout: LONG }, async () => {
  const watched = await Watched.start({ policy: POLICY });
  onTestFinished(() => watched.end());
  await write(watched.home, "audit.log", 2);
  await write(watched.home, "audit.2.log", 6);
  take(watched.home, "audit.2.log");
  await write(watched.home, "audit.3.log", 4);
  await expect.poll(async () => (await verified(watched)).filter(({ ok }) => ok).length).toBe(2);
  take(watched.home, "audit.3.log");
  expect((await verified(watched)).map(({ ok, reason }) => [ok, reason])).toEqual([
    [true, undefined],
    [false, "audit.3.log is missing: checkpoints remember it up to record 4"],
    [false, "audit.2.log is missing: checkpoints remember it up to record 6"],
  ]);
});

it("says that a log is gone that it had read, where no checkpoint knows it", { timeout: LONG }, async () => {
  const watched = await Watched.start({ policy: `version: "1.0"\n` });
  onTestFinished(() => watched.end());
  await write(watched.home, "audit.log", 2);
  await expect.poll(async () => (await verified(watched))[0]?.records).toBe(2);
  take(watched.home, "audit.log");
  expect((await verified(watched))[0]).toMatchObject({
    ok: false,
    reason: "its file is gone: this console had read 2 records of it",
  });
});
