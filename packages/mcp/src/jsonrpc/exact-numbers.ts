// Keeps the digits of numbers that JavaScript would write in another way than they were sent: 12345678901234567890, 1.0, 1e400.

import { writeBy } from "./message.js";
import { lookAtParsed } from "./parse.js";

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
    if (!writing) return this.#text;
    mark ??= `number ${crypto.randomUUID()} `;
    return mark + this.#text;
  }
}

let writing = false;
/** Stands before the digits in a text that is being written. Nobody outside can know it, so that no text passes for a number. */
let mark: string | undefined;

/** JSON text as `JSON.stringify` writes it, and exact numbers by their own digits. */
export function exactJson(value: unknown): string {
  const outer = writing;
  writing = true;
  try {
    const text = JSON.stringify(value);
    return mark !== undefined && (text as string | undefined)?.includes(mark) === true ? unmarked(text, mark) : text;
  } finally {
    writing = outer;
  }
}

const DIGITS = /^[-+.\deE]+(?=")/;

function unmarked(text: string, marked: string): string {
  const [before = "", ...parts] = text.split(`"${marked}`);
  const written = parts.map((part) => {
    const [digits] = DIGITS.exec(part) ?? [];
    return digits === undefined ? `"${marked}${part}` : digits + part.slice(digits.length + 1);
  });
  return before + written.join("");
}

/** By the object or list they stand in: numbers as they were sent, by key. Whatever holds such an object is in it too. */
const sent = new WeakMap<object, Map<string, string>>();
let anySent = false;

/** From now on numbers of messages are kept where they would be lost, and written so: only who passes values on needs that. */
export function watchNumbers(): void {
  lookAtParsed(noteNumbers);
  writeBy(exactJson);
}

/** What nearly no text has: a number with a fraction, an exponent or many digits, or minus nought. Words may look like it. */
const SUSPECT = /[:,[\s]-?(?:\d+[.eE]|\d{16})|[:,[\s]-0/;
const NUMBER = /[-+.\deE]+/y;

/** Keeps what would be lost of the numbers in a message that was parsed: its text is valid JSON without duplicate keys. */
function noteNumbers(text: string, message: unknown): void {
  if (!isContainer(message)) return;
  // Most texts need not be looked at: the only number of a message is its id.
  if (Object.values(message).some((member) => isContainer(member) && hasNumber(member))) note(text, message);
}

function hasNumber(value: object): boolean {
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === "number" || (isContainer(member) && hasNumber(member))) return true;
  }
  return false;
}

function note(text: string, value: object): void {
  if (SUSPECT.test(text)) new Scan(text).run(value);
}

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
    const text = this.#text;
    let end = text.indexOf('"', start + 1);
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
    if (this.#place?.at === "") this.#place.at = text.slice(start, end + 1);
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
    const place = this.#place as Place;
    if (String(Number(token)) !== token) {
      anySent = true;
      for (const { holder } of this.#around) if (!sent.has(holder)) sent.set(holder, new Map());
      const known = sent.get(place.holder) ?? new Map<string, string>();
      sent.set(place.holder, known.set(keyOf(place), token));
    }
    return start + token.length - 1;
  }
}

function isEscaped(text: string, quote: number): boolean {
  let first = quote;
  while (text[first - 1] === "\\") first--;
  return (quote - first) % 2 === 1;
}

function keyOf({ at }: Place): string {
  return typeof at === "number" ? String(at) : (JSON.parse(at) as string);
}

/** The digits of a number as it was sent, where they are others than JavaScript writes. */
export function sentDigits(holder: object, key: string): string | undefined {
  const text = anySent ? sent.get(holder)?.get(key) : undefined;
  const isSame = text !== undefined && Object.is(Number(text), (holder as Readonly<Record<string, unknown>>)[key]);
  return isSame ? text : undefined;
}

/** As deep as values are copied, from one object to another, on their way to whoever passes them on. */
const COPIED = 2;

/**
 * The value with its numbers as they were sent: the very same where all would be written so. What was changed since it was parsed is
 * as it was changed to.
 */
export function exactly<T>(value: T): T {
  return anySent ? (exact(value, COPIED) as T) : value;
}

function exact(value: unknown, copied: number): unknown {
  if (!isContainer(value) || value instanceof ExactNumber) return value;
  const known = sent.get(value);
  if (known === undefined && copied === 0) return value;
  let changed = false;
  const entries = Object.entries(value).map(([key, member]) => {
    const text = typeof member === "number" ? known?.get(key) : undefined;
    const itself = text !== undefined && Object.is(Number(text), member);
    const now = itself ? new ExactNumber(text) : exact(member, known === undefined ? copied - 1 : copied);
    changed ||= now !== member;
    return [key, now] as const;
  });
  if (!changed) return value;
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}

/** What `exactJson` wrote: as `JSON.parse` reads it, with the numbers by their own digits. Throws a SyntaxError for what is not JSON. */
export function exactValue(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isContainer(value)) note(text, value);
  return exactly(value);
}
