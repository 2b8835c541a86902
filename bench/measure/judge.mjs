// Judges promises against the figures of one run.

/** A promise: what `read(figures)` measures is at most `limit`. */
export function atMost(what, limit, unit, read) {
  return { what, limit, unit, read };
}

/** Each target with its measured value and "pass", "MISSED" or "not measured". */
export function judge(targets, figures) {
  return targets.map((target) => {
    const measured = target.read(figures);
    if (measured === undefined || Number.isNaN(measured)) return { ...target, verdict: "not measured" };
    return { ...target, measured, verdict: measured <= target.limit ? "pass" : "MISSED" };
  });
}
