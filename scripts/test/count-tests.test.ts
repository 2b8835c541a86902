// Counts made-up reports: what is not a pass must never be summed up as "0 failed".
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const script = join(dirname(dirname(fileURLToPath(import.meta.url))), "count-tests.mjs");
const folder = mkdtempSync(join(tmpdir(), "count-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function count(report: object | undefined, code: number): string {
  const path = join(folder, report ? "report.json" : "missing.json");
  if (report) writeFileSync(path, JSON.stringify(report));
  return spawnSync(process.execPath, [script, path, String(code)], { encoding: "utf8" }).stdout.trim();
}

it.each([
  ["a good run", { numPassedTests: 7, numFailedTests: 0 }, 0, "7 0"],
  ["failed tests", { numPassedTests: 5, numFailedTests: 2 }, 1, "5 2"],
  ["a file that did not load", { numPassedTests: 7, numFailedTests: 0 }, 1, "7 1"],
  ["no test at all", { numPassedTests: 0, numFailedTests: 0 }, 0, "0 1"],
  ["no report", undefined, 0, "0 1"],
])("counts %s", (_what, report, code, expected) => {
  expect(count(report, code)).toBe(expected);
});
