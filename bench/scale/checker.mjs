// Judges a history: what clients saw of every call, and what tools wrote down when they did it. It judges while both come in and
// keeps of what is settled two bits a call, so that a history may be of any length.
//
// A call is `{ id, who, begin, end, outcome }`: answered (with its own id), wrong (answered with something else), refused (said not
// to have run) or failed (nobody knows); an effect `{ id, at }`. All times are of one monotonic clock. An id is the number of a
// client and that of its call, which begins with 0: `7-0`, `7-1`, …

/** The kinds of violation, each with up to `SHOWN` examples. */
const SHOWN = 5;
const WINDOW_MS = 1_000;
const RAN = 1;
const REFUSED = 2;

export class Judge {
  /** Violations by kind: `{ count, examples }`. */
  found = new Map();
  /** Calls by outcome, and effects. */
  outcomes = new Map();
  effects = 0;
  /** Calls that are not settled: under way, or ended without an effect that may still come. */
  #open = new Map();
  /** Two bits of each call, by client. */
  #bits = new Map();
  /** How many calls each client has begun. */
  #begun = new Map();
  #limits;

  /**
   * `limit`: `{ perSecond, burst }` of each `who`; `disturbed(from, to)`: whether what they share was away then, when each process
   * may let its own part through.
   */
  constructor({ limit, disturbed = () => false } = {}) {
    this.#limits =
      limit && new Limits({ limit, disturbed, add: (example) => this.#add("more than the limit", example) });
  }

  get calls() {
    return [...this.outcomes.values()].reduce((sum, count) => sum + count, 0);
  }

  begin(call) {
    const [client, number] = placeOf(call.id);
    if (number !== (this.#begun.get(client) ?? 0)) throw new Error(`${call.id} is not the next call of its client`);
    this.#begun.set(client, number + 1);
    this.#open.set(call.id, { call, at: undefined, ended: false });
  }

  effect({ id, at }) {
    this.effects++;
    const [client, number] = placeOf(id);
    if (number >= (this.#begun.get(client) ?? 0)) return this.#add("ran and nobody called it", id);
    const bits = this.#bitsOf(client, number);
    if ((bits & RAN) !== 0) return this.#add("ran twice", id);
    this.#set(client, number, bits | RAN);
    if ((bits & REFUSED) !== 0) return this.#add("refused and ran", id);
    const open = this.#open.get(id);
    open.at = at;
    if (at < open.call.begin) this.#add("ran before it was called", id);
    this.#limits?.add(open.call, at);
    if (open.ended) this.#settle(open);
  }

  /** The client has its answer, or none. */
  end(call) {
    const { id, outcome, hung } = call;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    const open = this.#open.get(id);
    open.ended = true;
    if (hung === true) this.#add("never answered", [id, ...(call.trail ?? [])].join(", "));
    if (outcome === "wrong") this.#add("another's answer", id);
    if (outcome === "refused") {
      const [client, number] = placeOf(id);
      this.#set(client, number, this.#bitsOf(client, number) | REFUSED);
      if (open.at !== undefined) this.#add("refused and ran", id);
      this.#open.delete(id);
    } else if (open.at !== undefined) this.#settle(open);
  }

  /** All effects up to this time have been given. */
  sweep(until) {
    this.#limits?.sweep(until);
  }

  /** Nothing follows. */
  finish() {
    this.#limits?.sweep(Number.POSITIVE_INFINITY);
    for (const [id, { call, ended }] of this.#open) {
      if (!ended) this.#add("never answered", id);
      else if (call.outcome === "answered") this.#add("answered and never ran", id);
    }
    return this.found;
  }

  #settle({ call, at }) {
    // A client calls again after its answer: what runs by then runs in the order of its session.
    if (call.outcome === "answered" && at > call.end)
      this.#add("ran after its answer, out of its session's order", call.id);
    this.#open.delete(call.id);
  }

  #bitsOf(client, number) {
    const bits = this.#bits.get(client);
    return bits === undefined ? 0 : ((bits[number >> 2] ?? 0) >> ((number & 3) * 2)) & 3;
  }

  #set(client, number, value) {
    let bits = this.#bits.get(client) ?? new Uint8Array(64);
    if (number >> 2 >= bits.length) {
      const longer = new Uint8Array(bits.length * 2);
      longer.set(bits);
      bits = longer;
    }
    bits[number >> 2] |= value << ((number & 3) * 2);
    this.#bits.set(client, bits);
  }

  #add(kind, example) {
    const kept = this.found.get(kind) ?? { count: 0, examples: [] };
    kept.count++;
    if (kept.examples.length < SHOWN) kept.examples.push(example);
    this.found.set(kind, kept);
  }
}

function placeOf(id) {
  const dash = id.indexOf("-");
  return [id.slice(0, dash), Number(id.slice(dash + 1))];
}

/** What passed of each `who`, until every second that began with it has been counted. */
class Limits {
  #most;
  #disturbed;
  #violated;
  #passed = new Map();

  constructor({ limit, disturbed, add }) {
    this.#most = limit.burst + (limit.perSecond * WINDOW_MS) / 1_000 + 1;
    this.#disturbed = disturbed;
    this.#violated = add;
  }

  add({ who, begin }, at) {
    // What took longer than a second counts in none: it may have passed at any time since it was sent.
    if (at > begin + WINDOW_MS) return;
    if (!this.#passed.has(who)) this.#passed.set(who, []);
    this.#passed.get(who).push({ begin, at });
  }

  sweep(until) {
    for (const [who, all] of this.#passed) {
      all.sort((a, b) => a.begin - b.begin);
      let first = 0;
      for (; first < all.length && all[first].begin + WINDOW_MS <= until; first++) this.#window(who, all, first);
      if (first === all.length) this.#passed.delete(who);
      else all.splice(0, first);
    }
  }

  #window(who, all, first) {
    const from = all[first].begin;
    let count = 0;
    for (let n = first; n < all.length && all[n].begin <= from + WINDOW_MS; n++)
      if (all[n].at <= from + WINDOW_MS) count++;
    if (count <= this.#most) return;
    // While each counts its part for itself, there is one more limit beside the one that all count together.
    const admitted = this.#disturbed(from, from + WINDOW_MS) ? 2 * this.#most : this.#most;
    if (count > admitted) this.#violated(`${who}: ${count} in a second, at most ${admitted}`);
  }
}

/** The violations of a history that is there as a whole. */
export function judge(calls, effects, options) {
  const all = new Judge(options);
  for (const call of calls) all.begin(call);
  for (const call of calls) all.end(call);
  for (const effect of effects) all.effect(effect);
  return all.finish();
}
