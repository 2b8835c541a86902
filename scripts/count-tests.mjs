#!/usr/bin/env node
// Prints "PASSED FAILED" for a run of the tests, from vitest's JSON report and the exit code of the run.
import { existsSync, readFileSync } from "node:fs";

const [report = "", code = "1"] = process.argv.slice(2);

/** A run that failed in another way than by a test (a file that does not load, a crash, no report) is one failure. */
function count() {
  const { numPassedTests = 0, numFailedTests = 0 } = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : {};
  const silent = numFailedTests === 0 && (code !== "0" || numPassedTests === 0);
  return [numPassedTests, numFailedTests + (silent ? 1 : 0)];
}

console.log(count().join(" "));
