// The values of secrets that have a name: wherever one appears, in whatever usual spelling, its name is written instead.
//
// One list for the whole process, because a value is a secret in every text that leaves it. Nothing is ever taken off: a
// secret that was replaced may still be in a log or an answer.

/** Shorter values appear in texts by chance. */
const LEAST = 6;
/** Spellings kept; more than anybody has secrets. What comes later replaces nothing and is refused. */
const MAX_SPELLINGS = 4_096;

const names = new Map<string, string>();
let pattern: RegExp | undefined;

/** Remembers a value. False when it is too short to be told from other text, or there are too many already. */
export function rememberSecret(name: string, value: string): boolean {
  const trimmed = value.trim();
  if (names.has(trimmed)) return true;
  if (trimmed.length < LEAST || names.size >= MAX_SPELLINGS) return false;
  for (const spelling of spellingsOf(trimmed)) if (!names.has(spelling)) names.set(spelling, name);
  // The longest first: one value may be the beginning of another.
  const sorted = [...names.keys()].sort((a, b) => b.length - a.length);
  pattern = new RegExp(sorted.map(escaped).join("|"), "g");
  return true;
}

/** The text with the values of known secrets replaced by their names. */
export function replaceKnown(text: string): string {
  if (pattern === undefined) return text;
  pattern.lastIndex = 0;
  return pattern.test(text) ? text.replace(pattern, (value) => `[secret ${names.get(value) ?? ""}]`) : text;
}

/** Spellings of one value: as it is, in JSON, in a URL, in a form, in Base64 of both alphabets, in hexadecimal. */
export function spellingsOf(value: string): Set<string> {
  const bytes = Buffer.from(value);
  const encoded = encodeURIComponent(value);
  const strict = encoded.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return new Set([
    value,
    ...inJson(value),
    encoded,
    encoded.replaceAll("%20", "+"),
    strict,
    strict.replaceAll("%20", "+"),
    bytes.toString("base64").replaceAll("=", ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
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
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
