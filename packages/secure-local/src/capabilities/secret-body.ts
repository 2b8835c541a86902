// Finds the places in the body of a request that secrets are put in: fields of JSON and of forms, and plain text.

export type BodyKind = "json" | "form" | "text";

/** Fills one text. `field`: the name of the field it stands in, where it stands in one; `write`: how a value is spelt there. */
export type FillText = (text: string, field: string | undefined, write: (value: string) => string) => string;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const KINDS: ReadonlyMap<string, BodyKind> = new Map([
  ["application/json", "json"],
  ["application/x-www-form-urlencoded", "form"],
  ["text/plain", "text"],
]);
/** Charsets in which ASCII is written as ASCII, of those that such bodies have. */
const CHARSETS: ReadonlySet<string> = new Set(["utf-8", "utf8", "us-ascii"]);

/** What a body is by its headers; undefined for everything that is not text of a known kind, or is said to be two things. */
export function bodyKind(headers: Headers): BodyKind | undefined {
  const [type, ...others] = valuesOf(headers, "content-type");
  const encodings = valuesOf(headers, "content-encoding");
  if (type === undefined || others.length > 0) return undefined;
  if (encodings.some((encoding) => !/^(?:identity)?$/i.test(encoding.trim()))) return undefined;
  const [name = "", ...parameters] = type.toLowerCase().split(";");
  const charsets = parameters.map((each) => each.trim()).filter((each) => each.startsWith("charset"));
  const known = charsets.every((each) => CHARSETS.has(each.replace(/^charset=/, "").replaceAll('"', "")));
  return known ? KINDS.get(name.trim()) : undefined;
}

/** The body with each of its texts filled, and nothing else of it changed; undefined for JSON that is none. */
export function filledBody(kind: BodyKind, body: string, fill: FillText): string | undefined {
  switch (kind) {
    case "json":
      return isJson(body) ? filledJson(body, fill) : undefined;
    case "form":
      return body
        .split("&")
        .map((pair) => fill(pair, decoded(pair.slice(0, Math.max(pair.indexOf("="), 0))), encodeURIComponent))
        .join("&");
    case "text":
      return fill(body, undefined, (value) => value);
  }
}

/** Percent-encoded, `+` a space; as it is where that is nonsense. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** Writing it anew would change numbers, doubled names and blanks: only texts inside quotation marks are touched. */
function filledJson(json: string, fill: FillText): string {
  let filled = "";
  let at = 0;
  let name: string | undefined;
  /** Where a value has to begin to be the one of `name`. */
  let begins = -1;
  for (let start = json.indexOf('"'); start >= 0; start = json.indexOf('"', at)) {
    const end = endOfText(json, start);
    const text = json.slice(start, end);
    const after = skipBlanks(json, end);
    const isName = json[after] === ":";
    const field = start === begins ? name : undefined;
    filled += json.slice(at, start) + (isName ? text : fill(text, field, inJson));
    name = isName ? String(JSON.parse(text)) : undefined;
    begins = isName ? skipBlanks(json, after + 1) : -1;
    at = end;
  }
  return filled + json.slice(at);
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The place behind the quotation mark that ends the text: the first with an even number of backslashes before it. */
function endOfText(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let before = at;
    while (json[before - 1] === "\\") before -= 1;
    if ((at - before) % 2 === 0) return at + 1;
  }
  return json.length;
}

function skipBlanks(json: string, from: number): number {
  let at = from;
  while (json[at] === " " || json[at] === "\n" || json[at] === "\r" || json[at] === "\t") at += 1;
  return at;
}

function valuesOf(headers: Headers, wanted: string): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => (name.toLowerCase() === wanted ? (value ?? []) : []));
}
