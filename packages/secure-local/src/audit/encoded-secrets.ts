// Finds values that stand in no text as they are: over several lines, escaped more than once, or in bytes that are
// written as text, lists of numbers among them.
import { Buffer } from "node:buffer";
import { escaped, namedCharacter } from "./secret-spellings.js";

// Finds bytes that are written as numbers one behind the other: lists of any language, one number a line, dumps of programs.

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
const [ZERO, SMALL_O, SMALL_X, SPACE, NEW_LINE, RETURN] = [0x30, 0x6f, 0x78, 0x20, 0x0a, 0x0d];
const [SMALL_H, SMALL_U, PLUS] = [0x68, 0x75, 0x2b];

type Base = 8 | 10 | 16;

/** Read by code units: a text may be nothing but numbers, and a pattern for each of them costs many times as much. */
function* byteLists(text: string, base: Base): Iterable<ByteList> {
  const list = new Numbers(base);
  let [end, isWide] = [0, base !== 16];
  for (let at = nextNumber(text, 0, base); at < text.length; at = nextNumber(text, end, base)) {
    let begin = at;
    const place = list.size > 0 && mayEndLine(text, end) ? nextLine(text, end, isWide) : end;
    if (place > end) begin = at = nextNumber(text, place, base);
    else isWide = base !== 16 || (begin > end + 1 && text.charCodeAt(end) === SPACE);
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
  return code === NEW_LINE || code === RETURN || (code === SPACE && text.charCodeAt(at + 1) === SPACE);
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

function* charColumns(text: string): Iterable<ByteList> {
  let [shown, begins, ends]: [string, number[], number[]] = ["", [], []];
  let next = -1;
  for (const found of text.matchAll(A_PLACE)) {
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

/** Work that stops now and then, and says each time how many characters it has looked at since the last time. */
export type Work<T> = Generator<number, T, void>;

/** Times a text is read without its escapes and line breaks: `%255F` takes two. */
const READINGS = 3;
/** Times bytes that are written as text are looked into: Base64 of Base64 takes two. */
const LAYERS = 3;
/** What a look at a text costs, however short it is, as characters are counted. */
const A_LOOK = 32;

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

const MAY_CHANGE = /[%\\&\n\r\u2028\u2029]/;
const MAY_BE_OTHER = /[%\\&\n\r\u0080-\uffff]/;
const REST: Readonly<Record<string, RegExp>> = {
  "\\": /u([0-9a-f]{4})|u\{0*([0-9a-f]{1,6})\}|x([0-9a-f]{2})|([0-3]?[0-7]{1,2})|[nrt/"'<>+`&\\]|\r?\n/iy,
  "&": /#0*(\d{1,7});?|#x0*([0-9a-f]{1,6});?|([a-z]{2,16});|(amp|lt|gt|quot)/iy,
};
const BREAKS = /[\n\r\u2028\u2029]/g;
const BLANK = /\s/;
/** Blanks that a line of quoted-printable may end with. */
const MOST_BLANKS = 8;
const BASE64 = /[A-Za-z0-9+/_-]{12,}/g;
/** Two digits a byte, with nothing between them. */
const SIXTEENTHS = /[0-9a-f]{12,}/gi;

/** A text that was made from another one, whose places are told in that one. */
interface View {
  readonly text: string;
  /** Where the character at this place begins in the text that all of it comes from, and where the one before it ends. */
  begin(at: number): number;
  end(at: number): number;
}

/** What was replaced, in order: where it ended in the old text, where what stands instead ends in the new one, and whether anything does. */
interface Edits {
  readonly from: number[];
  readonly to: number[];
  readonly stays: boolean[];
}

/** Where a value was found, and what is written in its place. */
interface Found {
  readonly index: number;
  readonly length: number;
  readonly label: string;
}

export class EncodedSecrets {
  readonly #labels = new Map<string, string>();
  readonly #pattern: RegExp;
  /** Whether a value has blanks of its own, which may stand beside a break of a line. */
  readonly #hasBlanks: boolean;

  /** @param spellings Each with what is written in its place. */
  constructor(spellings: Iterable<readonly [spelling: string, label: string]>) {
    for (const [spelling, label] of spellings)
      for (const form of formsOf(spelling)) if (!this.#labels.has(form)) this.#labels.set(form, label);
    this.#hasBlanks = [...this.#labels.keys()].some((form) => BLANK.test(form));
    const sorted = [...this.#labels.keys()].sort((a, b) => b.length - a.length);
    this.#pattern = new RegExp(sorted.map(escaped).join("|"), "g");
  }

  /** Where they stand other than as they are. How much is read depends on what the text holds: each reading is told. */
  *in(text: string): Work<readonly Found[]> {
    const places: Found[] = [];
    yield* this.#read(whole(text), 0, places);
    return places;
  }

  *#read(view: View, layer: number, places: Found[]): Work<void> {
    yield A_LOOK + view.text.length;
    // What stands there as it is was found before.
    if (layer > 0) this.#search(view, places);
    const printable = edited(view, quoted(view.text));
    for (const start of printable === view ? [view] : [view, printable]) {
      if (start !== view) this.#search(start, places);
      let last = start;
      for (last of readings(start, this.#hasBlanks)) {
        // The one that it was made from was read as well.
        yield start.text.length + last.text.length;
        this.#search(last, places);
      }
      if (layer < LAYERS && (start === view || last !== start))
        for (const bytes of written(last, start)) yield* this.#read(bytes, layer + 1, places);
    }
  }

  #search(view: View, places: Found[]): void {
    this.#pattern.lastIndex = 0;
    for (let match = this.#pattern.exec(view.text); match !== null; match = this.#pattern.exec(view.text)) {
      const [value] = match;
      const index = view.begin(match.index);
      const length = view.end(match.index + value.length) - index;
      places.push({ index, length, label: this.#labels.get(value) ?? "" });
      this.#pattern.lastIndex = match.index + 1;
    }
  }
}

/** What becomes of a spelling as the text around it is read: itself where nothing in it is special. */
function formsOf(spelling: string): readonly string[] {
  if (!MAY_BE_OTHER.test(spelling)) return [spelling];
  const views = [spelling, Buffer.from(spelling).toString("latin1")].map(whole);
  return views.flatMap((view) => [view, ...readings(view)]).flatMap(({ text }) => (text === "" ? [] : [text]));
}

function whole(text: string): View {
  return { text, begin: (at) => at, end: (at) => at };
}

/**
 * The text without its escapes and breaks of lines, each time once more, until nothing changes. `keepBlanks`: before each also with the
 * blanks that stand around the breaks.
 */
function readings(view: View, keepBlanks = false): readonly View[] {
  const all: View[] = [];
  let last = view;
  for (let times = 0; times < READINGS && MAY_CHANGE.test(last.text); times += 1) {
    const plain = edited(last, escapes(last.text));
    const next = edited(plain, breaks(plain.text));
    if (next === last) break;
    if (keepBlanks && next !== plain)
      all.push(
        edited(
          plain,
          found(plain.text, BREAKS, () => ""),
        ),
      );
    all.push(next);
    last = next;
  }
  return all;
}

/** Each escape. Read by code units: a text may be nothing but escapes, and a pattern for each of them costs ten times as much. */
function* escapes(text: string): Iterable<Change> {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== PERCENT && code !== BACKSLASH && code !== AMPERSAND) continue;
    const change = code === PERCENT ? hexadecimal(text, at) : named(text, at);
    if (change === undefined) continue;
    yield change;
    at = change[1] - 1;
  }
}

const [PERCENT, BACKSLASH, AMPERSAND, LINE_FEED] = [0x25, 0x5c, 0x26, 0x0a];

/** A mark with two digits behind it. */
function hexadecimal(text: string, at: number): Change | undefined {
  const [high, low] = [digitOf(text.charCodeAt(at + 1)), digitOf(text.charCodeAt(at + 2))];
  return high < 0 || low < 0 ? undefined : [at, at + 3, String.fromCharCode(high * 16 + low)];
}

/** What a digit of base 16 stands for; -1 for any other code unit, and where there is none. */
function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function named(text: string, at: number): Change | undefined {
  const mark = text.charAt(at);
  const rest = REST[mark] as RegExp;
  rest.lastIndex = at + 1;
  const groups = rest.exec(text);
  const made = groups === null ? undefined : unescaped(mark, groups);
  return made === undefined ? undefined : [at, rest.lastIndex, made];
}

/** Each byte and each soft break of a line of quoted-printable (RFC 2045, 6.7). */
function* quoted(text: string): Iterable<Change> {
  for (let at = text.indexOf("="); at >= 0; at = text.indexOf("=", at)) {
    let end = at + 1;
    while (end <= at + MOST_BLANKS && " \t".includes(text.charAt(end) || "-")) end += 1;
    if (text.charAt(end) === "\r") end += 1;
    const change: Change | undefined = text.charCodeAt(end) === LINE_FEED ? [at, end + 1, ""] : hexadecimal(text, at);
    if (change !== undefined) yield change;
    at = change?.[1] ?? at + 1;
  }
}

function unescaped(mark: string, groups: readonly (string | undefined)[]): string | undefined {
  const [all = "", first, second, third, fourth] = groups;
  if (mark === "\\")
    return character(first ?? second ?? third, 16) ?? character(fourth, 8) ?? CONTROLS[all.toLowerCase()] ?? all;
  const name = third ?? fourth;
  if (name !== undefined) return namedCharacter(name);
  return character(first, 10) ?? character(second, 16);
}

function character(digits: string | undefined, base: number): string | undefined {
  if (digits === undefined) return undefined;
  const code = Number.parseInt(digits, base);
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** A part of a text, and what is written in its place. */
type Change = readonly [from: number, to: number, made: string];

/** What the pattern finds where there is something to be written in its place. */
function* found(
  text: string,
  pattern: RegExp,
  instead: (groups: readonly (string | undefined)[]) => string | undefined,
): Iterable<Change> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const made = instead(match);
    if (made !== undefined) yield [match.index, match.index + match[0].length, made];
  }
}

/** Each break of a line with the blanks around it. Found from the break on: most blanks of a text have none. */
function* breaks(text: string): Iterable<Change> {
  let end = 0;
  BREAKS.lastIndex = 0;
  for (let match = BREAKS.exec(text); match !== null; match = BREAKS.exec(text)) {
    let from = match.index;
    while (from > end && isBlank(text.charCodeAt(from - 1))) from -= 1;
    end = BREAKS.lastIndex;
    while (end < text.length && isBlank(text.charCodeAt(end))) end += 1;
    yield [from, end, ""];
    BREAKS.lastIndex = end;
  }
}

function isBlank(code: number): boolean {
  return code <= 0x20
    ? code === 0x20 || (code >= 0x09 && code <= 0x0d)
    : code >= 0x80 && BLANK.test(String.fromCharCode(code));
}

/** The view with other text in place of some of it; the same one where nothing changes. */
function edited(view: View, changes: Iterable<Change>): View {
  const edits: Edits = { from: [], to: [], stays: [] };
  let [text, at] = ["", 0];
  for (const [from, to, made] of changes) {
    const last = edits.from.length - 1;
    // What is taken out right behind something else that was is one with it.
    const isMore = made === "" && from === at && last >= 0 && edits.stays[last] === false;
    text += view.text.slice(at, from) + made;
    at = to;
    if (isMore) {
      edits.from[last] = to;
      continue;
    }
    edits.to.push(text.length);
    edits.from.push(at);
    edits.stays.push(made !== "");
  }
  if (at === 0) return view;
  return {
    text: text + view.text.slice(at),
    begin: (place) => view.begin(before(edits, lastUntil(edits, place), place)),
    end: (place) => {
      let index = lastUntil(edits, place);
      // What was taken out behind the place does not belong to it.
      while (edits.to[index] === place && edits.stays[index] === false) index -= 1;
      return view.end(before(edits, index, place));
    },
  };
}

/** The last edit whose end is not behind the place; -1 where there is none. */
function lastUntil({ to }: Edits, place: number): number {
  let [low, high] = [0, to.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((to[middle] as number) <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function before({ from, to }: Edits, index: number, place: number): number {
  return index < 0 ? place : (from[index] as number) + place - (to[index] as number);
}

/**
 * The bytes of each run of Base64 or of numbers, one character a byte, and without zeros where there are some.
 *
 * @param start What the view was made from: breaks of lines that were taken out may be all that stood between two numbers.
 */
function* written(view: View, start: View): Iterable<View> {
  for (const bytes of bytesOf(view, start)) {
    yield bytes;
    // Two bytes a character are one and a zero where it is of ASCII.
    if (bytes.text.includes("\0"))
      yield edited(
        bytes,
        found(bytes.text, ZEROS, () => ""),
      );
  }
}

// oxlint-disable-next-line no-control-regex -- zeros are what is looked for
const ZEROS = /\0+/g;

function* bytesOf(view: View, start: View): Iterable<View> {
  for (const { 0: run, index } of matches(view.text, BASE64))
    // Where its groups begin is not known when other text stands right before it.
    for (let shift = 0; shift < 4; shift += 1) {
      const from = index + shift;
      yield {
        text: Buffer.from(run.slice(shift), "base64").toString("latin1"),
        begin: (at) => view.begin(from + Math.floor((at * 4) / 3)),
        end: (at) => view.end(from + Math.min(Math.ceil((at * 4) / 3), run.length - shift)),
      };
    }
  for (const { 0: run, index } of matches(view.text, SIXTEENTHS))
    for (const shift of [0, 1]) yield sixteenths(view, run.slice(shift), index + shift);
  for (const { text, begins, ends } of charColumns(start.text))
    yield {
      text,
      begin: (at) => start.begin(begins[at] ?? start.text.length),
      end: (at) => start.end(ends[at - 1] ?? 0),
    };
  for (const from of view === start ? [view] : [start, view])
    for (const base of [8, 10, 16] as const)
      for (const { text, begins, ends } of byteLists(from.text, base))
        yield {
          text,
          begin: (at) => from.begin(begins[at] ?? from.text.length),
          end: (at) => from.end(ends[at - 1] ?? 0),
        };
}

/** Each has its place: a dump may be millions of them. */
function sixteenths(view: View, run: string, from: number): View {
  const text = Buffer.from(run.slice(0, run.length & ~1), "hex").toString("latin1");
  return { text, begin: (at) => view.begin(from + at * 2), end: (at) => view.end(from + at * 2) };
}

/** All at once: the pattern is used again before the last of them is looked at. */
function matches(text: string, pattern: RegExp): readonly RegExpExecArray[] {
  const all: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) all.push(match);
  return all;
}
