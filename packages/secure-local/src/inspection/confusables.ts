// Folds letters that look like Latin ones into them, so that a word in disguise is compared as what people read.

/** Latin letters and digits, each with what passes for it in Cyrillic, Greek, Armenian, Cherokee and among Latin's own variants. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  a: "аαɑᴀ",
  b: "ЬƄʙвβ",
  c: "сϲᴄ",
  d: "ԁɗժᴅ",
  e: "еєҽεᴇ",
  f: "ſƒϝ",
  g: "ɡցɢ",
  h: "һհнʜ",
  i: "іıɩιӏɪ",
  j: "јϳᴊ",
  k: "κкᴋ",
  l: "ⅼǀʟ",
  m: "мᴍ",
  n: "ոռпɴ",
  o: "оοօσᴏ",
  p: "рρᴘ",
  q: "ԛզ",
  r: "гʀᴦ",
  s: "ѕʂꜱ",
  t: "тτᴛ",
  u: "υսʋᴜ",
  v: "ѵνᴠ",
  w: "ԝɯωᴡ",
  x: "хχ",
  y: "уγүʏ",
  z: "ᴢʐ",
};

const FOLD: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOKALIKES).flatMap(([plain, others]) => [...others].map((other) => [other, plain] as const)),
);
const LATIN = /[a-z]/i;
const FOREIGN = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;
const MARKS = /\p{Mn}+/gu;
/** Pairs and digits that pass for letters in names. */
const NAME_FOLDS: readonly (readonly [string, string])[] = [
  ["rn", "m"],
  ["vv", "w"],
  ["0", "o"],
  ["1", "l"],
  ["i", "l"],
  ["5", "s"],
];

/** `text`, lower case and in NFKC, with look-alikes of Latin letters as those letters and without accents. */
export function foldLetters(text: string): string {
  let folded = "";
  for (const character of text.normalize("NFKC").toLowerCase()) folded += FOLD.get(character) ?? character;
  return folded.normalize("NFKD").replace(MARKS, "");
}

/** Names with the same skeleton are read as the same name. */
export function skeleton(name: string): string {
  let folded = foldLetters(name);
  for (const [pair, letter] of NAME_FOLDS) folded = folded.replaceAll(pair, letter);
  return folded.replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** Whether one word mixes Latin letters with those of scripts that have the same shapes. */
export function mixesScripts(word: string): boolean {
  if (word.length < 3 || !LATIN.test(word) || !FOREIGN.test(word)) return false;
  // A unit or a formula has one Greek letter at an end: µm, Δt.
  const letters = [...word].filter((letter) => FOREIGN.test(letter));
  return letters.some((letter) => FOLD.has(letter.toLowerCase())) && foldLetters(word) !== word.toLowerCase();
}
