// Prints what the suite found: faults first, then a table with a row a run.

/** The report as text. */
export function report(results, { unexpected, stale }) {
  const lines = [];
  for (const { key, outcome, faults } of results) {
    if (outcome === "passed") continue;
    lines.push(`${outcome} ${key}${outcome === "failed" && !unexpected.includes(key) ? " (known)" : ""}`);
    for (const fault of faults) lines.push(`  ${fault}`);
  }
  for (const key of stale) lines.push(`known as failing but not failing: ${key}; take it off expected-failures.json`);
  if (lines.length > 0) lines.push("");
  lines.push(...table(results));
  return lines.join("\n");
}

function table(results) {
  const rows = [["run", "scored", "not scored", "checks passed", "checks failed", "skipped"]];
  for (const run of new Set(results.map((result) => result.run))) {
    rows.push([run, ...figures(results.filter((result) => result.run === run))]);
  }
  rows.push(["all", ...figures(results)]);
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd(),
  );
}

function figures(results) {
  const judged = results.filter(({ outcome }) => outcome !== "skipped");
  const failed = results.filter(({ outcome }) => outcome === "failed");
  return [
    share(judged.filter(({ unscored }) => unscored === undefined)),
    share(judged.filter(({ unscored }) => unscored !== undefined)),
    String(results.reduce((sum, { passed }) => sum + passed, 0)),
    String(failed.reduce((sum, { faults }) => sum + faults.length, 0)),
    String(results.length - judged.length),
  ];
}

function share(results) {
  return `${results.filter(({ outcome }) => outcome === "passed").length}/${results.length}`;
}
