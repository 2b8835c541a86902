// Reads a text in every way a model might: as it is, without disguises of letters, spacing and digits.
import { foldLetters } from "./confusables.js";
import { replaceHidden } from "../guard/cleaning/hidden-characters.js";

/** One way to read a text. */
export interface Reading {
  readonly text: string;
  /** How the text hides that it can be read so; undefined for the text as it stands. */
  readonly disguise: string | undefined;
}

const LONE_SURROGATES = /\p{Cs}/gu;
/** Letters one by one, as in `i g n o r e`, and with marks between them. */
const SPACED = /(?<![\p{L}\p{N}])\p{L}(?:[ .*_-]\p{L}){4,60}(?![\p{L}\p{N}])/gu;
const BETWEEN = /[ .*_-]/g;
const LEET_WORD = /[a-z0134578@$]+/g;
const LEET: ReadonlyMap<string, string> = new Map(
  Object.entries({ 0: "o", 1: "i", 3: "e", 4: "a", 5: "s", 7: "t", 8: "b", "@": "a", $: "s" }),
);
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(lt|gt|amp|quot|apos|nbsp));/gi;
const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };
/** Longer comments are no part of a word. */
const LONGEST_COMMENT = 44;

/** The first is the text in NFKC and lower case, without hidden characters. Others follow only where they differ. */
export function readings(text: string): Reading[] {
  const seen = replaceHidden(text.replace(LONE_SURROGATES, "\uFFFD"));
  const plain = seen
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll("’", "'")
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll("。", ". ");
  const found: Reading[] = [{ text: plain, disguise: undefined }];
  const add = (reading: string, disguise: string): void => {
    if (found.every((each) => each.text !== reading)) found.push({ text: reading, disguise });
  };
  add(foldLetters(plain), "letters that look like others");
  add(
    plain.replace(SPACED, (letters) => letters.replaceAll(BETWEEN, "")),
    "letters set apart",
  );
  add(plain.replace(LEET_WORD, unleet), "digits in place of letters");
  add(withoutComments(plain).replace(ENTITY, entity).toLowerCase(), "entities or comments inside words");
  return found;
}

function withoutComments(text: string): string {
  const [first = "", ...rest] = text.split("<!--");
  const parts = rest.map((part) => {
    const end = part.indexOf("-->");
    return end < 0 || end > LONGEST_COMMENT ? `<!--${part}` : part.slice(end + 3);
  });
  return first + parts.join("");
}

/** Digits count as letters only inside a word of letters. */
function unleet(word: string): string {
  if (word.length < 3 || word.length > 40 || !/[a-z]{2}|[a-z]\d[a-z]/.test(word)) return word;
  return word.replaceAll(/[0134578@$]/g, (sign) => LEET.get(sign) ?? sign);
}

function entity(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
  const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  return code > 0x1f && code < 0x110000 && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : whole;
}
