#!/usr/bin/env node
// Runs the whole compatibility matrix and prints it: servers and transports by the revision the client is pinned to. Each
// cell is a test of packages/mcp/test/interop-client, which uses all features the server has. Exit code 1 when one fails.
//
// gateway    each client revision through the gateway to each upstream revision instead (packages/mcp/test/gateway)
// --fastmcp  with a server on fastmcp too, which is installed for the time of the run: what it depends on asks for Node 22
//            and has a script that npm would run, so that it is no dependency of this workspace
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, run } from "./lib/run-command.mjs";

const GATEWAY = process.argv.includes("gateway");
const TESTS = GATEWAY ? "packages/mcp/test/gateway/matrix.test.ts" : "packages/mcp/test/interop-client";
const COLUMNS = ["found out", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const REFUSED = " (refused)";

const FASTMCP = ["fastmcp@4.20.16", "zod@4.6.7"];

const folder = mkdtempSync(join(tmpdir(), "matrix-"));
const file = join(folder, "results.json");
try {
  const env = { MCP_MATRIX: "whole", ...(process.argv.includes("--fastmcp") ? await withFastmcp(folder) : {}) };
  const vitest = [`${root}/node_modules/vitest/vitest.mjs`, "run", TESTS, "--reporter=json", `--outputFile=${file}`];
  const { code, output } = await run(process.execPath, vitest, { env });
  if (!existsSync(file)) throw new Error(`No test was run:\n${output}`);
  const results = JSON.parse(readFileSync(file, "utf8"));
  if (GATEWAY) printGateway(results);
  else print(cellsOf(results));
  process.exitCode = code;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Installs fastmcp, without running anything of it; the variable by which the tests find it. */
async function withFastmcp(cwd) {
  const flags = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund"];
  const { code, output } = await run("npm", ["install", ...flags, "--prefix", cwd, ...FASTMCP], { cwd });
  if (code !== 0) throw new Error(`fastmcp cannot be installed:\n${output}`);
  return { MCP_MATRIX_FASTMCP: cwd };
}

/** What each test came to, by row and column; tests that are no cells are left out. */
function cellsOf({ testResults }) {
  const rows = new Map();
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  for (const { ancestorTitles, title, status, failureMessages } of tests) {
    const row = ancestorTitles.at(-1) ?? "";
    const column = title.replace(REFUSED, "");
    if (!row.includes(" over ") || !COLUMNS.includes(column)) continue;
    const worked = title.endsWith(REFUSED) ? "refused" : "works";
    const cell = status === "passed" ? worked : status === "failed" ? "FAILS" : "skipped";
    if (cell === "FAILS") console.error(`${row}, ${column}: ${failureMessages[0]?.split("\n", 1)[0]}`);
    if (!rows.has(row)) rows.set(row, {});
    rows.get(row)[column] = cell;
  }
  return rows;
}

function print(rows) {
  console.log(`| server | transport | ${COLUMNS.join(" | ")} |\n| --- | --- |${" --- |".repeat(COLUMNS.length)}`);
  const counts = {};
  for (const [row, cells] of [...rows].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [server, transport] = row.split(" over ");
    for (const cell of Object.values(cells)) counts[cell] = (counts[cell] ?? 0) + 1;
    console.log(`| ${server} | ${transport} | ${COLUMNS.map((column) => cells[column] ?? "").join(" | ")} |`);
  }
  const sums = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  console.log(`\n${sums.join(", ")}. An empty cell: the server does not speak that revision.`);
}

/** One row for each client over a transport, one column for each upstream revision; a cell counts the upstream's transports. */
function printGateway({ testResults }) {
  const rows = new Map();
  const refused = new Set();
  for (const { title, status, failureMessages } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    const [, ours, client, theirs, upstream] = /^'(.+)' over '(.+)' to '(.+)' over '(.+)'$/.exec(title) ?? [];
    if (ours === undefined) continue;
    const cells = rows.get(`${ours} over ${client}`) ?? {};
    rows.set(`${ours} over ${client}`, cells);
    (cells[theirs] ??= []).push(status === "passed" ? upstream : `${upstream} FAILS`);
    if (status !== "passed") console.error(`${title}: ${failureMessages[0]?.split("\n", 1)[0]}`);
    if (ours < "2025-06-18" || theirs < "2025-06-18") refused.add(`forms: ${ours} to ${theirs}`);
    if (ours < "2025-11-25" || theirs < "2025-11-25") refused.add(`pages: ${ours} to ${theirs}`);
  }
  const columns = COLUMNS.slice(1);
  console.log(`| client | ${columns.join(" | ")} |\n| --- |${" --- |".repeat(columns.length)}`);
  for (const [row, cells] of [...rows].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`| ${row} | ${columns.map((column) => (cells[column] ?? []).join(", ")).join(" | ")} |`);
  const all = [...rows.values()].flatMap((cells) => Object.values(cells).flat());
  console.log(
    `\n${all.length} cells, ${all.filter((cell) => cell.endsWith("FAILS")).length} fail. A cell names the upstream's transports.`,
  );
  console.log(
    `Refused, and the refusal asserted, because one of the two revisions has no such question:\n${[...refused].sort().join("\n")}`,
  );
}
