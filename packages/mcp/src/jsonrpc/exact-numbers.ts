// Keeps what is passed on as it was sent: the digits of numbers that JavaScript would write in another way (12345678901234567890,
// 1.0, 1e400), and the JSON of long texts, which it would cost too much to write anew.

import { asOneText, writeBy } from "./message.js";
import { closingQuote, lookAtParsed } from "./parse.js";

/** A number by its own digits. It stands in values that are passed on, and in no others. */
export class ExactNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  /** What `exactJson` makes the number of; to everybody else its digits, as a text. */
  toJSON(): string {
    return writing ? theMark() + this.#text : this.#text;
  }
}

/** Texts from this length on are long. */
const LONG = 64 * 1024;

let writing = false;
/** Stands in a text that is being written before what tells what goes there. Nobody outside can know it, so that no text passes for it. */
let mark: string | undefined;

function theMark(): string {
  return (mark ??= `as sent ${crypto.randomUUID()} `);
}

/** JSON text as `JSON.stringify` writes it, but exact numbers by their own digits and long texts as they came. */
export function exactJson(value: unknown): string {
  return asOneText(exactPieces(value));
}

/** The same in pieces, each long text one of its own; one text where there is none. */
export function exactPieces(value: unknown): string | readonly string[] {
  const long: string[] = [];
  const outer = writing;
  writing = true;
  try {
    const text = JSON.stringify(
      anyLong ? replaced(value, COPIED, (note, member) => leftOut(note, member, long)) : value,
    );
    return mark !== undefined && (text as string | undefined)?.includes(mark) === true ? putIn(text, mark, long) : text;
  } finally {
    writing = outer;
  }
}

/** What stands for a long text until its JSON is put in. A text that is another than came is written as every other. */
function leftOut(note: Note, member: unknown, long: string[]): unknown {
  if (typeof note === "string" || note.value !== member) return member;
  return `${theMark()}#${long.push(note.json)}`;
}

/** The digits of a number, or which of the long texts. */
const PUT_IN = /^(?:[-+.\deE]+|#\d+)(?=")/;

function putIn(text: string, marked: string, long: readonly string[]): string | readonly string[] {
  const [before = "", ...parts] = text.split(`"${marked}`);
  const pieces = [before];
  for (const part of parts) {
    const [told = ""] = PUT_IN.exec(part) ?? [];
    const rest = part.slice(told.length + 1);
    const json = told.startsWith("#") ? long[Number(told.slice(1)) - 1] : undefined;
    if (json !== undefined) pieces.push(json, rest);
    else pieces[pieces.length - 1] += told === "" || told.startsWith("#") ? `"${marked}${part}` : told + rest;
  }
  return pieces.length === 1 ? (pieces[0] as string) : pieces;
}

/** Of a number its digits; of a long text its JSON, quotes and all. */
type Note = string | { readonly value: string; readonly json: string };

/** By key. */
type Notes = Map<string, Note>;

// In the object or list itself, where nobody comes by it: what a WeakMap holds V8 keeps until its next full collection.
const NOTES: unique symbol = Symbol("what was sent");

/** What was sent of the members of an object or list. Whatever holds one that has notes has some too. */
function notesOf(holder: object): Notes | undefined {
  return (holder as { readonly [NOTES]?: Notes })[NOTES];
}

function giveNotes(holder: object, notes: Notes): Notes {
  Object.defineProperty(holder, NOTES, { value: notes });
  return notes;
}

let [anySent, anyLong] = [false, false];

/** From now on what would be lost of messages, or costs much to write, is kept: only who passes values on needs that. */
export function watchNumbers(): void {
  lookAtParsed(noteSent);
  writeBy(exactPieces);
}

/** What nearly no text has: a number with a fraction, an exponent or many digits, or minus nought. Words may look like it. */
const SUSPECT = /[:,[\s]-?(?:\d+[.eE]|\d{16})|[:,[\s]-0/;
const NUMBER = /[-+.\deE]+/y;

/** Keeps what would be lost of the numbers in a message that was parsed: its text is valid JSON without duplicate keys. */
function noteSent(text: string, message: unknown): void {
  if (!isContainer(message)) return;
  if (text.length >= LONG && holds(message, isLong)) return new Scan(text).run(message);
  // Most texts need not be looked at: the only number of a message is its id.
  const hasNumber = Object.values(message).some(
    (member) => isContainer(member) && holds(member, (each) => typeof each === "number"),
  );
  if (hasNumber && SUSPECT.test(text)) new Scan(text).run(message);
}

function holds(value: object, sought: (member: unknown) => boolean): boolean {
  return Object.values(value).some((member) => sought(member) || (isContainer(member) && holds(member, sought)));
}

const isLong = (member: unknown): boolean => typeof member === "string" && member.length >= LONG;

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Where a scan is. */
interface Place {
  readonly holder: object;
  /** Of the item, in a list; in an object the key as it is written, empty where it is still to come. */
  at: number | string;
}

class Scan {
  readonly #text: string;
  readonly #around: Place[] = [];
  #place: Place | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  run(value: object): void {
    const text = this.#text;
    for (let i = 0; i < text.length; i++) {
      const character = text[i] as string;
      if (character === '"') i = this.#string(i);
      else if (character === "{" || character === "[") this.#open(value, character === "[" ? 0 : "");
      else if (character === "}" || character === "]") this.#place = this.#around.pop();
      else if (character === ",") this.#next();
      else if (character === "-" || (character >= "0" && character <= "9")) i = this.#number(i);
    }
  }

  /** The index of the quote that ends it. */
  #string(start: number): number {
    const end = closingQuote(this.#text, start);
    const place = this.#place;
    if (place?.at === "") place.at = this.#text.slice(start, end + 1);
    else if (place !== undefined && end - start > LONG) {
      anyLong = true;
      const key = keyOf(place);
      const holder = place.holder as Record<string, string>;
      const json = this.#text.slice(start, end + 1);
      // Without an escape it is a part of its JSON: then one copy is kept, not two. A part keeps the whole message.
      const isMost = json.length > this.#text.length / 2;
      if (isMost && holder[key]?.length === json.length - 2) holder[key] = json.slice(1, -1);
      this.#note(place, { value: holder[key] as string, json });
    }
    return end;
  }

  #open(whole: object, at: number | string): void {
    const place = this.#place;
    if (place !== undefined) this.#around.push(place);
    const holder = place === undefined ? whole : (place.holder as Readonly<Record<string, unknown>>)[keyOf(place)];
    this.#place = { holder: holder as object, at };
  }

  #next(): void {
    const place = this.#place as Place;
    place.at = typeof place.at === "number" ? place.at + 1 : "";
  }

  /** The index of its last digit. */
  #number(start: number): number {
    NUMBER.lastIndex = start;
    const [token] = NUMBER.exec(this.#text) as unknown as [string];
    if (String(Number(token)) !== token) {
      anySent = true;
      this.#note(this.#place as Place, token);
    }
    return start + token.length - 1;
  }

  #note(place: Place, note: Note): void {
    for (const { holder } of this.#around) if (notesOf(holder) === undefined) giveNotes(holder, new Map());
    (notesOf(place.holder) ?? giveNotes(place.holder, new Map())).set(keyOf(place), note);
  }
}

function keyOf({ at }: Place): string {
  return typeof at === "number" ? String(at) : (JSON.parse(at) as string);
}

/** The digits of a number as it was sent, where they are others than JavaScript writes. */
export function sentDigits(holder: object, key: string): string | undefined {
  const note = anySent ? notesOf(holder)?.get(key) : undefined;
  return digitsOf(note, (holder as Readonly<Record<string, unknown>>)[key]);
}

function digitsOf(note: Note | undefined, member: unknown): string | undefined {
  return typeof note === "string" && Object.is(Number(note), member) ? note : undefined;
}

/** As deep as values are copied, from one object to another, on their way to whoever passes them on. */
const COPIED = 2;

/**
 * The value with its numbers as they were sent: the very same where all would be written so. What was changed since it was parsed is
 * as it was changed to.
 */
export function exactly<T>(value: T): T {
  return anySent ? (replaced(value, COPIED, exactNumber) as T) : value;
}

function exactNumber(note: Note, member: unknown): unknown {
  const digits = digitsOf(note, member);
  return digits === undefined ? member : new ExactNumber(digits);
}

/** The value with members of which something is noted as `by` gives them. Objects that hold none are the very same. */
function replaced(value: unknown, copied: number, by: (note: Note, member: unknown) => unknown): unknown {
  // What says itself how it is written is no copy of what was parsed.
  if (!isContainer(value) || typeof (value as { readonly toJSON?: unknown }).toJSON === "function") return value;
  const known = notesOf(value);
  if (known === undefined && copied === 0) return value;
  let changed = false;
  const nowOf = (key: string, member: unknown): unknown => {
    const note = known?.get(key);
    const now = note === undefined ? replaced(member, known === undefined ? copied - 1 : copied, by) : by(note, member);
    changed ||= now !== member;
    return now;
  };
  const copy: object = Array.isArray(value)
    ? value.map((member, at) => nowOf(String(at), member))
    : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, nowOf(key, member)]));
  if (!changed) return value;
  if (known !== undefined) giveNotes(copy, known);
  return copy;
}

/** What `exactJson` wrote: as `JSON.parse` reads it, with the numbers by their own digits. Throws a SyntaxError for what is not JSON. */
export function exactValue(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isContainer(value) && SUSPECT.test(text)) new Scan(text).run(value);
  return exactly(value);
}
