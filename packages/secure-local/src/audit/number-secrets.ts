// Finds values of secrets that are numbers, however JSON writes a number: with a sign, a point or an exponent.
import { knownSpellings, secretsVersion } from "./secret-shapes.js";
import { SHORTEST_SECRET } from "./secret-spellings.js";

/** A value of digits, or one whose bytes in hexadecimal are digits, and what people put between them. */
const DIGITS = /^[\d.,_' +-]+$/;
/** Digits that a number of JavaScript keeps for sure: of a longer value its beginning is looked for. */
const SURE = 14;
/** A whole number with fewer digits holds no value. */
const LEAST = 10 ** (SHORTEST_SECRET - 1);
const NUMBER = /^-?(\d+)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;
/** Noughts that an exponent makes, at most: of numbers of JavaScript none has more. */
const MOST_NOUGHTS = 400;

let needles: readonly string[] = [];
let version = -1;

/** Whether a number, in JSON's words, reads as the digits of a value that is known. */
export function holdsKnownDigits(number: number | string): boolean {
  if (typeof number === "number" && Number.isInteger(number) && Math.abs(number) < LEAST) return false;
  const all = known();
  if (all.length === 0) return false;
  const [, whole = "", part = "", exponent = "0"] = NUMBER.exec(String(number)) ?? [];
  const noughts = Math.min(Math.max(Number(exponent) - part.length, 0), MOST_NOUGHTS);
  const digits = whole + part + "0".repeat(noughts);
  return all.some((each) => digits.includes(each));
}

function known(): readonly string[] {
  const now = secretsVersion();
  if (now === version) return needles;
  const found = [...knownSpellings().keys()].filter((each) => DIGITS.test(each)).map(needleOf);
  [needles, version] = [[...new Set(found)].filter(({ length }) => length >= SHORTEST_SECRET), now];
  return needles;
}

/** Noughts before a number are not written, and those behind it may be an exponent. */
function needleOf(value: string): string {
  const digits = value.replace(/\D/g, "").replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const short = digits.slice(0, end);
  return (short.length >= SHORTEST_SECRET ? short : digits).slice(0, SURE);
}
