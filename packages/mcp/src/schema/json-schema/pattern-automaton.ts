// Reads a regular expression as an automaton: which characters stand where, and which can follow which.

import { ANY, controls, except, one, type Ranges, shorthands } from "./code-points.js";

/** Positions [from, to) that one unbounded repetition goes round in. */
export type Loop = readonly [from: number, to: number];

export interface Automaton {
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
export function automatonOf(source: string): Automaton | undefined {
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
