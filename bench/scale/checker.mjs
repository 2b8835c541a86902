// Judges a history: what clients saw of every call, and what tools wrote down when they did it.
//
// A call is `{ id, who, begin, end, outcome }`: answered (with its own id), wrong (answered with something else), refused (said not
// to have run) or failed (nobody knows); an effect `{ id, at }`. All times are of one monotonic clock.

/** The kinds of violation, each with up to `SHOWN` examples. */
const SHOWN = 5;

/**
 * `limit`: `{ perSecond, burst }` of each `who`; `disturbed(from, to)`: whether what they share was away then, when each process
 * may let its own part through. Returns violations by kind: `{ count, examples }`.
 */
export function judge(calls, effects, { limit, disturbed = () => false } = {}) {
  const found = new Map();
  const add = (kind, example) => {
    const kept = found.get(kind) ?? { count: 0, examples: [] };
    kept.count++;
    if (kept.examples.length < SHOWN) kept.examples.push(example);
    found.set(kind, kept);
  };
  const times = new Map();
  for (const { id, at } of effects) {
    if (times.has(id)) add("ran twice", id);
    else times.set(id, at);
  }
  const known = new Set();
  for (const call of calls) {
    known.add(call.id);
    judgeCall(call, times.get(call.id), add);
  }
  for (const id of times.keys()) if (!known.has(id)) add("ran and nobody called it", id);
  if (limit !== undefined) judgeLimits(calls, times, { limit, disturbed, add });
  return found;
}

function judgeCall({ id, begin, end, outcome, hung }, at, add) {
  if (hung === true) add("never answered", id);
  if (outcome === "wrong") add("another's answer", id);
  if (outcome === "answered" && at === undefined) add("answered and never ran", id);
  if (outcome === "refused" && at !== undefined) add("refused and ran", id);
  if (at === undefined) return;
  if (at < begin) add("ran before it was called", id);
  // A client calls again after its answer: what runs by then runs in the order of its session.
  if (outcome === "answered" && at > end) add("ran after its answer, out of its session's order", id);
}

const WINDOW_MS = 1_000;

function judgeLimits(calls, times, { limit, disturbed, add }) {
  const passed = new Map();
  for (const { id, who, begin } of calls) {
    const at = times.get(id);
    if (at === undefined) continue;
    if (!passed.has(who)) passed.set(who, []);
    passed.get(who).push({ begin, at });
  }
  const most = limit.burst + (limit.perSecond * WINDOW_MS) / 1_000 + 1;
  for (const [who, all] of passed) {
    all.sort((a, b) => a.begin - b.begin);
    for (let first = 0; first < all.length; first++) {
      const from = all[first].begin;
      let count = 0;
      for (let n = first; n < all.length && all[n].begin <= from + WINDOW_MS; n++)
        if (all[n].at <= from + WINDOW_MS) count++;
      // While each counts its part for itself, there is one more limit beside the one that all count together.
      const admitted = disturbed(from, from + WINDOW_MS) ? 2 * most : most;
      if (count > admitted) add("more than the limit", `${who}: ${count} in a second, at most ${admitted}`);
    }
  }
}
