// Any character for generated texts. The unit "binary" of fast-check is the same, and takes a second to make its tables.
import fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST = 0x10ffff - SURROGATES.count;

/** One code point that is no surrogate, the first and the last ones more often than others. */
export const codePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: LAST })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));
