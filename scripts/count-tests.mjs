#!/usr/bin/env node
// Prints "PASSED FAILED" for a run of the tests, from vitest's JSON report and the exit code of the run.
import { countTests, readReport } from "./lib/test-report.mjs";

const [report = "", code = "1"] = process.argv.slice(2);
const { passed, failed } = countTests(readReport(report), Number(code));
console.log(`${passed} ${failed}`);
