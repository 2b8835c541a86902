// Compares the names of tools with each other and with those of other servers: collisions, look-alikes, imitations.
import { excerptOf, type Peer, type TextFinding, type Severity } from "./finding.js";

/** Names shorter than this are a letter apart by chance. */
const SHORTEST_COMPARED = 6;
/** Names longer than this are cut before they are compared. */
const LONGEST_COMPARED = 128;
/** Share of words two descriptions have in common when one imitates the other. */
const IMITATES = 0.75;
/** Fewer words in common are chance. */
const LEAST_COMMON = 4;

/** Names of tools by how they are read, each as often as it is there. */
type NameBook = ReadonlyMap<string, readonly string[]>;

export function indexNames(names: Iterable<string>): NameBook {
  const book = new Map<string, string[]>();
  for (const name of names) book.set(skeleton(name), [...(book.get(skeleton(name)) ?? []), name]);
  return book;
}

/** Signs in the name of one tool, which is itself in `own`. */
export function readName(
  tool: { readonly name: string; readonly description: string },
  own: NameBook,
  peers: readonly Peer[],
): TextFinding[] {
  return [...among(tool.name, own.get(skeleton(tool.name)) ?? []), ...against(tool, peers)];
}

/** `readAlike`: all names that are read like this one, itself included. */
function among(name: string, readAlike: readonly string[]): TextFinding[] {
  if (readAlike.filter((each) => each === name).length > 1)
    return [
      { id: "names.collision", tier: "hard", about: "Another tool has the same name.", excerpt: excerptOf(name) },
    ];
  const twin = readAlike.find((other) => other !== name && !isPlural(other, name));
  if (twin === undefined) return [];
  const about = `Its name looks like ${excerptOf(twin)}.`;
  return [{ id: "names.look-alike", tier: "hard", about, excerpt: excerptOf(name) }];
}

function against(
  { name, description }: { readonly name: string; readonly description: string },
  peers: readonly Peer[],
): TextFinding[] {
  const own = skeleton(name);
  return peers.flatMap(({ server, tools }): TextFinding[] =>
    tools.flatMap((peer): TextFinding[] => {
      const sign = comparedWith(peer, { name, description, skeleton: own });
      if (sign === undefined) return [];
      const { id, tier, does } = sign;
      const about = `Its name ${does} ${excerptOf(peer.name)} of ${excerptOf(server)}.`;
      return [{ id, tier, about, excerpt: excerptOf(name) }];
    }),
  );
}

function comparedWith(
  peer: Peer["tools"][number],
  own: { readonly name: string; readonly description: string; readonly skeleton: string },
): { readonly id: string; readonly tier: Severity; readonly does: string } | undefined {
  const { name, description } = own;
  if (peer.name === name) {
    const imitates = alike(description, peer.description ?? "");
    return imitates ? { id: "names.imitation", tier: "hard", does: "and its description are those of" } : undefined;
  }
  if (skeleton(peer.name) === own.skeleton) return { id: "names.look-alike", tier: "hard", does: "looks like" };
  const near = Math.min(name.length, peer.name.length) >= SHORTEST_COMPARED && isOneApart(name, peer.name);
  return near && !isPlural(name, peer.name)
    ? { id: "names.near", tier: "soft", does: "is one letter apart from" }
    : undefined;
}

function isPlural(one: string, other: string): boolean {
  return `${one}s` === other || `${other}s` === one;
}

/** Whether one letter put in, taken out, changed or swapped with the next makes one of the other. */
function isOneApart(one: string, other: string): boolean {
  const [short, long] = [one, other]
    .map((each) => each.slice(0, LONGEST_COMPARED).toLowerCase())
    .sort((a, b) => a.length - b.length) as [string, string];
  if (short === long || long.length - short.length > 1) return false;
  let start = 0;
  while (start < short.length && short[start] === long[start]) start += 1;
  if (short.length < long.length) return short.slice(start) === long.slice(start + 1);
  if (short.slice(start + 1) === long.slice(start + 1)) return true;
  return (
    short[start] === long[start + 1] &&
    short[start + 1] === long[start] &&
    short.slice(start + 2) === long.slice(start + 2)
  );
}

/** Whether two descriptions have most of their words in common. */
function alike(one: string, other: string): boolean {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  const common = [...a].filter((word) => b.has(word)).length;
  return common >= LEAST_COMMON && common / Math.min(a.size, b.size) >= IMITATES;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,40}/gu) ?? []);
}

// Folds letters that look like Latin ones into them, so that a word in disguise is compared as what people read.

/** Latin letters and digits, each with what passes for it in Cyrillic, Greek, Armenian, Cherokee, Lisu and among Latin's own variants. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  a: "аαɑᴀ\uab7a\ua4ee",
  b: "ЬƄʙвβ\uab9f\u13fc\ua4d0",
  c: "сϲᴄ\uabaf\ua4da",
  d: "ԁɗժᴅ\uab70\uabb7\ua4d3",
  e: "еєҽεᴇ\uab7c\ua4f0",
  f: "ſƒϝ\ua4dd",
  g: "ɡցɢ\uab90\u13fb\ua4d6",
  h: "һհнʜ\uab8b\uab92\ua4e7",
  i: "іıɩιӏɪ\uab75\ua4f2",
  j: "јϳᴊ\uab7b\ua4d9",
  k: "κкᴋ\uabb6\ua4d7",
  l: "ⅼǀʟ\uabae\ua4e1",
  m: "мᴍ\uab87\ua4df",
  n: "ոռпɴ\ua4e0",
  o: "оοօσᴏ\ua4f3",
  p: "рρᴘ\uabb2\ua4d1",
  q: "ԛզ",
  r: "гʀᴦ\uab71\uaba2\ua4e3",
  s: "ѕʂꜱ\uaba5\uabaa\ua4e2",
  t: "тτᴛ\uab72\ua4d4",
  u: "υսʋᴜ\ua4f4",
  v: "ѵνᴠ\uaba9\ua4e6",
  w: "ԝɯωᴡ\uab83\uaba4\ua4ea",
  x: "хχ\ua4eb",
  y: "уγүʏ\uab79\uab8d\ua4ec",
  z: "ᴢʐ\uab93\ua4dc",
};

const FOLD: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOKALIKES).flatMap(([plain, others]) => [...others].map((other) => [other, plain] as const)),
);
const LATIN = /[a-z]/i;
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
  return folded.normalize("NFKD").replace(/\p{Mn}+/gu, "");
}

/** Names with the same skeleton are read as the same name. */
export function skeleton(name: string): string {
  let folded = foldLetters(name);
  for (const [pair, letter] of NAME_FOLDS) folded = folded.replaceAll(pair, letter);
  return folded.replaceAll(/[^\p{L}\p{N}]/gu, "");
}

// Written where it is used, as all classes by their names are here: each makes whoever loads it look up Unicode's tables.
function isForeign(text: string): boolean {
  return /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u.test(text);
}

/** Whether one word mixes Latin letters with those of scripts that have the same shapes. */
export function mixesScripts(word: string): boolean {
  if (word.length < 3 || !LATIN.test(word) || !isForeign(word)) return false;
  // A unit or a formula has one Greek letter at an end: µm, Δt.
  const letters = [...word].filter((letter) => isForeign(letter));
  return letters.some((letter) => FOLD.has(letter.toLowerCase())) && foldLetters(word) !== word.toLowerCase();
}
