// Reads vitest's JSON report of a run of the tests: how many passed and failed, and what failed with which words.
import { existsSync, readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { root } from "./run-command.mjs";

// Enough for what was expected and what came; the whole of it stands further up, where the test ran.
const ERROR_LINES = 10;
// What vitest writes into its report instead of the words of a test that took too long.
const TIMED_OUT = "Error: STACK_TRACE_ERROR";

/** The report in a file, or undefined when there is none: the run did not come to its end. */
export function readReport(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/**
 * Numbers of tests that passed and failed. A run that failed in another way than by a test (a file that does not load, a
 * crash, no report) is one failure. `code` is the exit code of the run.
 */
export function countTests(report, code) {
  const { numPassedTests = 0, numFailedTests = 0 } = report ?? {};
  const silent = numFailedTests === 0 && (code !== 0 || numPassedTests === 0);
  return { passed: numPassedTests, failed: numFailedTests + (silent ? 1 : 0) };
}

/** What failed: lists of lines, each beginning with the file and the name of the test. */
export function listFailures(report, code) {
  if (report === undefined) return [["no report was written: the run did not come to its end"]];
  const found = [...failures(report)];
  if (found.length > 0 || code === 0) return found;
  return [[`no test failed, but the run ended with exit code ${code}`]];
}

/** The files of the tests that failed; none when the run failed in another way than by its tests. */
export function failedFiles(report) {
  const failed = (report?.testResults ?? []).filter(({ status, assertionResults = [] }) => {
    return status === "failed" || assertionResults.some((test) => test.status === "failed");
  });
  return failed.map(({ name }) => relative(root, name));
}

function* failures({ testResults = [] }) {
  for (const { name, status, message = "", assertionResults = [] } of testResults) {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === "failed");
    for (const { fullName, failureMessages = [] } of failed) {
      yield [`${file} > ${fullName}`, ...firstLines(failureMessages.join("\n"))];
    }
    if (status === "failed" && failed.length === 0) yield [`${file} did not run`, ...firstLines(message)];
  }
}

function firstLines(text) {
  const lines = plain(text)
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.includes("/node_modules/"));
  return lines.slice(0, ERROR_LINES).map((line) => `    ${line.replaceAll(`${root}${sep}`, "")}`);
}

function plain(text) {
  // oxlint-disable-next-line no-control-regex: colours are control characters.
  return text.replaceAll(/\u001B\[[0-9;]*m/g, "").replaceAll(TIMED_OUT, "It timed out");
}
