// Counts made-up reports: what is not a pass must never be summed up as "0 failed".
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { countTests, readReport } from "../lib/test-report.mjs";

const script = join(dirname(dirname(fileURLToPath(import.meta.url))), "count-tests.mjs");

it.each([
  ["a good run", { numPassedTests: 7, numFailedTests: 0 }, 0, { passed: 7, failed: 0 }],
  ["failed tests", { numPassedTests: 5, numFailedTests: 2 }, 1, { passed: 5, failed: 2 }],
  ["a file that did not load", { numPassedTests: 7, numFailedTests: 0 }, 1, { passed: 7, failed: 1 }],
  ["no test at all", { numPassedTests: 0, numFailedTests: 0 }, 0, { passed: 0, failed: 1 }],
  ["no report", readReport("missing.json"), 0, { passed: 0, failed: 1 }],
])("counts %s", (_what, report, code, expected) => {
  expect(countTests(report, code)).toEqual(expected);
});

it("prints both numbers of the report it is given", () => {
  const folder = mkdtempSync(join(tmpdir(), "count-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "report.json");
  writeFileSync(path, JSON.stringify({ numPassedTests: 5, numFailedTests: 2 }));
  expect(spawnSync(process.execPath, [script, path, "1"], { encoding: "utf8" }).stdout).toBe("5 2\n");
});
