// Sixty texts made to be expensive: nested, counted, keyed, broken.
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";

const MAX = DEFAULT_LIMITS.messageBytes;
const times = (text: string, count: number): string => text.repeat(Math.floor(count));
const fill = (before: string, text: string, after = ""): string =>
  before + times(text, (MAX - before.length - after.length) / text.length) + after;
const members = (count: number, name: (index: number) => string): string =>
  `{${Array.from({ length: count }, (_, index) => `"${name(index)}":0`).join(",")}}`;
export const request = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`;
const tail = '"}';

const nesting: Record<string, () => string> = {
  "10^6 arrays": () => times("[", 1e6),
  "10^6 arrays, closed": () => times("[", 1e6) + times("]", 1e6),
  "10^6 objects": () => times('{"":', 1e6),
  "objects to the limit": () => fill("", '{"a":'),
  "arrays and objects in turn": () => fill("", '[{"a":'),
  "arrays with white space": () => fill("", "[ \n\t"),
  "arrays behind a comma": () => fill("[0,", "[0,"),
  "65 levels": () => times("[", 65) + times("]", 65),
  "many 65 levels": () => `[${fill("", `${times("[", 65)}${times("]", 65)},`)}0]`,
  "deep params": () => fill('{"jsonrpc":"2.0","id":1,"method":"m","params":', "["),
  "deep id": () => fill('{"jsonrpc":"2.0","method":"m","id":', "["),
  "deep batch": () => fill('[{"jsonrpc":"2.0","id":1,"method":"m","params":', "["),
  "deep behind long string": () => fill(`["${times("x", 1e6)}",`, "["),
  "deep behind escapes": () => fill(`["${times('\\"', 1e6)}",`, "["),
  "opening braces only": () => fill("", "{"),
  "closing brackets only": () => fill("", "]"),
  sawtooth: () => fill("", `${times("[", 64)}${times("]", 64)}`),
  "brackets in keys, then deep": () => fill(`{"${times("[", 1e6)}":`, "["),
};
const counts: Record<string, () => string> = {
  "2 million numbers": () => fill("[0", ",0", "]"),
  "1.4 million empty arrays": () => fill("[[]", ",[]", "]"),
  "1.4 million empty objects": () => fill("[{}", ",{}", "]"),
  "1.4 million empty strings": () => fill('[""', ',""', "]"),
  nulls: () => fill("[null", ",null", "]"),
  "commas only": () => fill("[", ",", "]"),
  "colons only": () => fill("{", ":", "}"),
  "commas in an object": () => fill("{", ",", "}"),
  "pairs of arrays": () => fill("[[0]", ",[[0]]", "]"),
  "200,001 values": () => `[${times("0,", 200_000)}0]`,
  decimals: () => fill("[0.1", ",0.12345678901234567", "]"),
  exponents: () => fill("[1e1", ",1e308", "]"),
  "values in a batch": () => fill("[1", ',{"id":1}', "]"),
  "values in params": () => request(fill("[0", ",0", "]").slice(0, MAX - 100) + "]"),
};
const keys: Record<string, () => string> = {
  "199,000 different keys": () => members(199_000, (index) => `k${index}`),
  "10^6 different keys": () => members(300_000, (index) => index.toString(36)),
  "keys like indices": () => members(190_000, (index) => String(index * 7_919)),
  "huge indices": () => members(150_000, (index) => String(4_294_967_294 - index)),
  "negative indices": () => members(150_000, (index) => String(-index)),
  "escaped keys": () => members(100_000, (index) => `\\u0061${index}`),
  "long keys": () => members(25_000, (index) => `${times("k", 150)}${index}`),
  "keys with one prefix": () => members(30_000, (index) => `${times("k", 100)}${index}`),
  duplicates: () => fill('{"a":0', ',"a":0', "}"),
  "duplicates under the limit": () => `{${times('"a":0,', 19_000)}"a":0}`,
  "a duplicate at the end": () => `${members(19_000, (index) => `k${index}`).slice(0, -1)},"k0":1}`,
  "objects of different shapes": () => `[${Array.from({ length: 60_000 }, (_, i) => `{"k${i}":0}`).join(",")}]`,
  "empty keys": () => fill('{"":0', ',"":0', "}"),
  "__proto__ many times": () => fill('{"__proto__":0', ',"__proto__":0', "}"),
  "__proto__ at the end": () => `${members(19_000, (index) => `k${index}`).slice(0, -1)},"__proto__":1}`,
  "__proto__ nested": () => times('{"__proto__":', 64) + "0" + times("}", 64),
};
const broken: Record<string, () => string> = {
  "too long": () => `"${times("x", MAX)}"`,
  "16 MB": () => times("x", 4 * MAX),
  "an open string": () => fill('"', "x"),
  "an open string of escapes": () => fill('"', "\\u0041"),
  "an open string of backslashes": () => fill('"', "\\\\"),
  "an open string of quotes": () => fill('{"a":"', '\\"'),
  "white space only": () => fill("", " "),
  "line breaks only": () => fill("", "\r"),
  "a number cut off": () => fill("-", "1", "."),
  "minus signs": () => fill("", "-"),
  letters: () => fill("", "nul"),
  "not ASCII": () => times("ģ", MAX / 3),
  "astral characters": () => times("𝒳", MAX / 4),
  backslashes: () => fill("", "\\"),
  quotes: () => fill("", '"', tail),
};

/** Name and maker of each. */
export const BOMBS: readonly (readonly [string, () => string])[] = Object.entries({
  ...nesting,
  ...counts,
  ...keys,
  ...broken,
});
