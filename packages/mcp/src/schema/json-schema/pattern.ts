// Runs `pattern` on the platform's regular expressions, and keeps away from those that can take exponential time.
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

// Holds sets of characters as ranges of code points, as far as regular expressions name them.

/** A set of characters, as ranges of code points. */
type Ranges = readonly (readonly [from: number, to: number])[];

const ANY: Ranges = pairs(0, 0x10ffff);
const DIGIT: Ranges = pairs(48, 57);
const WORD: Ranges = pairs(48, 57, 65, 90, 95, 95, 97, 122);
const SPACE: Ranges = pairs(9, 13, 32, 32, 160, 160, 0x1680, 0x1680, 0x2000, 0x3000, 0xfeff, 0xfeff);
/** What a letter after a backslash stands for. */
const shorthands: Readonly<Record<string, Ranges>> = {
  d: DIGIT,
  w: WORD,
  s: SPACE,
  D: except(DIGIT),
  W: except(WORD),
  S: except(SPACE),
};

const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, b: 8, "0": 0 };

function pairs(...ends: readonly number[]): Ranges {
  return ends.flatMap((from, i) => (i % 2 === 0 ? [[from, ends[i + 1] ?? from] as const] : []));
}

function one(character: string): Ranges {
  const code = character.codePointAt(0) ?? 0;
  return [[code, code]];
}

function except(ranges: Ranges): Ranges {
  const rest: [number, number][] = [];
  let from = 0;
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (low > from) rest.push([from, low - 1]);
    from = Math.max(from, high + 1);
  }
  if (from <= 0x10ffff) rest.push([from, 0x10ffff]);
  return rest;
}

/** Whether some character is in both sets. */
function overlap(a: Ranges = [], b: Ranges = []): boolean {
  return a.some(([low, high]) => b.some(([from, to]) => low <= to && from <= high));
}

// Reads a regular expression as an automaton: which characters stand where, and which can follow which.

/** Positions [from, to) that one unbounded repetition goes round in. */
type Loop = readonly [from: number, to: number];

interface Automaton {
  /** What each position matches. */
  readonly sets: readonly Ranges[];
  /** The positions that can follow each position, and in how many ways. */
  readonly follow: readonly ReadonlyMap<number, number>[];
  /** The repetitions that stand in no other, in the order they stand. */
  readonly loops: readonly Loop[];
  /** First positions of look-arounds. */
  readonly looks: readonly number[];
  /** Positions after which the whole has matched. */
  readonly last: ReadonlySet<number>;
  /** Whether something that consumes nothing, such as `$`, can refuse a match. */
  readonly asserts: boolean;
  /** Whether there are references back to groups, which no automaton can follow. */
  readonly refersBack: boolean;
}

interface Part {
  readonly nullable: boolean;
  readonly first: readonly number[];
  readonly last: readonly number[];
}

/** Positions and links read before giving up: long lists of words stay far below. */
const MAX_LINKS = 20_000;
/** A group with a higher fixed count is taken for a repetition. */
const MAX_COPIES = 4;

const NOTHING: Part = { nullable: true, first: [], last: [] };

/** Reads `source`, which must be valid with the `u` flag. Undefined when it is too large. */
function automatonOf(source: string): Automaton | undefined {
  const reader = new Reader(source);
  try {
    const start = reader.isAnchored() ? [] : [reader.position(ANY)];
    if (start.length > 0) reader.repeat({ nullable: true, first: start, last: start }, 0);
    const body = reader.alternatives();
    reader.link(start, body.first);
    const { sets, follow, asserts, refersBack, looks } = reader;
    return { sets, follow, loops: outermost(reader.loops), looks, last: new Set(body.last), asserts, refersBack };
  } catch (error) {
    if (error === tooLarge) return undefined;
    throw error;
  }
}

const tooLarge = new Error("the pattern is too large to analyse");

/** The loops that stand in no other; of two that go round in the same positions, one. */
function outermost(loops: readonly Loop[]): readonly Loop[] {
  const kept: Loop[] = [];
  for (const loop of [...loops].sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (loop[1] > (kept.at(-1)?.[1] ?? 0)) kept.push(loop);
  }
  return kept;
}

class Reader {
  readonly sets: Ranges[] = [];
  readonly follow: Map<number, number>[] = [];
  readonly loops: Loop[] = [];
  readonly looks: number[] = [];
  asserts = false;
  refersBack = false;
  readonly #source: string;
  #at = 0;
  #links = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Whether a match can only begin where the text does. */
  isAnchored(): boolean {
    return this.#source.startsWith("^") && !this.#source.includes("|");
  }

  position(set: Ranges): number {
    if (++this.#links > MAX_LINKS) throw tooLarge;
    this.follow.push(new Map());
    return this.sets.push(set) - 1;
  }

  link(from: readonly number[], to: readonly number[]): void {
    if ((this.#links += from.length * to.length) > MAX_LINKS) throw tooLarge;
    for (const p of from) {
      const next = this.follow[p] as Map<number, number>;
      for (const q of to) next.set(q, (next.get(q) ?? 0) + 1);
    }
  }

  /** Lets `part`, whose positions begin at `start`, follow itself. */
  repeat(part: Part, start: number): void {
    this.link(part.last, part.first);
    if (this.sets.length > start) this.loops.push([start, this.sets.length]);
  }

  alternatives(): Part {
    let whole = this.#sequence();
    while (this.#take("|")) {
      const other = this.#sequence();
      const nullable = whole.nullable || other.nullable;
      whole = { nullable, first: [...whole.first, ...other.first], last: [...whole.last, ...other.last] };
    }
    return whole;
  }

  #sequence(): Part {
    let whole = NOTHING;
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source.charAt(this.#at)))
      whole = this.#join(whole, this.#term());
    return whole;
  }

  #join(a: Part, b: Part): Part {
    this.link(a.last, b.first);
    return {
      nullable: a.nullable && b.nullable,
      first: a.nullable ? [...a.first, ...b.first] : a.first,
      last: b.nullable ? [...a.last, ...b.last] : b.last,
    };
  }

  /** One atom and how often it may stand. */
  #term(): Part {
    const from = this.#at;
    const start = this.sets.length;
    const part = this.#atom();
    const isOne = this.sets.length - start === 1 && !part.nullable;
    const quantifier = /^(?:[*+?]|\{(\d+)(,?)((?:(?<=,)\d*)?)\})\??/.exec(this.#source.slice(this.#at, this.#at + 40));
    if (quantifier === null) return part;
    const [text, low, comma, high] = quantifier;
    this.#at += text.length;
    const nullable = part.nullable || text.startsWith("*") || text.startsWith("?") || Number(low) === 0;
    if (text.startsWith("?") || (low !== undefined && Number(high || (comma ? "2" : low)) < 2))
      return { ...part, nullable };
    // A fixed count is a sequence. Of one character, two show all that can follow.
    const count = low !== undefined && comma === "" ? (isOne ? 2 : Number(low)) : Infinity;
    if (count <= MAX_COPIES) return this.#copies(part, from, count);
    // Rounds that match nothing can stand anywhere among those that count.
    if (low !== undefined && part.nullable) this.link(part.last, part.first);
    this.repeat(part, start);
    return { ...part, nullable };
  }

  /** Reads the atom at `from` again until it stands there `count` times. */
  #copies(part: Part, from: number, count: number): Part {
    const end = this.#at;
    let whole = part;
    for (let i = 1; i < count; i++) {
      this.#at = from;
      whole = this.#join(whole, this.#atom());
    }
    this.#at = end;
    return whole;
  }

  #atom(): Part {
    const character = this.#next();
    if (character === "(") return this.#group();
    if (character === "^") return this.#single(undefined);
    // The end is a position that matches nothing: a path through it reads no further.
    if (character === "$") return this.#single(undefined) && this.#single([]);
    if (character === "[") return this.#single(this.#class());
    if (character === ".") return this.#single(ANY);
    return this.#single(character === "\\" ? this.#escape() : one(character));
  }

  /** One character; without a set an assertion, which reads none. */
  #single(set: Ranges | undefined): Part {
    if (set === undefined) return ((this.asserts = true), NOTHING);
    const position = [this.position(set)];
    return { nullable: false, first: position, last: position };
  }

  #group(): Part {
    const kind = /^\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]*:)/u.exec(this.#source.slice(this.#at, this.#at + 200))?.[0] ?? "";
    this.#at += kind.length;
    const start = this.sets.length;
    const part = this.alternatives();
    this.#at++;
    if (!/^\?<?[=!]/.test(kind)) return part;
    this.asserts = true;
    this.looks.push(start);
    // What follows a look-around begins where the look-around did.
    return { nullable: true, first: part.first, last: [] };
  }

  /** The set that an escape stands for; undefined for an assertion. */
  #escape(): Ranges | undefined {
    const letter = this.#next();
    if (letter === "b" || letter === "B") return undefined;
    if (/[1-9k]/.test(letter)) this.refersBack = true;
    return this.#escaped(letter);
  }

  #escaped(letter: string): Ranges {
    const shared = shorthands[letter];
    if (shared !== undefined) return shared;
    const rest = this.#source.slice(this.#at, this.#at + 80);
    if (letter === "p" || letter === "P") return this.#skip(/^\{[^}]*\}/.exec(rest), () => ANY);
    const digits = { x: /^[\da-f]{2}/i, u: /^(?:\{[\da-f]+\}|[\da-f]{4})/i }[letter]?.exec(rest);
    if (digits) return this.#skip(digits, (text) => one(String.fromCodePoint(parseInt(text.replace("{", ""), 16))));
    if (letter === "c") return this.#skip(/^./.exec(rest), (text) => one(String.fromCharCode(text.charCodeAt(0) % 32)));
    const control = controls[letter];
    return one(control === undefined ? letter : String.fromCharCode(control));
  }

  #skip(found: RegExpExecArray | null, set: (text: string) => Ranges): Ranges {
    this.#at += found?.[0].length ?? 0;
    return set(found?.[0] ?? "");
  }

  #class(): Ranges {
    const negated = this.#take("^");
    const ranges: [number, number][] = [];
    while (this.#at < this.#source.length && !this.#take("]")) {
      const low = this.#member();
      if (low.length === 1 && this.#source[this.#at] === "-" && this.#source[this.#at + 1] !== "]") {
        this.#at++;
        ranges.push([low[0]?.[0] ?? 0, this.#member()[0]?.[1] ?? 0x10ffff]);
      } else ranges.push(...low.map(([from, to]): [number, number] => [from, to]));
    }
    return negated ? except(ranges) : ranges;
  }

  #member(): Ranges {
    const character = this.#next();
    return character === "\\" ? this.#escaped(this.#next()) : one(character);
  }

  #next(): string {
    const character = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
    this.#at += character.length;
    return character;
  }

  #take(character: string): boolean {
    if (this.#source[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
}
