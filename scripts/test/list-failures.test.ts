// Reads made-up reports: who sees only the end of a long run learns from it which tests failed, and with what.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { listFailures } from "../lib/test-report.mjs";

const scripts = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(scripts);
const passed = { fullName: "it works", status: "passed", failureMessages: [] };
const wrong = "AssertionError: expected \u001B[31m1\u001B[39m to be 2";
const trace = [`    at ${root}/a.test.ts:3:1`, `    at run (file://${root}/node_modules/vitest/run.js:1:1)`];
const failed = { fullName: "a group it breaks", status: "failed", failureMessages: [[wrong, ...trace].join("\n")] };

it("names file and test, and gives the error without colours and without the frames of the runner", () => {
  const report = {
    testResults: [{ name: `${root}/a.test.ts`, status: "failed", assertionResults: [passed, failed] }],
  };
  const lines = ["a.test.ts > a group it breaks", "    AssertionError: expected 1 to be 2", "        at a.test.ts:3:1"];
  expect(listFailures(report, 1)).toEqual([lines]);
  const folder = mkdtempSync(join(tmpdir(), "failures-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "report.json");
  writeFileSync(path, JSON.stringify(report));
  const args = [join(scripts, "list-failures.mjs"), path, "1", "npm test"];
  const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stdout).toBe(`npm test: ${lines.join("\n")}\n`);
  const files = spawnSync(process.execPath, [args[0] ?? "", "--files", ...args.slice(1)], { encoding: "utf8" });
  expect(files.stdout).toBe("a.test.ts\n");
});

it("tells a test that took too long from one that was wrong", () => {
  const late = { ...failed, failureMessages: ["Error: STACK_TRACE_ERROR\n    at x"] };
  const report = { testResults: [{ name: `${root}/a.test.ts`, status: "failed", assertionResults: [late] }] };
  expect(listFailures(report, 1)[0]?.[1]).toBe("    It timed out");
});

it.each([
  [
    "a file that does not load",
    { testResults: [{ name: `${root}/b.test.ts`, status: "failed", message: "Cannot find x", assertionResults: [] }] },
    1,
    [["b.test.ts did not run", "    Cannot find x"]],
  ],
  [
    "an error outside of the tests",
    { testResults: [{ name: `${root}/b.test.ts`, status: "passed", assertionResults: [passed] }] },
    1,
    [["no test failed, but the run ended with exit code 1"]],
  ],
  ["no report", undefined, 124, [["no report was written: the run did not come to its end"]]],
  ["a good run", { testResults: [{ name: "b", status: "passed", assertionResults: [passed] }] }, 0, []],
])("tells %s", (_what, report, code, expected) => {
  expect(listFailures(report, code)).toEqual(expected);
});
