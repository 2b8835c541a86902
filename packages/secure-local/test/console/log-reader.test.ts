// A log that is read: what was read stays known, so that records taken from its end are missed.
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LogReader } from "../../src/console/log-reader.js";

const record = (seq: number, kind = "start"): string =>
  `${JSON.stringify({ seq, prev: "0".repeat(64), time: "2026-11-23T00:00:00.000Z", kind })}\n`;
const records = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => record(from + index)).join("");

function reading(text: string): { readonly log: string; readonly reader: LogReader } {
  const folder = mkdtempSync(join(tmpdir(), "log-reader-"));
  const log = join(folder, "audit.log");
  writeFileSync(log, text);
  const reader = new LogReader(log, 0, () => undefined);
  onTestFinished(async () => {
    await reader.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { log, reader };
}

it.each([
  ["cuts records from its end", (log: string) => truncateSync(log, record(1).length * 3)],
  ["cuts records, and others follow", (log: string) => writeFileSync(log, records(1, 3) + record(4, "stop").repeat(9))],
  ["writes the last record anew", (log: string) => writeFileSync(log, records(1, 4) + record(5, "stops"))],
  [
    "puts a shorter one in its place",
    (log: string) => {
      writeFileSync(`${log}.new`, records(1, 3));
      renameSync(`${log}.new`, log);
    },
  ],
])("says so when somebody %s, and goes on behind that", async (_, change) => {
  const { log, reader } = reading(records(1, 5));
  await reader.look();
  expect([reader.records, reader.changed]).toEqual([5, undefined]);
  change(log);
  await reader.look();
  expect(reader.changed).toMatch(/had read 5 records of it, and the last of them is no longer there/);
  const before = reader.records;
  appendFileSync(log, record(99));
  await reader.look();
  expect(reader.records).toBe(before + 1);
});

it.each([
  ["is put away when it is full", (log: string) => renameSync(log, log.replace(".log", ".1.log"))],
  ["is put away and taken elsewhere", (log: string) => renameSync(log, `${log}.elsewhere`)],
])("says nothing of one that %s: the next one goes on where it ended", async (_, putAway) => {
  const { log, reader } = reading(records(1, 5));
  await reader.look();
  putAway(log);
  writeFileSync(log, records(6, 7));
  await reader.look();
  expect([reader.records, reader.changed]).toEqual([7, undefined]);
});

it("takes no unfinished line for a record, and misses none that stands in its place later", async () => {
  const { log, reader } = reading(`${records(1, 2)}{"seq":3,"unfinished and longer than the record that comes`);
  await reader.look();
  truncateSync(log, records(1, 2).length);
  appendFileSync(log, record(3));
  await reader.look();
  expect([reader.records, reader.changed]).toEqual([3, undefined]);
});

it("counts the same text written anew once", async () => {
  const { log, reader } = reading(records(1, 5));
  await reader.look();
  writeFileSync(`${log}.new`, readFileSync(log));
  renameSync(`${log}.new`, log);
  await reader.look();
  appendFileSync(log, record(6));
  await reader.look();
  expect([reader.records, reader.changed]).toEqual([6, undefined]);
});
