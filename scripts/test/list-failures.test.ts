// Reads made-up reports: who sees only the end of a long run learns from it which tests failed, and with what.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const scripts = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(scripts);
const folder = mkdtempSync(join(tmpdir(), "failures-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function listed(report: object | undefined, code: number): string[] {
  const path = join(folder, report ? "report.json" : "missing.json");
  if (report) writeFileSync(path, JSON.stringify(report));
  const args = [join(scripts, "list-failures.mjs"), path, String(code), "npm test"];
  return spawnSync(process.execPath, args, { encoding: "utf8" }).stdout.trimEnd().split("\n");
}

const passed = { fullName: "it works", status: "passed", failureMessages: [] };
const wrong = "AssertionError: expected \u001B[31m1\u001B[39m to be 2";
const trace = [`    at ${root}/a.test.ts:3:1`, `    at run (file://${root}/node_modules/vitest/run.js:1:1)`];
const failed = { fullName: "a group it breaks", status: "failed", failureMessages: [[wrong, ...trace].join("\n")] };

it("names file and test, and gives the error without colours and without the frames of the runner", () => {
  const report = {
    testResults: [{ name: `${root}/a.test.ts`, status: "failed", assertionResults: [passed, failed] }],
  };
  expect(listed(report, 1)).toEqual([
    "npm test: a.test.ts > a group it breaks",
    "    AssertionError: expected 1 to be 2",
    "        at a.test.ts:3:1",
  ]);
});

it("tells a test that took too long from one that was wrong", () => {
  const late = { ...failed, failureMessages: ["Error: STACK_TRACE_ERROR\n    at x"] };
  const report = { testResults: [{ name: `${root}/a.test.ts`, status: "failed", assertionResults: [late] }] };
  expect(listed(report, 1)[1]).toBe("    It timed out");
});

it.each([
  [
    "a file that does not load",
    { testResults: [{ name: `${root}/b.test.ts`, status: "failed", message: "Cannot find x", assertionResults: [] }] },
    1,
    ["npm test: b.test.ts did not run", "    Cannot find x"],
  ],
  [
    "an error outside of the tests",
    { testResults: [{ name: `${root}/b.test.ts`, status: "passed", assertionResults: [passed] }] },
    1,
    ["npm test: no test failed, but the run ended with exit code 1"],
  ],
  ["no report", undefined, 124, ["npm test: no report was written: the run did not come to its end"]],
  ["a good run", { testResults: [{ name: "b", status: "passed", assertionResults: [passed] }] }, 0, [""]],
])("tells %s", (_what, report, code, expected) => {
  expect(listed(report, code)).toEqual(expected);
});
