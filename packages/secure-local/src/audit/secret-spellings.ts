// What the value of a secret looks like: read again from its file when that changed, and written in JSON, in a URL, in
// Base64, or escaped in several ways at once. And how keys are written that have no name.
import * as fs from "node:fs";

// Follows the files that the values of secrets come from: what is known of them is looked up each time something is about to leave.

/** A key or a token; a file of any other size is something else. */
const MAX_BYTES = 64 * 1024;
/** Times of files are no finer than this everywhere: one that was changed so lately may change again and look the same. */
const SETTLED_MS = 2_000;

interface FollowedFile {
  readonly path: string;
  readonly learn: (value: string) => void;
  /** Which file it was, and when it was changed last; undefined until it was read at rest. */
  state: string | undefined;
  /** What was learnt last. */
  text: string | undefined;
}

/** By the secret's name and the path. */
const followed = new Map<string, FollowedFile>();
let lookedInThisTurn = false;
/** Whether any secret comes from a file: where none does, nobody has to look. */
export let followsFiles = false;

/** Has `learn` told of the value now, if there is one, and of each that the file has later, before anything leaves that could hold it. */
export function followSecretFile(name: string, path: string, learn: (value: string) => void): void {
  const file: FollowedFile = { path, learn, state: undefined, text: undefined };
  followed.set(`${name}\0${path}`, file);
  followsFiles = true;
  renew(file);
}

/** To be called before a result is cleaned or recorded: one look at each file. */
export function renewSecrets(): void {
  for (const file of followed.values()) renew(file);
}

/** For the many texts of one result: nothing can have come from elsewhere before this turn of the program ends. */
export function renewSecretsOnce(): void {
  if (lookedInThisTurn) return;
  lookedInThisTurn = true;
  queueMicrotask(() => {
    lookedInThisTurn = false;
  });
  renewSecrets();
}

/** What cannot be read has no value to learn: whoever is to send it is refused, and the values before it stay known. */
function renew(file: FollowedFile): void {
  try {
    const stats = fs.statSync(file.path, { bigint: true, throwIfNoEntry: false });
    if (stats !== undefined && stateOf(stats) === file.state) return;
    file.state = undefined;
    if (stats === undefined || !isValue(stats)) return;
    const { text, state } = read(file.path);
    if (text !== undefined && text !== file.text) file.learn(text);
    file.text = text ?? file.text;
    file.state = state;
  } catch {
    file.state = undefined;
  }
}

function read(path: string): { readonly text: string | undefined; readonly state: string | undefined } {
  // It may have become a pipe meanwhile, which nobody writes to.
  const fd = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const before = fs.fstatSync(fd, { bigint: true });
    if (!isValue(before)) return { text: undefined, state: undefined };
    const text = fs.readFileSync(fd, "utf8");
    const after = stateOf(fs.fstatSync(fd, { bigint: true }));
    const changed = Number((before.ctimeNs > before.mtimeNs ? before.ctimeNs : before.mtimeNs) / 1_000_000n);
    const atRest = after === stateOf(before) && Date.now() - changed > SETTLED_MS;
    return { text, state: atRest ? after : undefined };
  } finally {
    fs.closeSync(fd);
  }
}

function isValue(stats: fs.BigIntStats): boolean {
  return stats.isFile() && stats.size <= MAX_BYTES;
}

function stateOf({ dev, ino, size, mtimeNs, ctimeNs }: fs.BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

// What HTML's names of characters stand for: those of ASCII, and those of letters and marks that are drawn like one of them.

/** In small letters: no two of them differ in case alone. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    tab: "\t",
    newline: "\n",
    excl: "!",
    quot: '"',
    num: "#",
    dollar: "$",
    percnt: "%",
    amp: "&",
    apos: "'",
    lpar: "(",
    rpar: ")",
    ast: "*",
    midast: "*",
    plus: "+",
    comma: ",",
    period: ".",
    sol: "/",
    colon: ":",
    semi: ";",
    lt: "<",
    equals: "=",
    gt: ">",
    quest: "?",
    commat: "@",
    lsqb: "[",
    lbrack: "[",
    bsol: "\\",
    rsqb: "]",
    rbrack: "]",
    hat: "^",
    lowbar: "_",
    underbar: "_",
    grave: "`",
    diacriticalgrave: "`",
    lcub: "{",
    lbrace: "{",
    verbar: "|",
    vert: "|",
    verticalline: "|",
    rcub: "}",
    rbrace: "}",
    hyphen: "-",
    dash: "-",
    minus: "-",
    nbsp: " ",
    nonbreakingspace: " ",
  }),
);
/** Letters of other styles: `&Afr;`, `&bopf;`, `&cscr;`. */
const STYLED = /^([a-z])(?:fr|opf|scr)$/i;

/** A name as a part of a pattern; the longest that is known has sixteen characters. */
const ENTITY_NAME = "[a-z]{2,16}";

/** Undefined for the name of any other character, and for none. */
export function namedCharacter(name: string): string | undefined {
  return NAMES.get(name.toLowerCase()) ?? STYLED.exec(name)?.[1];
}

/** Shorter values appear in texts by chance. */
export const SHORTEST_SECRET = 6;

/**
 * Spellings of one value: as it is, in JSON, in a URL, in a form, in Base64 of both alphabets, in hexadecimal. Base64 of a
 * longer text holds the value at one of three places of its groups of three bytes; what stands there of it is a spelling too.
 */
export function spellingsOf(value: string): Set<string> {
  const bytes = Buffer.from(value);
  const encoded = encodeURIComponent(value);
  const strict = encoded.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const hexadecimal = bytes.toString("hex");
  const pairs = hexadecimal.match(/../g) ?? [];
  return new Set([
    value,
    ...inJson(value),
    encoded,
    encoded.replaceAll("%20", "+"),
    strict,
    strict.replaceAll("%20", "+"),
    bytes.toString("base64").replaceAll("=", ""),
    bytes.toString("base64url"),
    ...[0, 1, 2].flatMap((place) => withinBase64(bytes, place)),
    hexadecimal,
    hexadecimal.toUpperCase(),
    ...[":", " ", "-"].flatMap((between) => [pairs.join(between), pairs.join(between).toUpperCase()]),
  ]);
}

/** The characters that only the value decides, when `place` bytes of another text stand before it in its first group. */
function withinBase64(bytes: Buffer, place: number): string[] {
  const begins = [0, 2, 3][place] as number;
  const ends = Math.floor(((place + bytes.length) * 8) / 6);
  const padded = Buffer.concat([Buffer.alloc(place), bytes]);
  const both = [padded.toString("base64"), padded.toString("base64url")].map((text) => text.slice(begins, ends));
  return both.filter((text) => text.length >= SHORTEST_SECRET);
}

/**
 * Finds values in which any character may be escaped as in a URL or in JSON, and any may not be: the text is read without its
 * escapes, once and whatever the number of values, and what is found is told by its place in the text as it is. What looks like an
 * escape and belongs to the value itself may have been read as one, or not.
 */
export class EscapedValues {
  /** By the value in small letters, what looks like an escape in it read as one. */
  readonly #labels = new Map<string, string>();
  readonly #values = new Set<string>();
  #pattern: RegExp | undefined;

  /** @param values Each with what is written in its place. */
  constructor(values: Iterable<readonly [value: string, label: string]>) {
    for (const [value, label] of values) {
      // Bytes that are escaped one by one come out as one character each.
      for (const form of [value, Buffer.from(value).toString("latin1")]) {
        this.#values.add(form);
        this.#labels.set(wholly(form), label);
      }
    }
  }

  /** Where each begins and how long it is, in their order; cheap where nothing is escaped. */
  *in(text: string): Iterable<{ readonly index: number; readonly length: number; readonly label: string }> {
    if (this.#labels.size === 0 || !MARKS.some((mark) => text.includes(mark)) || !MAY_ESCAPE.test(text)) return;
    this.#pattern ??= new RegExp(
      [...this.#values]
        .sort((a, b) => b.length - a.length)
        .map(readOrNot)
        .join("|"),
      "gi",
    );
    const { plain, places } = withoutEscapes(text);
    let next = 0;
    // Behind the last escape before this place, one character of the one text is one of the other.
    const placeOf = (at: number): number => {
      while (next < places.length && (places[next]?.plain ?? 0) <= at) next += 1;
      const last = places[next - 1];
      return last === undefined ? at : last.raw + at - last.plain;
    };
    for (const { 0: found, index: at } of plain.matchAll(this.#pattern)) {
      const index = placeOf(at);
      yield { index, length: placeOf(at + found.length) - index, label: this.#labels.get(wholly(found)) ?? "" };
    }
  }

  replace(text: string): string {
    let [replaced, at] = ["", 0];
    for (const { index, length, label } of this.in(text)) {
      replaced += text.slice(at, index) + label;
      at = index + length;
    }
    return at === 0 ? text : replaced + text.slice(at);
  }
}

/** What escapes begin with: a first look. */
const MARKS = ["%", "\\", "&"] as const;
/** What a text has that holds an escaped character. */
const MAY_ESCAPE = /%[0-9a-f]{2}|\\[ux][0-9a-f]{2}|&#?\w{2,16};/i;
/** A backslash before an escape stands for itself: it may be the value's own. */
const ESCAPE = new RegExp(
  `%([0-9a-f]{2})|\\\\u([0-9a-f]{4})|\\\\x([0-9a-f]{2})|\\\\([/"'<>+\`]|&(?!#?\\w{2,16};)|\\\\(?![ux][0-9a-f]{2}))|&#(\\d{2,7});|&#x([0-9a-f]{2,6});|&(${ENTITY_NAME});`,
  "gi",
);
/** Characters of one escaped character, as in `&DiacriticalGrave;`. */
export const LONGEST_ESCAPE = 18;

interface Unescaped {
  readonly plain: string;
  /** Behind each escape: the place in `plain`, and in the text as it was. */
  readonly places: readonly { readonly plain: number; readonly raw: number }[];
}

function withoutEscapes(text: string): Unescaped {
  const places: { plain: number; raw: number }[] = [];
  let length = 0;
  let at = 0;
  const plain = text.replace(ESCAPE, (all: string, ...groups: unknown[]) => {
    const [percent, unit, byte, mark, decimal, sixteenth, name] = groups as (string | undefined)[];
    const from = Number(groups[7]);
    const named = name === undefined ? "" : namedCharacter(name);
    // The name of another character stays what it is.
    if (named === undefined) return all;
    length += from - at + 1;
    at = from + all.length;
    places.push({ plain: length, raw: at });
    if (decimal !== undefined) return String.fromCharCode(Number(decimal));
    return mark ?? (named || String.fromCharCode(hexadecimal(percent, unit, byte, sixteenth)));
  });
  return { plain, places };
}

function hexadecimal(...groups: readonly (string | undefined)[]): number {
  return Number.parseInt(groups.find((group) => group !== undefined) ?? "", 16);
}

/** Without escapes, nor those that come to be when others are read; in small letters. */
function wholly(text: string): string {
  const { plain } = withoutEscapes(text);
  return plain.length === text.length ? text.toLowerCase() : wholly(plain);
}

/** A pattern of the value, in which each of what looks like an escape may have been read as one. */
function readOrNot(value: string): string {
  let [pattern, at] = ["", 0];
  for (const { 0: all, index } of value.matchAll(ESCAPE)) {
    pattern += `${escaped(value.slice(at, index))}(?:${escaped(all)}|${escaped(withoutEscapes(all).plain)})`;
    at = index + all.length;
  }
  return pattern + escaped(value.slice(at));
}

/** As servers write it by default, in JavaScript, PHP, Python, Go and .NET. */
function inJson(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(/[^\x20-\x7e]/g, (mark) => `\\u${hex(mark)}`);
  const go = json.replace(/[<>&]/g, (mark) => `\\u${hex(mark)}`);
  const net = ascii.replace(/\\"|[<>&'+`]/g, (mark) => `\\u${hex(mark.slice(-1)).toUpperCase()}`);
  return [json, json.replaceAll("/", "\\/"), ascii, ascii.replaceAll("/", "\\/"), go, net];
}

function hex(mark: string): string {
  return mark.charCodeAt(0).toString(16).padStart(4, "0");
}

/** The text as part of a pattern that means these very characters. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

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

// What is said in the clothes of a secret, and is none.

/** What is guessed to be a secret: the block of a private key, or a value that stands where secrets stand. */
export type Guess = "key" | "value";

/** Whether it could as well be a path, or a part of a command. */
export function isOtherThan(guess: Guess, text: string): boolean {
  if (guess === "value") return mayRun(text);
  const body = text.replace(/-----[A-Z0-9 ]{1,60}-----/g, "").replace(/^[\w-]{1,40}: .*$/gm, "");
  const words = body.split(/(?:\s|\\[nrt])+/).filter((word) => word !== "");
  const short = words.filter((word) => word.length < SHORT_WORD);
  if (short.length > MOST_SHORT) return true;
  // Names of programs are in small letters, and no line of a key is.
  return words.some((word) => /[^A-Za-z0-9+/=-]|^\//.test(word) || !/[A-Z0-9]/.test(word));
}

/** Of the words of a key nearly all are long: its last line, and a stray one, may be short. */
const SHORT_WORD = 16;
const MOST_SHORT = 2;

function mayRun(value: string): boolean {
  const said = value.replace(/^["']|["']$/g, "");
  const bare = said.replace(COOKIES, "") === "" ? said.replaceAll(";", "") : said;
  if (/[;|&<>$(){}`\\\r\n]|\.\./.test(bare) || FILE_NAME.test(bare)) return true;
  return bare.includes("/") && !LONG_BASE64.test(bare);
}

/** Values of a cookie header, which are told apart as statements are. */
const COOKIES = /^"?[\w.-]+=[^;\s$`(|&<>]*(?:; ?[\w.-]+=[^;\s$`(|&<>]*)*/;
const FILE_NAME = /^[\w-]+\.[a-z]{1,5}$/i;
/** A path is not that long without a dot. */
const LONG_BASE64 = /^[A-Za-z0-9+/]{40,}={0,2}$/;
