// Finds values that stand in no text as they are: over several lines, escaped more than once, or in bytes that are written as text.
import { Buffer } from "node:buffer";
import { escaped } from "./secret-spellings.js";

/** Times a text is read without its escapes and line breaks: `%255F` takes two. */
const READINGS = 3;
/** Times bytes that are written as text are looked into: Base64 of Base64 takes two. */
const LAYERS = 3;

/** Of HTML's names those of ASCII. */
const NAMES: Readonly<Record<string, string>> = {
  tab: "\t",
  newline: "\n",
  excl: "!",
  quot: '"',
  num: "#",
  dollar: "$",
  percnt: "%",
  amp: "&",
  apos: "'",
  lpar: "(",
  rpar: ")",
  ast: "*",
  midast: "*",
  plus: "+",
  comma: ",",
  period: ".",
  sol: "/",
  colon: ":",
  semi: ";",
  lt: "<",
  equals: "=",
  gt: ">",
  quest: "?",
  commat: "@",
  lsqb: "[",
  lbrack: "[",
  bsol: "\\",
  rsqb: "]",
  rbrack: "]",
  hat: "^",
  lowbar: "_",
  underbar: "_",
  grave: "`",
  lcub: "{",
  lbrace: "{",
  verbar: "|",
  vert: "|",
  rcub: "}",
  rbrace: "}",
};
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

const MAY_CHANGE = /[%\\&\n\r\u2028\u2029]/;
const MAY_BE_OTHER = /[%\\&\n\r\u0080-\uffff]/;
const MARKS = /[%\\&]/g;
const REST: Readonly<Record<string, RegExp>> = {
  "%": /([0-9a-f]{2})/iy,
  "\\": /u([0-9a-f]{4})|u\{0*([0-9a-f]{1,6})\}|x([0-9a-f]{2})|[nrt/"'<>+`&\\]/iy,
  "&": /#0*(\d{1,7});?|#x0*([0-9a-f]{1,6});?|([a-z]{2,8});|(amp|lt|gt|quot)/iy,
};
const BREAKS = /[\n\r\u2028\u2029]/g;
const BLANK = /\s/;
const QUOTED = /=(?:([0-9a-f]{2})|[ \t]{0,8}\r?\n)/gi;
const BASE64 = /[A-Za-z0-9+/_-]{12,}/g;
/** Two digits a byte, as programs write them: with nothing between them, or one mark. */
const SIXTEENTHS = /(?:(?:\\x|0x)?[0-9a-f]{2}(?:, ?|[ :-])?){6,}/gi;
const DECIMALS = /(?:\d{1,3}(?:, ?| )){5,}\d{1,3}/g;

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

  /** @param spellings Each with what is written in its place. */
  constructor(spellings: Iterable<readonly [spelling: string, label: string]>) {
    for (const [spelling, label] of spellings)
      for (const form of formsOf(spelling)) if (!this.#labels.has(form)) this.#labels.set(form, label);
    const sorted = [...this.#labels.keys()].sort((a, b) => b.length - a.length);
    this.#pattern = new RegExp(sorted.map(escaped).join("|"), "g");
  }

  /** Where they stand other than as they are. Linear in the text's length. */
  in(text: string): readonly Found[] {
    const places: Found[] = [];
    this.#read(whole(text), 0, places);
    return places;
  }

  #read(view: View, layer: number, places: Found[]): void {
    // What stands there as it is was found before.
    if (layer > 0) this.#search(view, places);
    const quoted = view.text.includes("=")
      ? edited(
          view,
          found(view.text, QUOTED, ([, digits]) => character(digits, 16) ?? ""),
        )
      : view;
    for (const start of quoted === view ? [view] : [view, quoted]) {
      if (start !== view) this.#search(start, places);
      let last = start;
      for (last of readings(start)) this.#search(last, places);
      if (layer < LAYERS && (start === view || last !== start))
        for (const bytes of written(last)) this.#read(bytes, layer + 1, places);
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

/** The text without its escapes and breaks of lines, each time once more, until nothing changes. */
function readings(view: View): readonly View[] {
  const all: View[] = [];
  for (let last = view; all.length < READINGS && MAY_CHANGE.test(last.text);) {
    const plain = edited(last, escapes(last.text));
    const next = edited(plain, breaks(plain.text));
    if (next === last) break;
    all.push(next);
    last = next;
  }
  return all;
}

/** Each escape, found by its mark: what follows is looked at only there. */
function* escapes(text: string): Iterable<Change> {
  MARKS.lastIndex = 0;
  for (let match = MARKS.exec(text); match !== null; match = MARKS.exec(text)) {
    const [mark] = match;
    const rest = REST[mark] as RegExp;
    rest.lastIndex = match.index + 1;
    const groups = rest.exec(text);
    const made = groups === null ? undefined : unescaped(mark, groups);
    if (made === undefined) continue;
    MARKS.lastIndex = rest.lastIndex;
    yield [match.index, rest.lastIndex, made];
  }
}

function unescaped(mark: string, groups: readonly (string | undefined)[]): string | undefined {
  const [all = "", first, second, third, fourth] = groups;
  if (mark === "%") return character(first, 16);
  if (mark === "\\") return character(first ?? second ?? third, 16) ?? CONTROLS[all.toLowerCase()] ?? all;
  const name = third ?? fourth;
  if (name !== undefined) return NAMES[name.toLowerCase()];
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
    while (from > end && BLANK.test(text.charAt(from - 1))) from -= 1;
    end = BREAKS.lastIndex;
    while (end < text.length && BLANK.test(text.charAt(end))) end += 1;
    yield [from, end, ""];
    BREAKS.lastIndex = end;
  }
}

/** The view with other text in place of some of it; the same one where nothing changes. */
function edited(view: View, changes: Iterable<Change>): View {
  const edits: Edits = { from: [], to: [], stays: [] };
  let [text, at] = ["", 0];
  for (const [from, to, made] of changes) {
    text += view.text.slice(at, from) + made;
    at = to;
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

/** The bytes of each run of Base64, sixteenths or decimals, one character a byte, and without zeros where there are some. */
function* written(view: View): Iterable<View> {
  for (const bytes of bytesOf(view)) {
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

function* bytesOf(view: View): Iterable<View> {
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
    for (const shift of [0, 1]) yield numbers(view, run.slice(shift), index + shift, 16);
  for (const { 0: run, index } of matches(view.text, DECIMALS)) yield numbers(view, run, index, 10);
}

const DIGITS = { 10: /\d+/g, 16: /[0-9a-f]{2}/gi } as const;

function numbers(view: View, run: string, from: number, base: 10 | 16): View {
  const [begins, ends, bytes]: [number[], number[], number[]] = [[], [], []];
  const digits = DIGITS[base];
  digits.lastIndex = 0;
  for (let match = digits.exec(run); match !== null; match = digits.exec(run)) {
    begins.push(from + match.index);
    ends.push(from + digits.lastIndex);
    bytes.push(Number.parseInt(match[0], base) & 255);
  }
  return {
    text: Buffer.from(bytes).toString("latin1"),
    begin: (at) => view.begin(begins[at] ?? from),
    end: (at) => view.end(ends[at - 1] ?? from),
  };
}

/** All at once: the pattern is used again before the last of them is looked at. */
function matches(text: string, pattern: RegExp): readonly RegExpExecArray[] {
  const all: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) all.push(match);
  return all;
}
