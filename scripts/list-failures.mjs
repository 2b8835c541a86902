#!/usr/bin/env node
// Prints each failed test of a run, file and name and the first lines of its error, from vitest's JSON report.
//
// list-failures.mjs REPORT CODE NAME: CODE is the exit code of the run. A run that failed in another way than by a
// test says so. Prints nothing for a run in which all went well.
import { listFailures, readReport } from "./lib/test-report.mjs";

const [report = "", code = "1", run = "the tests"] = process.argv.slice(2);
for (const lines of listFailures(readReport(report), Number(code))) console.log(`${run}: ${lines.join("\n")}`);
