// Finds bytes that are written as numbers one behind the other: lists of any language, one number a line, dumps of programs.
import { Buffer } from "node:buffer";

/** Numbers that may be the bytes of a text, and where each stands. */
export interface ByteList {
  /** One character a byte. */
  readonly text: string;
  readonly begins: readonly number[];
  readonly ends: readonly number[];
}

/** Fewer are no value of a secret. */
const LEAST = 6;
/** Between two numbers: a comma, an indent, the call of a function. What is farther apart is no list. */
const MOST_BETWEEN = 24;
/** Digits of a number by sixteen: dumps have up to four bytes together. Longer ones are found as they are. */
const LONGEST = 8;
/** What stands between the last byte of a line of a dump and the first of the next one: its column of characters, and a place. */
const NEXT_LINE = /(?: {2,4}[^\n]{0,20})?\r?\n[0-9a-f]{7,8}:?[ \t]{1,4}/iy;
const [LETTER, SIXTEENTH, DIGIT] = [1, 2, 3];
const KINDS = new Uint8Array(128);
KINDS.fill(LETTER, 0x41, 0x5b).fill(LETTER, 0x61, 0x7b).fill(DIGIT, 0x30, 0x3a);
KINDS.fill(SIXTEENTH, 0x41, 0x47).fill(SIXTEENTH, 0x61, 0x67);
const [ZERO, SMALL_O, SMALL_X, BLANK, LINE_FEED, RETURN] = [0x30, 0x6f, 0x78, 0x20, 0x0a, 0x0d];

type Base = 8 | 10 | 16;

/** Read by code units: a text may be nothing but numbers, and a pattern for each of them costs many times as much. */
export function* byteLists(text: string, base: Base): Iterable<ByteList> {
  const list = new Numbers(base);
  let end = 0;
  for (let at = nextNumber(text, 0, base); at < text.length; at = nextNumber(text, end, base)) {
    let begin = at;
    const place = list.size > 0 && mayEndLine(text, end) ? nextLine(text, end) : end;
    if (place > end) begin = at = nextNumber(text, place, base);
    const far = begin - place > MOST_BETWEEN;
    end = numberEnd(text, begin, base);
    begin += prefix(text, begin, end, base);
    // A prefix alone is no number.
    if (begin === end) continue;
    if (far && list.size >= LEAST) yield list.taken();
    if (far) list.clear();
    if (list.add(text, begin, end)) continue;
    if (list.size >= LEAST) yield list.taken();
    list.clear();
  }
  if (list.size >= LEAST) yield list.taken();
}

class Numbers {
  readonly #base: Base;
  #begins: number[] = [];
  #ends: number[] = [];
  #bytes: number[] = [];

  constructor(base: Base) {
    this.#base = base;
  }

  get size(): number {
    return this.#bytes.length;
  }

  taken(): ByteList {
    return { text: Buffer.from(this.#bytes).toString("latin1"), begins: this.#begins, ends: this.#ends };
  }

  clear(): void {
    if (this.size > 0) [this.#begins, this.#ends, this.#bytes] = [[], [], []];
  }

  /** False for what is no byte of a text. */
  add(text: string, begin: number, end: number): boolean {
    const digits = end - begin;
    if (this.#base !== 16) return this.#push(valueOf(text, begin, end, this.#base), begin, end);
    if (digits > LONGEST || digits % 2 !== 0) return false;
    for (let at = begin; at < end; at += 2) if (!this.#push(valueOf(text, at, at + 2, 16), at, at + 2)) return false;
    return true;
  }

  #push(value: number, begin: number, end: number): boolean {
    // Two bytes a character are one and a zero where it is of ASCII.
    if (!(value >= 0x20 || value === 0 || (value >= 9 && value <= 13)) || value > 255) return false;
    this.#begins.push(begin);
    this.#ends.push(end);
    this.#bytes.push(value);
    return true;
  }
}

function kindAt(text: string, at: number): number {
  return KINDS[text.charCodeAt(at)] ?? 0;
}

/** By ten and by eight letters stand between numbers; by sixteen a word is none. */
function nextNumber(text: string, from: number, base: Base): number {
  const least = base === 16 ? LETTER : DIGIT;
  let at = from;
  while (at < text.length && kindAt(text, at) < least) at += 1;
  return at;
}

function numberEnd(text: string, from: number, base: Base): number {
  const least = base === 16 ? LETTER : DIGIT;
  let at = from;
  while (at < text.length && kindAt(text, at) >= least) at += 1;
  return at;
}

/** Characters before the digits, as in `0x41`, `\\x41` and `0o101`. */
function prefix(text: string, begin: number, end: number, base: Base): number {
  const first = text.charCodeAt(begin);
  if (base === 16) return first === SMALL_X ? 1 : first === ZERO && text.charCodeAt(begin + 1) === SMALL_X ? 2 : 0;
  return end - begin === 1 && first === ZERO && text.charCodeAt(end) === SMALL_O ? 1 : 0;
}

/** NaN for what is no number of that base and of as many digits as a byte may have. */
function valueOf(text: string, begin: number, end: number, base: Base): number {
  if (base === 10 && end - begin > 3) return Number.NaN;
  if (base === 8 && (end - begin < 3 || end - begin > 4)) return Number.NaN;
  let value = 0;
  for (let at = begin; at < end; at += 1) {
    const code = text.charCodeAt(at);
    const digit = code <= 0x39 ? code - ZERO : (code | 0x20) - 0x57;
    if (digit >= base) return Number.NaN;
    value = value * base + digit;
  }
  return value;
}

function mayEndLine(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === LINE_FEED || code === RETURN || (code === BLANK && text.charCodeAt(at + 1) === BLANK);
}

/** Where the first byte of a dump's next line may stand; the same place where there is none. */
function nextLine(text: string, at: number): number {
  NEXT_LINE.lastIndex = at;
  return NEXT_LINE.test(text) ? NEXT_LINE.lastIndex : at;
}
