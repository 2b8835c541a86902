#!/usr/bin/env node
// Prints each failed test of a run, file and name and the first lines of its error, from vitest's JSON report.
//
// list-failures.mjs [--files] REPORT CODE NAME: CODE is the exit code of the run. A run that failed in another way than
// by a test says so. Prints nothing for a run in which all went well. --files: only the files of the failed tests.
import { failedFiles, listFailures, readReport } from "./lib/test-report.mjs";

const files = process.argv[2] === "--files";
const [report = "", code = "1", run = "the tests"] = process.argv.slice(files ? 3 : 2);
if (files) for (const file of failedFiles(readReport(report))) console.log(file);
else for (const lines of listFailures(readReport(report), Number(code))) console.log(`${run}: ${lines.join("\n")}`);
