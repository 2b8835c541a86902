// Finds values of secrets whose pieces stand at the ends of several texts of one message, in any order and with others between them.
import { knownSpellings, secretsVersion } from "./secret-shapes.js";

/** Characters by which pieces are looked up. */
const GRAM = 4;
/** Characters of a piece, at least: shorter ones stand in texts by chance. */
const LEAST = 6;
/** The same of a value that has not two such pieces. One of fewer than two of these is looked for as a whole only. */
const LEAST_OF_SHORT = 4;
/** Places at which a gram stands in values: of more the first count, as in a value of one character repeated. */
const MOST_PLACES = 64;
/** What may stand around a piece at the end of its text, and how much of it: quotes, brackets, marks, blanks. */
const AROUND: ReadonlySet<string> = new Set(" \t\n\r\"'`()[]{}<>|,;:.=-");
const MOST_AROUND = 4;

interface Place {
  readonly value: string;
  readonly at: number;
}

let grams: ReadonlyMap<string, readonly Place[]> = new Map();
let version = -1;

/** By the first characters of what may be a piece. */
function known(): ReadonlyMap<string, readonly Place[]> {
  const now = secretsVersion();
  if (now === version) return grams;
  const made = new Map<string, Place[]>();
  for (const value of knownSpellings().keys()) {
    if (value.length < 2 * LEAST_OF_SHORT) continue;
    for (let at = 0; at + GRAM <= value.length; at += 1) {
      const gram = value.slice(at, at + GRAM);
      const places = made.get(gram);
      if (places === undefined) made.set(gram, [{ value, at }]);
      else if (places.length < MOST_PLACES) places.push({ value, at });
    }
  }
  [grams, version] = [made, now];
  return grams;
}

/** A piece of a value in a text. */
interface Piece extends Place {
  readonly from: number;
  readonly length: number;
}

const NONE: readonly Piece[] = [];

/** What of values stands at the beginning and at the end of a text, also without the marks that stand there. */
function piecesOf(text: string): readonly Piece[] {
  const own = endsOf(text, 0);
  let [from, to] = [0, text.length];
  while (from < to && from < MOST_AROUND && AROUND.has(text[from] as string)) from += 1;
  while (to > from && text.length - to < MOST_AROUND && AROUND.has(text[to - 1] as string)) to -= 1;
  if (to - from === text.length) return own;
  const bare = endsOf(text.slice(from, to), from);
  return bare.length === 0 ? own : [...own, ...bare];
}

/** `before`: characters that stand before the text. */
function endsOf(text: string, before: number): readonly Piece[] {
  if (text.length < GRAM) return NONE;
  const all = known();
  const [first, last] = [all.get(text.slice(0, GRAM)), all.get(text.slice(-GRAM))];
  if (first === undefined && last === undefined) return NONE;
  const pieces = [
    ...(first ?? []).flatMap((place) => atStart(text, place)),
    ...(last ?? []).flatMap((place) => atEnd(text, place)),
  ];
  return pieces.map((piece) => ({ ...piece, from: piece.from + before }));
}

function atStart(text: string, { value, at }: Place): readonly Piece[] {
  let length = GRAM;
  while (length < text.length && at + length < value.length && text[length] === value[at + length]) length += 1;
  return length < leastOf(value) ? [] : [{ value, at, from: 0, length }];
}

function atEnd(text: string, { value, at: gram }: Place): readonly Piece[] {
  let [from, at] = [text.length - GRAM, gram];
  while (from > 0 && at > 0 && text[from - 1] === value[at - 1]) [from, at] = [from - 1, at - 1];
  const length = text.length - from;
  return length < leastOf(value) ? [] : [{ value, at, from, length }];
}

function leastOf({ length }: string): number {
  return length < 2 * LEAST ? LEAST_OF_SHORT : LEAST;
}

/** The pieces in the texts of one message. */
export class ValuePieces {
  /** What of each value was seen: which of its characters. */
  readonly #seen = new Map<string, Uint8Array>();

  look(text: string): void {
    for (const { value, at, length } of piecesOf(text)) {
      const seen = this.#seen.get(value) ?? new Uint8Array(value.length);
      this.#seen.set(value, seen.fill(1, at, at + length));
    }
  }

  /** The values of which every character was seen, each with what is written in its place. */
  whole(): ReadonlyMap<string, string> {
    const whole = [...this.#seen].flatMap(([value, seen]) => (seen.includes(0) ? [] : [value]));
    return new Map(whole.map((value) => [value, `[secret ${knownSpellings().get(value) ?? ""}]`]));
  }
}

/** The text without the pieces of these values at its ends. */
export function withoutPieces(text: string, values: ReadonlyMap<string, string>): string {
  const pieces = piecesOf(text).filter(({ value }) => values.has(value));
  if (pieces.length === 0) return text;
  let [out, position] = ["", 0];
  for (const { value, from, length } of pieces.toSorted((a, b) => a.from - b.from || b.length - a.length)) {
    const end = from + length;
    if (end <= position) continue;
    out += from < position ? "" : text.slice(position, from) + (values.get(value) ?? "");
    position = end;
  }
  return out + text.slice(position);
}
