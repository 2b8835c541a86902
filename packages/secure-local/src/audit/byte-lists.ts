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
/** Digits of a number by sixteen: dumps have up to eight bytes together. Longer ones are found as they are. */
const LONGEST = 16;
/** What stands between the last byte of a line of a dump and the first of the next one: its column of characters, and a place. */
const NEXT_LINE = /(?: {2,4}[^\n]{0,20})?\r?\n[0-9a-f]{6,8}:?[ \t]{1,6}/iy;
/** The same where blanks alone do not say that no more numbers come: some dumps have several between all of them. */
const NEXT_LINE_MARKED = /(?: {2,4}[|>][^\n]{0,20})?\r?\n[0-9a-f]{6,8}:?[ \t]{1,6}/iy;
const [LETTER, SIXTEENTH, DIGIT] = [1, 2, 3];
const KINDS = new Uint8Array(128);
KINDS.fill(LETTER, 0x41, 0x5b).fill(LETTER, 0x61, 0x7b).fill(DIGIT, 0x30, 0x3a);
KINDS.fill(SIXTEENTH, 0x41, 0x47).fill(SIXTEENTH, 0x61, 0x67);
const [ZERO, SMALL_O, SMALL_X, BLANK, LINE_FEED, RETURN] = [0x30, 0x6f, 0x78, 0x20, 0x0a, 0x0d];
const [SMALL_H, SMALL_U, PLUS] = [0x68, 0x75, 0x2b];

type Base = 8 | 10 | 16;

/** Read by code units: a text may be nothing but numbers, and a pattern for each of them costs many times as much. */
export function* byteLists(text: string, base: Base): Iterable<ByteList> {
  const list = new Numbers(base);
  let [end, isWide] = [0, base !== 16];
  for (let at = nextNumber(text, 0, base); at < text.length; at = nextNumber(text, end, base)) {
    let begin = at;
    const place = list.size > 0 && mayEndLine(text, end) ? nextLine(text, end, isWide) : end;
    if (place > end) begin = at = nextNumber(text, place, base);
    else isWide = base !== 16 || (begin > end + 1 && text.charCodeAt(end) === BLANK);
    const far = begin - place > MOST_BETWEEN;
    end = numberEnd(text, begin, base);
    begin += prefix(text, begin, end, base);
    // A prefix alone is no number.
    if (begin === end) continue;
    if (far) {
      yield* list.taken();
      list.clear();
    }
    if (list.add(text, begin, digitsEnd(text, begin, end, base))) continue;
    yield* list.taken();
    list.clear();
  }
  yield* list.taken();
}

class Numbers {
  readonly #base: Base;
  #begins: number[] = [];
  #ends: number[] = [];
  #bytes: number[] = [];
  /** Of each byte how many its number has; undefined while all have one. */
  #sizes: number[] | undefined;

  constructor(base: Base) {
    this.#base = base;
  }

  get size(): number {
    return this.#bytes.length;
  }

  /** As they stand there, and where numbers have several bytes with the last of each first, as machines keep them. */
  *taken(): Iterable<ByteList> {
    if (this.size < LEAST) return;
    yield { text: Buffer.from(this.#bytes).toString("latin1"), begins: this.#begins, ends: this.#ends };
    if (this.#sizes !== undefined) yield swapped(this.#bytes, this.#sizes, { begins: this.#begins, ends: this.#ends });
  }

  clear(): void {
    if (this.size > 0) [this.#begins, this.#ends, this.#bytes, this.#sizes] = [[], [], [], undefined];
  }

  /** False for what is no byte of a text. */
  add(text: string, begin: number, end: number): boolean {
    const digits = end - begin;
    if (this.#base !== 16) return this.#push(valueOf(text, begin, end, this.#base), begin, end);
    if (digits > LONGEST || digits % 2 !== 0) return false;
    if (digits > 2) this.#sizes ??= this.#bytes.map(() => 1);
    for (let at = begin; at < end; at += 2) {
      if (!this.#push(valueOf(text, at, at + 2, 16), at, at + 2)) return false;
      this.#sizes?.push(digits / 2);
    }
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

/** The bytes of each number the other way round; each stands where its whole number does. */
function swapped(
  bytes: readonly number[],
  sizes: readonly number[],
  { begins, ends }: Omit<ByteList, "text">,
): ByteList {
  const [made, from, to] = [[...bytes], [...begins], [...ends]];
  for (let at = 0; at < bytes.length; at += sizes[at] as number) {
    const last = at + (sizes[at] as number) - 1;
    for (let each = at; each <= last; each += 1) {
      made[each] = bytes[at + last - each] as number;
      from[each] = begins[at] as number;
      to[each] = ends[last] as number;
    }
  }
  return { text: Buffer.from(made).toString("latin1"), begins: from, ends: to };
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
  while (at < text.length && kindAt(text, at) >= least) {
    // Where the next one begins right behind it, as in `x41x42` and `0x410x42`.
    if (at > from && base === 16 && isLetter(text, at, SMALL_X)) {
      if (isLetter(text, from, SMALL_X)) return at;
      if (at > from + 1) return text.charCodeAt(at - 1) === ZERO ? at - 1 : at;
    }
    at += 1;
  }
  return at;
}

function isLetter(text: string, at: number, small: number): boolean {
  return (text.charCodeAt(at) | 0x20) === small;
}

/** Without the letter behind the digits, as in `41h`. */
function digitsEnd(text: string, begin: number, end: number, base: Base): number {
  return base === 16 && end - begin > 2 && isLetter(text, end - 1, SMALL_H) ? end - 1 : end;
}

/** Characters before the digits, as in `0x41`, `\\x41`, `U+0041` and `0o101`. */
function prefix(text: string, begin: number, end: number, base: Base): number {
  const first = text.charCodeAt(begin);
  if (base === 16) {
    if ((first | 0x20) === SMALL_X) return 1;
    if (first === ZERO && isLetter(text, begin + 1, SMALL_X)) return 2;
    return (first | 0x20) === SMALL_U && end - begin === 1 && text.charCodeAt(end) === PLUS ? 1 : 0;
  }
  return end - begin === 1 && first === ZERO && isLetter(text, end, SMALL_O) ? 1 : 0;
}

/** NaN for what is no number of that base and of as many digits as a byte may have. */
function valueOf(text: string, begin: number, end: number, base: Base): number {
  if (base === 10 && end - begin > 3) return Number.NaN;
  const least = isLetter(text, begin - 1, SMALL_O) ? 1 : 3;
  if (base === 8 && (end - begin < least || end - begin > 4)) return Number.NaN;
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
function nextLine(text: string, at: number, isWide: boolean): number {
  const pattern = isWide ? NEXT_LINE_MARKED : NEXT_LINE;
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

// Finds characters that a dump shows in columns, as `od -c`, `od -a` and `hexdump -c` write them.

/** The place at the beginning of a line, before its first column. */
const A_PLACE = /(?<![0-9a-z])[0-9a-f]{6,8}(?= {2,3}[^ \n])/gi;
const COLUMN = 4;
/** Columns of one line. */
const MOST_COLUMNS = 64;
/** What stands for a character that is not shown; a blank stands for itself. */
const UNSHOWN: Readonly<Record<string, string>> = {
  "": " ",
  sp: " ",
  "\\n": "\n",
  nl: "\n",
  "\\t": "\t",
  ht: "\t",
  "\\r": "\r",
  cr: "\r",
  "\\0": "\0",
  nul: "\0",
};

export function* charColumns(text: string): Iterable<ByteList> {
  let [shown, begins, ends]: [string, number[], number[]] = ["", [], []];
  let next = -1;
  // All at once: the pattern is used again before the last of them is looked at.
  for (const found of [...text.matchAll(A_PLACE)]) {
    if (found.index !== next && shown.length >= LEAST) yield { text: shown, begins, ends };
    if (found.index !== next) [shown, begins, ends] = ["", [], []];
    const end = text.indexOf("\n", found.index);
    const line = text.slice(0, Math.min(end < 0 ? text.length : end, found.index + MOST_COLUMNS * COLUMN));
    for (let at = found.index + found[0].length; at < line.length; at += COLUMN) {
      const cell = cellAt(line, at);
      if (cell === undefined) break;
      shown += cell;
      begins.push(at);
      ends.push(Math.min(at + COLUMN, line.length));
    }
    next = end + 1;
  }
  if (shown.length >= LEAST) yield { text: shown, begins, ends };
}

/** Undefined for what is none. */
function cellAt(line: string, at: number): string | undefined {
  const cell = line.slice(at, at + COLUMN);
  if (cell[0] !== " ") return undefined;
  const bare = cell.trim();
  if (bare.length === 1) return bare;
  return UNSHOWN[bare] ?? (/^[0-3][0-7]{2}$/.test(bare) ? String.fromCharCode(Number.parseInt(bare, 8)) : undefined);
}
