// Judges scenarios by their checks, more strictly than the suite: there a warning, a skip or no check at all passes.

/** What the suite does not judge though it runs, with the reason. Nothing else may be skipped. */
const NEVER_JUDGED = {
  "tasks-status-notifications": "the suite skips it for every server until its harness is rewritten",
};

/** Statuses that say nothing about the implementation. */
const NEUTRAL = new Set(["SUCCESS", "INFO"]);

/**
 * The verdict on one scenario: `{ outcome, passed, faults }`, where `outcome` is "passed", "failed" or "skipped", `passed`
 * counts the checks that succeeded and `faults` has a line for each that did not. `checks` is undefined when there are none.
 */
export function judge(name, checks = []) {
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  const faults = checks.filter(({ status }) => !NEUTRAL.has(status)).map(describe);
  if (name in NEVER_JUDGED && checks.length > 0 && checks.every(({ status }) => status === "SKIPPED")) {
    return { outcome: "skipped", passed, faults: [NEVER_JUDGED[name]] };
  }
  if (passed === 0 && faults.length === 0) faults.push("the suite checked nothing");
  return { outcome: faults.length === 0 ? "passed" : "failed", passed, faults };
}

function describe({ id, status, errorMessage, description }) {
  return `${status} ${id}: ${errorMessage ?? description}`;
}

/**
 * Compares with the list of known failures: `{ unexpected, stale }`. An entry names a run and its scenario; one that
 * passes, or that nothing ran, has to leave the list.
 */
export function compare(results, known) {
  const failed = new Set(results.filter(({ outcome }) => outcome === "failed").map(({ key }) => key));
  return {
    unexpected: [...failed].filter((key) => !known.includes(key)),
    stale: known.filter((key) => !failed.has(key)),
  };
}
