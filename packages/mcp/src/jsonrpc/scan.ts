// Counts the structure of a JSON text in one pass over its characters, before anything is allocated for it.
import type { JsonRpcLimits } from "./limits.js";

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
// `[` and `{` differ from each other, and `]` and `}` too, in this one bit only.
const CURLY_BIT = 32;
const OPENING = 123;
const CLOSING = 125;

/**
 * The number of colons outside strings, which is the number of object members if `text` is JSON; or the sentence that
 * says which limit it breaks. Says nothing about whether `text` is JSON.
 */
export function countMembers(text: string, limits: JsonRpcLimits): number | string {
  const { length } = text;
  let depth = 0;
  let colons = 0;
  let values = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = closingQuote(text, i);
      if (i < 0) break;
    } else if (code === COLON) {
      colons++;
    } else if (code === COMMA) {
      values++;
    } else if ((code | CURLY_BIT) === OPENING) {
      values++;
      if (++depth > limits.depth) return `nested deeper than ${limits.depth} levels`;
    } else if ((code | CURLY_BIT) === CLOSING) {
      depth--;
    }
  }
  if (values > limits.values) return `holds more than ${limits.values} values`;
  if (colons > limits.members) return `holds more than ${limits.members} object members`;
  return colons;
}

/** The index of the quote that closes the string opened at `opening`, or -1. */
export function closingQuote(text: string, opening: number): number {
  let quote = text.indexOf('"', opening + 1);
  while (quote > 0 && text.charCodeAt(quote - 1) === BACKSLASH && isEscaped(text, quote)) {
    quote = text.indexOf('"', quote + 1);
  }
  return quote;
}

// Runs of backslashes before different quotes do not overlap, so all calls for one text together are linear.
function isEscaped(text: string, quote: number): boolean {
  let before = quote - 2;
  while (text.charCodeAt(before) === BACKSLASH) before--;
  return (quote - before) % 2 === 0;
}
