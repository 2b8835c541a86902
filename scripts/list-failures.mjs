#!/usr/bin/env node
// Prints each failed test of a run, file and name and the first lines of its error, from vitest's JSON report.
//
// list-failures.mjs REPORT CODE NAME: CODE is the exit code of the run. A run that failed in another way than by a
// test says so. Prints nothing for a run in which all went well.
import { existsSync, readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { root } from "./lib/run-command.mjs";

// Enough for what was expected and what came; the whole of it stands further up, where the test ran.
const ERROR_LINES = 10;

const [report = "", code = "1", run = "the tests"] = process.argv.slice(2);

// What vitest writes into its report instead of the words of a test that took too long.
const TIMED_OUT = "Error: STACK_TRACE_ERROR";

// oxlint-disable-next-line no-control-regex: colours are control characters.
const plain = (text) => text.replaceAll(/\u001B\[[0-9;]*m/g, "").replaceAll(TIMED_OUT, "It timed out");

function firstLines(text) {
  const lines = plain(text)
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.includes("/node_modules/"));
  return lines.slice(0, ERROR_LINES).map((line) => `    ${line.replaceAll(`${root}${sep}`, "")}`);
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

function told() {
  if (!existsSync(report)) return [["no report was written: the run did not come to its end"]];
  const found = [...failures(JSON.parse(readFileSync(report, "utf8")))];
  if (found.length > 0 || code === "0") return found;
  return [[`no test failed, but the run ended with exit code ${code}`]];
}

for (const [title, ...lines] of told()) console.log([`${run}: ${title}`, ...lines].join("\n"));
