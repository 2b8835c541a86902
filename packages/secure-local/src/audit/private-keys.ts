// Finds private keys as they stand in texts, in PEM and OpenPGP's armour: with headers, escaped, in quotes, on one line. What
// stands before a key's letters can be read in more ways than anybody can try, so it is read once, for all ways together.

const BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/**
 * One sign of those between the lines of a key: white space, its escapes, and the quotes of a program; and whether a header or
 * letters of the key come right after it.
 */
const BETWEEN = /(?:\s|\\[nr]|["',])(?=([\w-]{2,30}: )?)(?=([A-Za-z0-9+/=]{16})?)/g;
/** From the first letters to the last, or to the end that is marked. */
const LETTERS =
  /[A-Za-z0-9+/=]{16,}(?:(?:\s|\\[nr]|["',])+[A-Za-z0-9+/=]+)*(?:(?:\s|\\[nr]|["',])+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/y;
/** Characters of a header's value, all on one line. */
const MOST_OF_VALUE = 200;

/** The text with each key replaced, from its mark to its last letter. Linear in its length, whatever it holds. */
export function replacePrivateKeys(text: string, replacement: string): string {
  if (!text.includes("PRIVATE KEY")) return text;
  let clean = "";
  let done = 0;
  let tried = 0;
  for (const { 0: mark, index } of text.matchAll(BEGIN)) {
    const from = index + mark.length;
    // What follows this mark was tried already, with the mark as a part of a header's value.
    if (index < done || from <= tried) continue;
    const { letters, reach } = lettersAfter(text, from);
    tried = reach;
    if (letters === undefined) continue;
    LETTERS.lastIndex = letters;
    const end = letters + (LETTERS.exec(text)?.[0].length ?? 0);
    clean += text.slice(done, index) + replacement;
    done = end;
  }
  return clean + text.slice(done);
}

/**
 * Where the letters of a key begin, the last place of all where they may, and how far its headers reach. A value ends anywhere
 * in its line, so what counts is up to where one may: every sign before it begins another header, or the letters.
 */
function lettersAfter(text: string, from: number): { readonly letters: number | undefined; readonly reach: number } {
  const signs = new RegExp(BETWEEN);
  signs.lastIndex = from;
  let letters: number | undefined;
  // Where a value, or the mark, may end at first and at last, and where the sign before ended.
  let [first, reach, end] = [from, from, -1];
  for (let sign = signs.exec(text); sign !== null; sign = signs.exec(text)) {
    const { 0: found, 1: header, 2: begun, index } = sign;
    const follows = (index >= first && index <= reach) || index === end;
    if (!follows && index > reach) break;
    if (!follows) continue;
    end = index + found.length;
    if (begun !== undefined) letters = end;
    if (header === undefined) continue;
    const value = end + header.length;
    if (value > reach) first = value;
    const line = text.slice(value, value + MOST_OF_VALUE);
    reach = Math.max(reach, value + (line.includes("\n") ? line.indexOf("\n") : line.length));
  }
  return { letters, reach };
}
