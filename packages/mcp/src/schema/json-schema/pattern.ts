// Runs `pattern` on the platform's regular expressions, and keeps away from those that can take exponential time.

import { overlap } from "./code-points.js";
import { automatonOf, type Automaton, type Loop } from "./pattern-automaton.js";
import { charge } from "./run.js";

/** A compiled regular expression, searched for anywhere in a text. */
export interface Pattern {
  test(text: string): boolean;
}

/** Compiles the source of a `pattern`; throws an Error, whose message is shown, for one it will not run. */
export type PatternEngine = (source: string) => Pattern;

/** Work spent on analysing the patterns of one schema: about 10 ms, a hundred times what usual ones need. */
const MAX_WORK = 200_000;
/** Choices outside of repetitions that one character cannot settle: each may double the time. */
const MAX_CHOICES = 16;
/** Characters of an expression from which it may be too large for the platform. */
const LARGE = 2_000;
/** Steps of the expression engine that weigh as one step of the validation. */
const ENGINE_STEPS = 20;

const UNSAFE =
  "it can take exponential time on a long text; make what stands in a repetition begin or end in a way that nothing else does";

/** The default engine: `RegExp` with the `u` flag. Time is at most polynomial, and what is polynomial pays for it. */
export function nativePatterns(): PatternEngine {
  const left = { work: MAX_WORK };
  return (source) => {
    const expression = new RegExp(source, "u");
    const { degree, base } = /[*+?{|]/.test(source) ? costOf(source, left) : simple;
    // The platform compiles late: an expression too large for it must fail now.
    if (source.length > LARGE || /\{\d{3}/.test(source)) expression.test("");
    return {
      test(text) {
        charge(base + (degree === 1 ? text.length >> 6 : text.length ** degree / ENGINE_STEPS));
        return expression.test(text);
      },
    };
  };
}

/**
 * The same, but a pattern that is not run asserts nothing: for schemas of others, which are none the worse for what our analysis
 * cannot prove. Throws for what is no regular expression.
 */
export function tolerantPatterns(): PatternEngine {
  const native = nativePatterns();
  return (source) => {
    try {
      return native(source);
    } catch (error) {
      if (error instanceof SyntaxError) throw error;
      return UNJUDGED;
    }
  };
}

const UNJUDGED: Pattern = { test: () => true };

interface Cost {
  /** The power of the text's length that bounds the time of a failing match. */
  readonly degree: number;
  /** Steps that any match may take. */
  readonly base: number;
}

const simple: Cost = { degree: 1, base: 0 };

/** Throws when the time of a failing match may be exponential. */
function costOf(source: string, left: { work: number }): Cost {
  const automaton = automatonOf(source);
  left.work -= 50 + source.length;
  const open = automaton === undefined ? Infinity : choices(automaton);
  if (automaton === undefined || automaton.refersBack || open > MAX_CHOICES) throw new Error(UNSAFE);
  const search = new Search(automaton, left);
  const { loops, last, asserts, sets, looks } = automaton;
  // A repetition after which everything has matched cannot fail any more.
  const failing = loops.filter(([from, to]) => asserts || !sets.some((_, p) => from <= p && p < to && last.has(p)));
  if (loops.some((loop) => search.isAmbiguous(loop))) throw new Error(UNSAFE);
  const degrees: number[] = [];
  for (const loop of failing) {
    const before = degrees.filter((_, i) => search.canShare(failing[i] as Loop, loop));
    degrees.push(1 + Math.max(0, ...before));
  }
  // A look-around in a repetition looks again in every round.
  const again = looks.some((p) => loops.some(([from, to]) => from <= p && p < to)) ? 1 : 0;
  return { degree: Math.max(1, ...degrees) + again, base: 2 ** open / ENGINE_STEPS };
}

/** Positions outside of repetitions after which one character does not tell where to go on. */
function choices({ sets, follow, loops }: Automaton): number {
  let count = 0;
  follow.forEach((next, p) => {
    if (loops.some(([from, to]) => from <= p && p < to)) return;
    const targets = [...next.keys()];
    const clash = targets.some((a, i) =>
      targets.slice(i + 1, i + 1 + MAX_CHOICES).some((b) => overlap(sets[a], sets[b])),
    );
    if (clash || [...next.values()].some((ways) => ways > 1)) count++;
  });
  return count;
}

/** Where three paths are; two paths are three of which the last goes with the first. */
type State = readonly [number, number, number];

/** Walks several paths through an automaton at once, all reading the same text. */
class Search {
  readonly #automaton: Automaton;
  readonly #left: { work: number };
  readonly #overlaps = new Map<number, boolean>();

  constructor(automaton: Automaton, left: { work: number }) {
    this.#automaton = automaton;
    this.#left = left;
  }

  /** Whether some text leads from a position back to it on two different paths: then n rounds have 2^n of them. */
  isAmbiguous([from, to]: Loop): boolean {
    const { follow } = this.#automaton;
    const inside = (p: number): boolean => from <= p && p < to;
    for (let p = from; p < to; p++) {
      for (const [q, ways] of follow[p] ?? []) if (ways > 1 && inside(q)) return true;
    }
    for (let p = from; p < to; p++) {
      const stays = ([x, y, z]: State): boolean => x === z && inside(x) && inside(y);
      const found = this.#reaches([p, p, p], ([x, y]) => x === p && y === p, stays, true);
      if (found) return true;
    }
    return false;
  }

  /** Whether some text goes round in `a`, from `a` to `b`, and round in `b`: then it can be shared out in many ways. */
  canShare(a: Loop, b: Loop): boolean {
    for (let p = a[0]; p < a[1]; p++) {
      for (let q = b[0]; q < b[1]; q++) {
        const inside = ([x, , z]: State): boolean => a[0] <= x && x < a[1] && b[0] <= z && z < b[1];
        if (this.#reaches([p, p, q], ([x, y, z]) => x === p && y === q && z === q, inside, false)) return true;
      }
    }
    return false;
  }

  /** Whether paths that start at `start` and read the same text can get to a state that `isGoal`. Out of work, the answer is yes. */
  #reaches(
    start: State,
    isGoal: (state: State) => boolean,
    stays: (state: State) => boolean,
    splits: boolean,
  ): boolean {
    const seen = new Set<number>();
    const size = this.#automaton.sets.length;
    const queue = [start];
    for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
      for (const next of this.#steps(state)) {
        // Two paths count as different from where they part.
        if (!stays(next) || (splits && state === start && next[0] === next[1])) continue;
        if (isGoal(next)) return true;
        const key = (next[0] * size + next[1]) * size + next[2];
        if (!seen.has(key)) queue.push(next);
        seen.add(key);
      }
      if (this.#left.work < 0) return true;
    }
    return false;
  }

  /** Every state one character further on. */
  #steps([x, y, z]: State): readonly State[] {
    const { follow } = this.#automaton;
    const states: State[] = [];
    for (const a of follow[x]?.keys() ?? []) {
      for (const b of follow[y]?.keys() ?? []) {
        this.#left.work--;
        if (!this.#overlap(a, b)) continue;
        for (const c of follow[z]?.keys() ?? []) {
          this.#left.work--;
          if (this.#overlap(a, c) && this.#overlap(b, c)) states.push([a, b, c]);
        }
      }
    }
    return states;
  }

  #overlap(a: number, b: number): boolean {
    if (a === b) return true;
    const { sets } = this.#automaton;
    const key = a * sets.length + b;
    let known = this.#overlaps.get(key);
    if (known === undefined) this.#overlaps.set(key, (known = overlap(sets[a], sets[b])));
    return known;
  }
}
