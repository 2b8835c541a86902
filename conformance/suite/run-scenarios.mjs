// Runs scenarios against one server or client and gives the checks of each, as the suite wrote them down.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSuite } from "./suite-process.mjs";

/** What the suite appends to the name of a scenario's folder: when it ran. */
const RAN_AT = /-\d{4}-\d\d-\d\dT[\d-]+Z?$/;

/**
 * Runs the scenarios of a requirement set against `url`, all of them or only the ones named. Resolves to
 * `{ checks, output }`: the checks by scenario and everything the suite printed. A scenario that left nothing is missing.
 */
export async function runServerScenarios(url, set, only) {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  try {
    const output = [];
    for (const choice of choices(set, only)) {
      output.push((await runSuite(["server", "--url", url, "-o", folder, ...choice])).output);
    }
    return { checks: readChecks(folder), output: output.join("\n") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Runs one scenario against a client that the suite starts. Resolves to `{ checks, code, output }`; the exit code tells of
 * time-outs and of a client that failed, unless the scenario expects that. No checks: it left nothing.
 */
export async function runClientScenario(command, name, set) {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  try {
    const choice = ["--scenario", name, "--spec-version", set, "--force"];
    const ended = await runSuite(["client", "--command", command, "-o", folder, ...choice]);
    const [written] = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith("checks.json"));
    const checks = written === undefined ? undefined : JSON.parse(readFileSync(join(folder, written), "utf8"));
    return { checks, ...ended };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function choices(set, only) {
  if (only.length === 0) return [["--requirements", set]];
  return only.map((name) => ["--scenario", name, "--spec-version", set, "--force"]);
}

function readChecks(folder) {
  const checks = new Map();
  for (const name of readdirSync(folder)) {
    const scenario = name.replace(/^server-/, "").replace(RAN_AT, "");
    checks.set(scenario, JSON.parse(readFileSync(join(folder, name, "checks.json"), "utf8")));
  }
  return checks;
}
