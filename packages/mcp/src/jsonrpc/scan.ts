// Counts the structure of a JSON text in one pass over its characters, before anything is allocated for it.
import type { BrokenLimit, JsonRpcLimits } from "./limits.js";

const QUOTE = 34;
const BACKSLASH = 92;
// Characters stepped through behind an escaped quote before the engine searches again.
const DENSE = 12;
// Characters that mean nothing, one after another, behind which the engine searches for one that does.
const SPARSE = 32;

// What a character means outside strings; 0 is nothing. JSON has no character above 127 there, so the table needs no
// more: what a higher one is taken for does not matter, for the parser refuses the text.
const STRING = 1;
const COLON = 2;
const COMMA = 3;
const OPEN = 4;
const CLOSE = 5;
const ROLES: Uint8Array = rolesOfCharacters();
const MEANINGFUL = /["[\]{}:,]/g;
const ESCAPES = /(?:\\[^])+/y;

function rolesOfCharacters(): Uint8Array {
  const roles = new Uint8Array(128);
  const pairs: [string, number][] = [
    ['"', STRING],
    [":", COLON],
    [",", COMMA],
    ["[{", OPEN],
    ["]}", CLOSE],
  ];
  for (const [characters, role] of pairs) {
    for (const character of characters) roles[character.charCodeAt(0)] = role;
  }
  return roles;
}

/**
 * The number of colons outside strings, which is the number of object members if `text` is JSON; or the name of the
 * limit it breaks. Says nothing about whether `text` is JSON.
 */
export function countMembers(text: string, limits: JsonRpcLimits): number | BrokenLimit {
  const { length } = text;
  let depth = 0;
  let colons = 0;
  let values = 0;
  let idle = 0;
  for (let i = 0; i < length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127] as number;
    if (role === 0) {
      if (++idle <= SPARSE) continue;
      i = nextMeaning(text, i + 1) - 1;
      idle = 0;
      continue;
    }
    idle = 0;
    if (role === STRING) {
      i = closingQuote(text, i);
      // No JSON has a string right behind a string: the parser stops at the same place.
      if (i < 0 || text.charCodeAt(i + 1) === QUOTE) break;
    } else if (role === COLON) {
      if (++colons > limits.members) return "members";
    } else if (role === CLOSE) {
      // Nor does it close what it has not opened.
      if (--depth < 0) break;
    } else {
      if (++values > limits.values) return "values";
      if (role === OPEN && ++depth > limits.depth) return "depth";
    }
  }
  return colons;
}

/** How much a text has of what a limit bounds, for the error that names it: the text is looked at once more, to its end. */
export function amountOf(limit: "depth" | "values" | "members", text: string): number {
  let depth = 0;
  const most = { depth: 0, values: 0, members: 0 };
  for (let i = 0; i < text.length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127];
    if (role === STRING) i = closingQuote(text, i);
    if (i < 0) break;
    if (role === COLON) most.members++;
    if (role === COMMA || role === OPEN) most.values++;
    if (role === OPEN) most.depth = Math.max(most.depth, ++depth);
    if (role === CLOSE) depth--;
  }
  return most[limit];
}

/** The number of colons outside strings of a text that is JSON. */
export function countColons(text: string): number {
  let colons = 0;
  for (let i = 0; i < text.length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127] as number;
    if (role === COLON) colons++;
    if (role !== STRING) continue;
    const opening = i;
    i = text.indexOf('"', opening + 1);
    if (text.charCodeAt(i - 1) === BACKSLASH) i = closingQuote(text, opening);
    if (i < 0) break;
  }
  return colons;
}

/** The index of the next character that means something, or the length of the text. */
function nextMeaning(text: string, from: number): number {
  MEANINGFUL.lastIndex = from;
  return MEANINGFUL.test(text) ? MEANINGFUL.lastIndex - 1 : text.length;
}

/** The index of the quote that closes the string opened at `opening`, or -1. */
export function closingQuote(text: string, opening: number): number {
  // Empty strings by the million must not cost a search each.
  if (text.charCodeAt(opening + 1) === QUOTE) return opening + 1;
  let from = opening + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0 || !isEscaped(text, from, quote)) return quote;
    // Where one quote is escaped more may be near, and stepping is cheaper than searching for each.
    for (from = quote + 1; from < quote + DENSE; from++) {
      const code = text.charCodeAt(from);
      if (code === BACKSLASH) from++;
      else if (code === QUOTE) return from;
    }
    if (text.charCodeAt(from) === BACKSLASH) from = endOfEscapes(text, from);
  }
}

/** The index behind the escapes that follow each other from here on. */
function endOfEscapes(text: string, from: number): number {
  ESCAPES.lastIndex = from;
  return ESCAPES.test(text) ? ESCAPES.lastIndex : from;
}

/** Whether an odd number of backslashes, none before `from`, stands before the quote. */
function isEscaped(text: string, from: number, quote: number): boolean {
  let i = quote - 1;
  while (i >= from && text.charCodeAt(i) === BACKSLASH) i--;
  return ((quote - i) & 1) === 0;
}

/** The index of the comma or bracket that ends the value at `start`, or the length of the text. */
export function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const role = ROLES[text.charCodeAt(i) & 127];
    if (role === STRING) {
      i = closingQuote(text, i);
      if (i < 0) break;
    } else if (role === OPEN) {
      depth++;
    } else if (role === CLOSE) {
      if (depth-- === 0) return i;
    } else if (role === COMMA && depth === 0) {
      return i;
    }
  }
  return text.length;
}
