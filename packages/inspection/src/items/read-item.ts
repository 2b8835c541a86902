// Reads all texts of one item together: what one says may only make sense beside another.
import { excerptOf, type TextFinding } from "../texts/finding.js";
import { readIntents, type LocatedSentence } from "../intents/read-intents.js";
import { checkCharacters } from "../texts/character-checks.js";
import { type Names, NO_NAMES } from "../texts/phrase.js";
import { readRules, UNSPACED_ORDERS } from "../rules/read-rules.js";
import { sentencesOf } from "../texts/words.js";
import { foldLetters } from "../texts/names.js";
import { replaceHidden } from "../characters/hidden-characters.js";

/** A sign and the place of its text in the item. */
export interface ItemFinding extends TextFinding {
  readonly at: string;
}

/** Longer descriptions leave little room for the work, and much to hide in. */
const LONG_TEXT = 20_000;
const WORD_EDGE = /[_.-]|(?<=[a-z])(?=[A-Z])/g;
const UNREAD: TextFinding = {
  id: "length.unread",
  tier: "hard",
  about: "It is too long or too deep to be read.",
  excerpt: "",
};

/** The signs in an item, each rule at most once at a place. */
export function readItem(item: unknown, names: Names): ItemFinding[] {
  const { leaves, unread } = leavesOf(item);
  const signs: ItemFinding[] = unread ? [{ ...UNREAD, at: "" }] : [];
  const spoken: LocatedSentence[] = [];
  for (const leaf of leaves) {
    const [plain, ...disguised] = readings(proseOf(leaf));
    for (const words of sentencesOf(plain?.text ?? "")) spoken.push({ words, at: leaf.at, name: leaf.name });
    signs.push(...leafSigns(leaf).map((sign) => ({ ...sign, at: leaf.at })));
    const open = new Set(disguised.length === 0 ? [] : readRules(sentencesOf(plain?.text ?? ""), names).map(idOf));
    for (const { text, disguise = "" } of disguised)
      // What the text says openly is in no disguise because it has a figure such as 250mb somewhere.
      for (const sign of readRules(sentencesOf(text), names).filter((each) => !open.has(each.id)))
        signs.push({
          ...sign,
          tier: "hard",
          about: `${sign.about} The words are in disguise: ${disguise}.`,
          at: leaf.at,
        });
  }
  const sentences = spoken.map(({ words }) => words);
  const heard = [...readRules(sentences, names), readIntents(spoken, names)];
  for (const sign of heard) if (sign !== undefined) signs.push({ ...sign, at: spoken[sign.sentence]?.at ?? "" });
  return unique(signs);
}

function idOf({ id }: TextFinding): string {
  return id;
}

/** A name is read as the words it is made of. */
function proseOf({ text, name }: Leaf): string {
  return name ? text.replaceAll(WORD_EDGE, " ") : text;
}

function leafSigns({ text, name }: Leaf): TextFinding[] {
  const signs = [
    ...checkCharacters(text, { name }),
    ...readCommands(text),
    ...encodedSigns(text),
    ...unspacedSigns(text),
  ];
  if (text.length > LONG_TEXT)
    signs.push({
      id: "length.long",
      tier: "soft",
      about: `It has ${text.length} characters.`,
      excerpt: excerptOf(text),
    });
  return signs;
}

function encodedSigns(text: string): TextFinding[] {
  const decoded = decodedTexts(text);
  const inner = [...decoded, ...decoded.flatMap(decodedTexts)];
  const bad = inner.find((each) => harmfulCommand(each) !== undefined || isOrder(each));
  if (bad === undefined) return [];
  return [
    { id: "encoded.payload", tier: "hard", about: "It holds encoded orders or commands.", excerpt: excerptOf(bad) },
  ];
}

/** Programs that fetch, run or delete have no reason to be named in code. */
const PROGRAM = /(?:^|[\s;&|/])(?:curl|wget|chmod|bash|sh|nc|powershell|rm|python3?|eval|exec)\s/i;

function isOrder(text: string): boolean {
  if (PROGRAM.test(text) && /[|;&>~$]|https?:|-\w|\/tmp\//.test(text)) return true;
  return readings(text).some((reading) => readRules(sentencesOf(reading.text), NO_NAMES).length > 0);
}

function unspacedSigns(text: string): TextFinding[] {
  const folded = text.normalize("NFKC");
  return UNSPACED_ORDERS.flatMap(({ id, about, texts }) => {
    const found = texts.find((each) => folded.includes(each));
    return found === undefined ? [] : [{ id, tier: "hard" as const, about, excerpt: excerptOf(found) }];
  });
}

function unique(signs: readonly ItemFinding[]): ItemFinding[] {
  const seen = new Set<string>();
  return signs.filter(({ id, at }) => {
    const key = `${id} ${at}`;
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

// Finds shell commands and program text that harms whoever runs it, as it stands in a description.

/** Each is short and anchored on a word; blanks between are bounded. */
const HARMFUL: readonly RegExp[] = [
  /\brm\s{1,3}-[a-z]{1,4}\s{1,3}(?:--no-preserve-root\s{1,3})?(?:\/|~|\$HOME|\*|"\$)/i,
  /\/dev\/(?:tcp|udp)\/[\w.-]/i,
  /\bbash\s{1,3}-i\s{0,3}>&/i,
  /\bpowershell(?:\.exe)?\s{1,3}-(?:e|enc|encodedcommand|w\s{1,3}hidden)\b/i,
  /\bchmod\s{1,3}\+x\s{1,3}\/(?:tmp|dev\/shm)\//i,
  /\b(?:mkfifo|mknod)\s{1,3}\/tmp\//i,
  /\bos\.system\(|\b__import__\(['"]os|\beval\(atob\(|\bexec\(base64|\bchild_process['"]?\)?\.exec\(/i,
  /\bdd\s{1,3}if=\/dev\/(?:zero|random|urandom)\s{1,3}of=\/dev\//i,
  /:\(\)\s?\{\s?:\|:&\s?\};:/,
  /\$\{jndi:(?:ldap|rmi|dns)/i,
];
/** Harmful where they stand on one line. */
const TOGETHER: readonly (readonly RegExp[])[] = [
  [/\b(?:nc|ncat|netcat)\s/i, /\s-?e\s{1,3}\/bin\//i],
  [/\bcurl\s/i, /\s(?:-d|--data|-F|-T|--upload-file)/, /\.ssh|\.env\b|\.aws|passwd|id_rsa|credentials|printenv/i],
];
/** Harmful where the output of the first goes to the second. */
const PIPES: readonly (readonly [RegExp, RegExp])[] = [
  [/\b(?:curl|wget)\s/i, /^\s{0,3}(?:sudo\s{1,3})?(?:(?:ba|z|da|k)?sh|python3?|node|perl|ruby)\b/i],
  [/\bbase64\s{1,3}(?:-d|--decode)/i, /^\s{0,3}(?:ba)?sh\b/i],
  [/\bcat\s{1,3}(?:~|\/etc|\/root|\/home)/i, /^\s{0,3}(?:curl|nc|base64|ncat)\b/i],
];
const PAGE_CODE: readonly RegExp[] = [
  /\bon(?:error|load|mouseover)\s{0,3}=\s{0,3}["']?[a-z]{2,20}[.(]/i,
  /\bjavascript:\s{0,3}[a-z]{2,20}[.(]/i,
  /['"]\s{0,3}(?:or|and)\s{1,3}['"]?1['"]?\s{0,3}=\s{0,3}['"]?1/i,
  /;\s{0,3}drop\s{1,3}(?:table|database)\s/i,
  /\bunion\s{1,3}(?:all\s{1,3})?select\s/i,
  /\{\{\s{0,3}(?:config|self|request|''|7\s?\*\s?7|lipsum|cycler)\b/i,
  /<script[\s>]/i,
];
/** Honest texts show commands: to install themselves, or as what they refuse. Beginnings of the words that say so. */
const SHOWN: readonly string[] = [
  ...[
    "detect",
    "block",
    "reject",
    "refus",
    "prevent",
    "danger",
    "deny",
    "denied",
    "denies",
    "forbid",
    "scan",
    "flag",
    "protect",
  ],
  ...[
    "readme",
    "install",
    "documentation",
    "docs",
    "example",
    "sanitiz",
    "escap",
    "remov",
    "strip",
    "guard",
    "unsafe",
    "harmful",
    "destructive",
    "such",
  ],
];

function isShown(text: string): boolean {
  const words = text.toLowerCase().split(/\s/);
  return words.some((word) => !word.includes("/") && SHOWN.some((start) => word.startsWith(start)));
}

/** A command in it that harms whoever runs it: what was encoded has no reason to hold one. */
function harmfulCommand(text: string): string | undefined {
  for (const pattern of HARMFUL) {
    const found = pattern.exec(text);
    if (found !== null) return found[0];
  }
  return text.split("\n").find(isHarmfulLine)?.trim();
}

function isHarmfulLine(line: string): boolean {
  if (TOGETHER.some((all) => all.every((pattern) => pattern.test(line)))) return true;
  const [first = "", ...rest] = line.split("|");
  return PIPES.some(([source, sink]) => source.test(first) && rest.some((part) => sink.test(part)));
}

function readCommands(text: string): TextFinding[] {
  const signs: TextFinding[] = [];
  const command = harmfulCommand(text);
  const shown = isShown(text);
  if (command !== undefined && !shown)
    signs.push({
      id: "actions.shell",
      tier: "hard",
      about: "It holds a command that harms whoever runs it.",
      excerpt: excerptOf(command),
    });
  const code = PAGE_CODE.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
  if (code !== undefined && !shown)
    signs.push({
      id: "actions.code",
      tier: "soft",
      about: "It holds program text that acts on a page, a template or a database.",
      excerpt: excerptOf(code),
    });
  return signs;
}

// Decodes what stands encoded in a text: honest texts have no orders or commands in base64.

/** Longer runs are data; a text that wants to be decoded by a model is short. */
const MAX_DECODED = 16_384;
/** Runs looked at in one text. */
const MAX_RUNS = 50;
const LEAST_BASE64 = 16;
/** Without an upper bound, since no checker can tell that counting so far is linear: what is longer is taken apart afterwards. */
const BASE64 = /([A-Za-z0-9+/_-]{16,})={0,2}/g;
const LEAST_HEX_DIGITS = 20;
const MAX_HEX_DIGITS = 8_192;
/** Fewer escapes in a row are an example of one. */
const LEAST_ESCAPES = 6;
const ONE_ESCAPED =
  /\\x([0-9a-fA-F]{2})|\\u\{?([0-9a-fA-F]{2,6})\}?|%([0-9a-fA-F]{2})|&#(\d{2,6});|&#x([0-9a-fA-F]{2,6});/g;
/** Part of a text that counts as readable. */
const READABLE = 0.9;

/** What it says once it is decoded, for everything that then reads like words. */
function decodedTexts(text: string): string[] {
  const found: string[] = [];
  for (const run of base64Runs(text)) {
    if (found.length >= MAX_RUNS) break;
    add(found, fromBase64(run));
  }
  for (const run of hexRuns(text)) if (found.length < MAX_RUNS) add(found, fromHex(run));
  for (const run of escapedRuns(text)) if (found.length < MAX_RUNS) add(found, fromEscapes(run));
  if (/\brot-?13\b/i.test(text)) found.push(text.replaceAll(/[a-z]/gi, turned));
  return found;
}

/** Stretches in the alphabet of base64, in parts of at most `MAX_DECODED`; the padding is the last part's. */
function* base64Runs(text: string): Generator<string> {
  for (const [whole, letters = ""] of text.matchAll(BASE64))
    for (const [at, part] of partsOf(letters, MAX_DECODED).entries())
      if (part.length >= LEAST_BASE64)
        yield (at + 1) * MAX_DECODED < letters.length ? part : part + whole.slice(letters.length);
}

/** The digits of bytes in hexadecimal, with nothing or one sign between them. */
function* hexRuns(text: string): Generator<string> {
  const pairs = /[0-9a-fA-F]{2}(?:[ :]?[0-9a-fA-F]{2})*/g;
  for (let found = pairs.exec(text); found !== null; found = pairs.exec(text)) {
    const digits = found[0].replaceAll(/[ :]/g, "");
    // What is too short may be the end of a number before it: bytes may begin at its next digit.
    if (digits.length < LEAST_HEX_DIGITS) pairs.lastIndex = found.index + 1;
    else yield* partsOf(digits, MAX_HEX_DIGITS).filter((part) => part.length >= LEAST_HEX_DIGITS);
  }
}

function partsOf(text: string, most: number): string[] {
  return Array.from({ length: Math.ceil(text.length / most) }, (_, at) => text.slice(at * most, (at + 1) * most));
}

/** Stretches of nothing but escapes. */
function escapedRuns(text: string): string[] {
  const runs: string[] = [];
  let [start, end, count] = [0, -1, 0];
  const close = (): void => {
    if (count >= LEAST_ESCAPES) runs.push(text.slice(start, end));
  };
  for (const { 0: escape, index } of text.matchAll(ONE_ESCAPED)) {
    if (index !== end) {
      close();
      [start, count] = [index, 0];
    }
    end = index + escape.length;
    count += 1;
  }
  close();
  return runs;
}

function add(found: string[], decoded: string | undefined): void {
  if (decoded !== undefined && isReadable(decoded)) found.push(decoded.slice(0, MAX_DECODED));
}

function fromBase64(run: string): string | undefined {
  // A word or a path is in the same alphabet.
  if (/^[a-z]+$|^[A-Z_]+$|^[a-z_-]+$|^[\d-]+$/.test(run)) return undefined;
  try {
    const binary = atob(run.replaceAll("-", "+").replaceAll("_", "/").replaceAll("=", ""));
    return utf8(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

function fromHex(digits: string): string | undefined {
  const bytes = Uint8Array.from({ length: Math.floor(digits.length / 2) }, (_, index) =>
    Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16),
  );
  return utf8(bytes);
}

function fromEscapes(run: string): string {
  return run.replaceAll(
    ONE_ESCAPED,
    (_, byte?: string, unit?: string, percent?: string, decimal?: string, hex?: string) => {
      const code = decimal === undefined ? Number.parseInt(byte ?? unit ?? percent ?? hex ?? "0", 16) : Number(decimal);
      return code < 0x110000 ? String.fromCodePoint(code) : "";
    },
  );
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isReadable(text: string): boolean {
  if (text.length < 8) return false;
  const letters = text.match(/[\p{L}\p{N} ,.'"~/$|&;:()-]/gu)?.length ?? 0;
  return letters >= text.length * READABLE;
}

function turned(letter: string): string {
  const base = letter < "a" ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
}

// Lists every text of an item: all strings of it, keys of mappings included, each with its place.

/** One text and where it stands, as a JSON Pointer (RFC 6901). */
interface Leaf {
  readonly at: string;
  readonly text: string;
  /** It is a key of a mapping or the name of something: an identifier, not prose. */
  readonly name: boolean;
}

/** Texts of one item; more than this no model could use. */
const MAX_LEAVES = 10_000;
/** Deeper than any honest schema. */
const MAX_DEPTH = 64;
/** Characters of one text that are read. */
const MAX_LEAF = 65_536;

interface Leaves {
  readonly leaves: readonly Leaf[];
  /** Something was too deep, too much or too long to be read: nobody can say that it is honest. */
  readonly unread: boolean;
}

/** Members that hold names. */
const NAME_MEMBERS: ReadonlySet<string> = new Set(["name", "uri", "uriTemplate"]);
/** Keywords of JSON Schema whose mappings have keys of the server's own. */
const KEYED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentRequired",
  "dependentSchemas",
  "arguments",
]);
/** Bytes of pictures and the like, and words of JSON Schema itself. */
const SKIPPED: ReadonlySet<string> = new Set(["icons", "$schema"]);

function leavesOf(item: unknown): Leaves {
  const leaves: Leaf[] = [];
  let unread = false;
  const visit = (value: unknown, at: string, key: string, depth: number): void => {
    if (leaves.length >= MAX_LEAVES || depth > MAX_DEPTH) unread = true;
    else if (typeof value === "string") {
      unread ||= value.length > MAX_LEAF;
      if (value !== "") leaves.push({ at, text: value.slice(0, MAX_LEAF), name: NAME_MEMBERS.has(key) });
    } else if (typeof value === "object" && value !== null) {
      for (const [inner, member] of Object.entries(value)) {
        if (SKIPPED.has(inner) && !KEYED.has(key)) continue;
        const place = `${at}/${inner.replaceAll("~", "~0").replaceAll("/", "~1")}`;
        if (!Array.isArray(value) && KEYED.has(key))
          leaves.push({ at: place, text: inner.slice(0, MAX_LEAF), name: true });
        visit(member, place, Array.isArray(value) ? key : inner, depth + 1);
      }
    }
  };
  visit(item, "", "", 0);
  return { leaves, unread };
}

// Reads a text in every way a model might: as it is, without disguises of letters, spacing and digits.

/** One way to read a text. */
interface Reading {
  readonly text: string;
  /** How the text hides that it can be read so; undefined for the text as it stands. */
  readonly disguise: string | undefined;
}

const LONE_SURROGATES = /\p{Cs}/gu;
/** Letters one by one, as in `i g n o r e`, and with marks between them. */
const SPACED = /(?<![\p{L}\p{N}])\p{L}(?:[ .*_-]\p{L}){4,}(?![\p{L}\p{N}])/gu;
/** Letters that are read as one word, at least and at most. */
const LEAST_SPACED = 5;
const MOST_SPACED = 61;
const LEET_WORD = /[a-z0134578@$]+/g;
const LEET: ReadonlyMap<string, string> = new Map(
  Object.entries({ 0: "o", 1: "i", 3: "e", 4: "a", 5: "s", 7: "t", 8: "b", "@": "a", $: "s" }),
);
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(lt|gt|amp|quot|apos|nbsp));/gi;
const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };
/** Longer comments are no part of a word. */
const LONGEST_COMMENT = 44;

/** The first is the text in NFKC and lower case, without hidden characters. Others follow only where they differ. */
function readings(text: string): Reading[] {
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
  add(plain.replace(SPACED, joined), "letters set apart");
  add(plain.replace(LEET_WORD, unleet), "digits in place of letters");
  add(withoutComments(plain).replace(ENTITY, entity).toLowerCase(), "entities or comments inside words");
  return found;
}

/** Letters with a mark between each two as words of at most `MOST_SPACED` letters; what is left over stays as it was. */
function joined(spaced: string): string {
  const signs = [...spaced];
  let text = "";
  for (let at = 0; at < signs.length; at += 2 * MOST_SPACED) {
    const part = signs.slice(at, at + 2 * MOST_SPACED - 1);
    const letters = part.filter((_, index) => index % 2 === 0);
    text += (letters.length < LEAST_SPACED ? part : letters).join("") + (signs[at + 2 * MOST_SPACED - 1] ?? "");
  }
  return text;
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
