// Collects what the cases of one goal find: refusals and how long they took, honest uses, side effects, and further demands.
import { readFileSync } from "node:fs";
import { Broken, isOwnFault } from "./own-faults.mjs";

/** A time below it is no question of who else uses the machine. */
const WORTH_A_LOOK_MS = 1;
/** Longest a refusal may take unless the goal says otherwise. */
const REFUSAL_MS = 50;
/** From here on a refusal is timed again where the goal asks for that. */
const SLOW_MS = 5;
/** Who may have found a kind of attack. */
const FOUND = new Set(["own", "reader", "attack"]);
/** Names of failures kept for people; all are counted. */
const MAX_NAMES = 20;

/** Ends a run that has found what it was to find; what it began is taken away as at its end. */
export const ENOUGH = new Error("An attack got through, and nothing more was asked for.");

export class Report {
  #goal;
  #steps;
  #stops;
  /** The first attack that got through, or side effect: `{ kind, why }`. */
  #first;
  #times = [];
  #attacks = 0;
  #benign = 0;
  #bypasses = new Failures();
  #refused = new Failures();
  #effects = new Failures();
  #broken = new Failures();
  #demands = [];
  #kinds = new Map();
  #kind;
  #unnamed = 0;

  /**
   * `goal`: id, title, atLeast (cases without any corpus), refusalMs. `steps`: names of those to take; all without it. `first`: the run
   * ends with the first attack that gets through.
   */
  constructor(goal, { steps, first = false } = {}) {
    this.#goal = steps === undefined && !first ? goal : { ...goal, atLeast: 0 };
    this.#steps = steps;
    this.#stops = first;
  }

  /** Takes a goal's steps one after the other: functions by name, each called with `args`. */
  async take(steps, ...args) {
    for (const [name, step] of Object.entries(steps))
      if (this.#steps?.includes(name) !== false) await step(this, ...args);
  }

  /**
   * Begins a kind of attack, to which the attacks after it count. `found` says by whom: "own" (by those who built the
   * defence), "reader" (by somebody who read the source) or "attack" (by somebody who had the product and its pages). One that
   * began before goes on.
   */
  kind(name, { found = "own" } = {}) {
    if (!FOUND.has(found)) throw new TypeError(`found is "own", "reader" or "attack", not ${JSON.stringify(found)}`);
    this.#kind = this.#kinds.get(name) ?? { name, found, cases: 0 };
    this.#kinds.set(name, this.#kind);
  }

  /**
   * One attack. `ask` returns `true` when it was refused as it has to be, anything else (or a throw) is a bypass and says what
   * happened, but for a fault of the case itself, which makes it broken. The time of the whole is the time of the refusal; with `again`, one that takes longer than
   * `slowMs` is tried twice more and the quickest time counts, since others use the machine.
   */
  async attack(name, ask, { again = false, slowMs = SLOW_MS } = {}) {
    const [got, first] = await timed(ask);
    let best = first;
    const more = again && got === true ? 2 : 0;
    for (let tries = 0; tries < more; tries += 1) {
      if (best <= slowMs) break;
      const [, time] = await timed(ask);
      best = Math.min(best, time);
    }
    this.#times.push(best);
    this.#attacks += 1;
    if (this.#kind === undefined) this.#unnamed += 1;
    else this.#kind.cases += 1;
    if (got instanceof Broken) this.#broken.add(`${name}: ${got.message}`);
    else if (got !== true) {
      this.#bypasses.add(`${name}: ${show(got)}`);
      // One that threw was neither refused nor let through.
      if (!show(got).startsWith("threw ")) this.#noticed(`${name}: ${show(got)}`);
    }
    return best;
  }

  /** One honest use. `ask` returns `true` when it was served; anything else is a false refusal. */
  async benign(name, ask) {
    this.#benign += 1;
    const [got] = await timed(ask);
    if (got instanceof Broken) this.#broken.add(`${name}: ${got.message}`);
    else if (got !== true) this.#refused.add(`${name}: ${show(got)}`);
  }

  /** Something happened that no case may do: a file changed, a connection was made, a process began. */
  sideEffect(what) {
    this.#effects.add(what);
    this.#noticed(what);
  }

  #noticed(why) {
    this.#first ??= { kind: this.#kind?.name, why };
    if (this.#stops) throw ENOUGH;
  }

  /** What the goal asks beyond refusals. `text` is the same in every run that holds it; `measured` is not and only printed. */
  demand(text, held, measured) {
    this.#demands.push({ text, held: held === true, measured });
  }

  outcome() {
    const times = this.#times.toSorted((a, b) => a - b);
    const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
    return {
      id: this.#goal.id,
      title: this.#goal.title,
      atLeast: this.#goal.atLeast,
      cases: this.#attacks,
      benign: this.#benign,
      bypasses: this.#bypasses.outcome(),
      falseRefusals: this.#refused.outcome(),
      sideEffects: this.#effects.outcome(),
      broken: this.#broken.outcome(),
      refusal: { p50: at(0.5), p99: at(0.99), worst: at(1), limitMs: this.#goal.refusalMs ?? REFUSAL_MS },
      demands: this.#demands,
      kinds: [...this.#kinds.values()],
      unnamed: this.#unnamed,
      first: this.#first,
    };
  }
}

class Failures {
  #count = 0;
  #names = [];

  add(name) {
    this.#count += 1;
    if (this.#names.length < MAX_NAMES) this.#names.push(name.slice(0, 600));
  }

  outcome() {
    return { count: this.#count, names: this.#names };
  }
}

/** What came of it, and in how many milliseconds, without those in which other programs had the processor. */
async function timed(ask) {
  const waited = waitedMs();
  const started = performance.now();
  let got;
  try {
    got = await ask();
  } catch (error) {
    if (isOwnFault(error)) got = new Broken(error.stack);
    else got = `threw ${error instanceof Error ? error.stack : String(error)}`;
  }
  const time = performance.now() - started;
  return [got, time < WORTH_A_LOOK_MS ? time : Math.max(0, time - (waitedMs() - waited))];
}

/** How long this thread has been ready and not running, as Linux counts it; elsewhere nobody knows. */
function waitedMs() {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

function show(got) {
  return typeof got === "string" ? got : (JSON.stringify(got) ?? String(got));
}
