// Logs beside a log are read whatever their number is: what this program never wrote lies there all the same.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { headPath } from "../../src/audit/log-file.js";
import { existingLogs, numberedLog, rememberedLogs } from "../../src/audit/log-writer.js";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "numbered-"));
  file = join(folder, "audit.log");
  const log = await AuditLog.open(file, { sync: false });
  await log.record({ kind: "call.intent", id: "1", tool: "t" });
  await log.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each([2, 32, 33, 40, 100, 999_999])("audit.%i.log is one of them", (number) => {
  const other = numberedLog(file, number);
  copyFileSync(file, other);
  expect(existingLogs(file)).toEqual([file, other]);
  expect(rememberedLogs(file)).toEqual([file, other]);
  rmSync(other);
  // Of one that was taken away the head is left.
  copyFileSync(headPath(file), headPath(other));
  expect(rememberedLogs(file)).toEqual([file, other]);
});

it("is remembered by the word of what was archived, and by no other file beside it", () => {
  const other = numberedLog(file, 40);
  for (const behind of [".new", ".lock-1", ".heads", ".archived.new", "x"]) writeFileSync(`${other}${behind}`, "x");
  expect(rememberedLogs(file, new Set(["audit.40.log"]))).toEqual([file]);
  writeFileSync(`${other}.archived`, "x");
  expect(rememberedLogs(file)).toEqual([file, other]);
});

it("in the order of their numbers, and nothing else", () => {
  for (const number of [100, 40, 9]) copyFileSync(file, numberedLog(file, number));
  for (const name of [
    "audit.040.log",
    "audit.40.log.lock-1",
    "audit.x.log",
    "audit.41.txt",
    "other.42.log",
    "audit.43.log.new",
  ])
    writeFileSync(join(folder, name), "x");
  expect(existingLogs(file)).toEqual([file, ...[9, 40, 100].map((number) => numberedLog(file, number))]);
});
