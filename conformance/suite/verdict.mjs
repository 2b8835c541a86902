// Judges scenarios by their checks, more strictly than the suite: there a warning, a skip or no check at all passes.

/** What the suite does not judge though it runs, with the reason. Nothing else may be skipped. */
const NEVER_JUDGED = {
  "tasks-status-notifications": "the suite skips it for every server until its harness is rewritten",
};

/** Single checks that cannot be exercised, by scenario: what the suite says when it skips one, and why it may. */
const NOTHING_TO_CHECK = {
  // The revision has neither: the suite asks every client of every revision for them.
  "http-standard-headers": /did not send a (initialize|notifications\/initialized) request/,
};

/** Statuses that say nothing about the implementation. */
const NEUTRAL = new Set(["SUCCESS", "INFO"]);

/**
 * The verdict on one scenario: `{ outcome, passed, faults }`, where `outcome` is "passed", "failed" or "skipped", `passed`
 * counts the checks that succeeded and `faults` has a line for each that did not. `checks` is undefined when there are none.
 */
export function judge(name, checks = []) {
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  const faults = checks.filter((check) => !NEUTRAL.has(check.status) && !mayBeSkipped(name, check)).map(describe);
  if (name in NEVER_JUDGED && checks.length > 0 && checks.every(({ status }) => status === "SKIPPED")) {
    return { outcome: "skipped", passed, faults: [NEVER_JUDGED[name]] };
  }
  if (passed === 0 && faults.length === 0) faults.push("the suite checked nothing");
  return { outcome: faults.length === 0 ? "passed" : "failed", passed, faults };
}

function mayBeSkipped(name, { status, errorMessage = "" }) {
  return status === "SKIPPED" && NOTHING_TO_CHECK[name]?.test(errorMessage) === true;
}

/** The verdict on a client: the suite's own exit code counts as well, for a client that hung or failed. */
export function judgeClient(name, checks, code) {
  const verdict = judge(name, checks);
  if (code === 0 || verdict.outcome !== "passed") return verdict;
  const fault = `the suite ended with ${code}: the client failed or did not end in time`;
  return { ...verdict, outcome: "failed", faults: [fault] };
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
