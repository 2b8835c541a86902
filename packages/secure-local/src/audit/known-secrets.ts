// The values of secrets that have a name: wherever one appears, in whatever usual spelling, its name is written instead.
//
// One list for the whole process, because a value is a secret in every text that leaves it. Nothing is ever taken off: a
// secret that was replaced may still be in a log or an answer.

/** Shorter values appear in texts by chance. */
const LEAST = 6;
/** Spellings kept; more than anybody has secrets. What comes later replaces nothing and is refused. */
const MAX_SPELLINGS = 8_192;

const names = new Map<string, string>();
let pattern: RegExp | undefined;
/** The values with any of their characters escaped, which is looked for only where something is. */
let escapes: EscapedValues | undefined;
const plainNames = new Map<string, string>();

/** Remembers a value. False when it is too short to be told from other text, or there are too many already. */
export function rememberSecret(name: string, value: string): boolean {
  const trimmed = value.trim();
  if (names.has(trimmed)) return true;
  if (trimmed.length < LEAST || names.size >= MAX_SPELLINGS) return false;
  for (const spelling of spellingsOf(trimmed)) if (!names.has(spelling)) names.set(spelling, name);
  // The longest first: one value may be the beginning of another.
  const sorted = [...names.keys()].sort((a, b) => b.length - a.length);
  pattern = new RegExp(sorted.map(escaped).join("|"), "g");
  plainNames.set(trimmed, name);
  escapes = undefined;
  return true;
}

/** The text with the values of known secrets replaced by their names. */
export function replaceKnown(text: string): string {
  if (pattern === undefined) return text;
  pattern.lastIndex = 0;
  const replaced = pattern.test(text) ? text.replace(pattern, (value) => `[secret ${names.get(value) ?? ""}]`) : text;
  // Made when it is needed first: policies with many secrets learn them one by one.
  escapes ??= new EscapedValues([...plainNames].map(([each, its]) => [each, `[secret ${its}]`]));
  return escapes.replace(replaced);
}

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
  return both.filter((text) => text.length >= LEAST);
}

/**
 * Finds values in which any character may be escaped as in a URL or in JSON, and any may not be: the text is read without its
 * escapes, once and whatever the number of values, and what is found is told by its place in the text as it is.
 */
export class EscapedValues {
  readonly #labels = new Map<string, string>();
  #pattern: RegExp | undefined;

  /** @param values Each with what is written in its place. */
  constructor(values: Iterable<readonly [value: string, label: string]>) {
    for (const [value, label] of values) {
      this.#labels.set(value.toLowerCase(), label);
      // Bytes that are escaped one by one come out as one character each.
      this.#labels.set(Buffer.from(value).toString("latin1").toLowerCase(), label);
    }
  }

  /** Where each begins and how long it is, in their order; cheap where nothing is escaped. */
  *in(text: string): Iterable<{ readonly index: number; readonly length: number; readonly label: string }> {
    if (this.#labels.size === 0 || !(text.includes("%") || text.includes("\\")) || !MAY_ESCAPE.test(text)) return;
    this.#pattern ??= new RegExp(
      [...this.#labels.keys()]
        .sort((a, b) => b.length - a.length)
        .map(escaped)
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
      yield { index, length: placeOf(at + found.length) - index, label: this.#labels.get(found.toLowerCase()) ?? "" };
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

/** What a text has that holds an escaped character. */
const MAY_ESCAPE = /%[0-9a-f]{2}|\\[ux][0-9a-f]{2}/i;
const ESCAPE = /%([0-9a-f]{2})|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\([/\\"'&<>+`])/gi;
/** Characters of one escaped character, as in `\\u0061`. */
export const LONGEST_ESCAPE = 6;

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
    const [percent, unit, byte, mark, index] = groups as [string?, string?, string?, string?, number?];
    const from = index ?? 0;
    length += from - at + 1;
    at = from + all.length;
    places.push({ plain: length, raw: at });
    return mark ?? String.fromCharCode(Number.parseInt(percent ?? unit ?? byte ?? "", 16));
  });
  return { plain, places };
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

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
