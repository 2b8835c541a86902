// One request to an endpoint that secrets belong to, and its answer: placeholders become values on the way out, values
// placeholders on the way back.
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";
import { EscapedValues, LONGEST_ESCAPE } from "../audit/secret-spellings.js";
import { FetchError } from "./refusals.js";

// Finds the places in the body of a request that secrets are put in: fields of JSON and of forms, and plain text.

type BodyKind = "json" | "form" | "text";

/** Fills one text. `field`: the name of the field it stands in, where it stands in one; `write`: how a value is spelt there. */
type FillText = (text: string, field: string | undefined, write: (value: string) => string) => string;

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
function filledBody(kind: BodyKind, body: string, fill: FillText): string | undefined {
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
function decoded(text: string): string {
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

// Puts placeholders in place of the values of secrets in what a server answers, whole or chunk by chunk.

/**
 * Looks for bytes, whatever their charset: texts are taken as Latin-1, as headers come, one character a byte. Letters are found
 * in either case.
 */
export class SecretFilter {
  readonly #placeholders = new Map<string, string>();
  readonly #longest: number;
  readonly #pattern: RegExp | undefined;
  readonly #escaped: EscapedValues;

  /**
   * @param spellings Each with the placeholder that stands for it.
   * @param values Those of them that are found with any of their characters escaped as well.
   */
  constructor(
    spellings: Iterable<readonly [spelling: string, placeholder: string]>,
    values: Iterable<readonly [value: string, placeholder: string]> = [],
  ) {
    const plain = [...values];
    this.#escaped = new EscapedValues(plain);
    for (const [spelling, placeholder] of spellings) {
      if (spelling !== "") this.#placeholders.set(Buffer.from(spelling).toString("latin1").toLowerCase(), placeholder);
    }
    // The longest first: one spelling may be the beginning of another.
    const sorted = [...this.#placeholders.keys()].sort((a, b) => b.length - a.length);
    this.#longest = Math.max(sorted[0]?.length ?? 0, ...plain.map(([value]) => value.length * LONGEST_ESCAPE));
    this.#pattern = sorted.length === 0 ? undefined : new RegExp(sorted.map(escaped).join("|"), "gi");
  }

  text(given: string): string {
    if (this.#pattern === undefined) return given;
    const text = given.replace(this.#pattern, (found) => this.#placeholders.get(found.toLowerCase()) ?? "");
    return this.#escaped.replace(text);
  }

  /** Names are looked through like values: a server chooses both. */
  headers(given: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | string[]> {
    const filtered: Record<string, string | string[]> = {};
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined) continue;
      filtered[this.text(name)] = typeof value === "string" ? this.text(value) : value.map((each) => this.text(each));
    }
    return filtered;
  }

  bytes(given: Uint8Array): Uint8Array {
    if (this.#pattern === undefined) return given;
    const text = Buffer.from(given.buffer, given.byteOffset, given.length).toString("latin1");
    const filtered = this.text(text);
    return filtered === text ? given : Buffer.from(filtered, "latin1");
  }

  /** Holds back no more than the longest spelling, for it may go on in the next chunk. */
  stream(): Transform {
    let held = "";
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const [ready, rest] = this.#ready(held + chunk.toString("latin1"));
        held = rest;
        done(null, Buffer.from(ready, "latin1"));
      },
      flush: (done) => done(null, Buffer.from(this.text(held), "latin1")),
    });
  }

  /** What can be passed on, filtered, and what may be the beginning of a spelling. */
  #ready(text: string): [ready: string, rest: string] {
    if (this.#pattern === undefined) return [text, ""];
    // What begins before this place is there in full, however long it is.
    const safe = text.length - this.#longest + 1;
    let ready = "";
    let at = 0;
    for (const { index, length, label } of this.#found(text)) {
      if (index >= safe) break;
      if (index < at) continue;
      ready += text.slice(at, index) + label;
      at = index + length;
    }
    const until = Math.max(at, safe, 0);
    return [ready + text.slice(at, until), text.slice(until)];
  }

  /** In their order. */
  #found(text: string): readonly Place[] {
    const spelt = [...text.matchAll(this.#pattern as RegExp)].map(({ 0: found, index }) => ({
      index,
      length: found.length,
      label: this.#placeholders.get(found.toLowerCase()) ?? "",
    }));
    return [...spelt, ...this.#escaped.in(text)].sort((a, b) => a.index - b.index);
  }
}

interface Place {
  readonly index: number;
  readonly length: number;
  readonly label: string;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

/** A secret of this endpoint. */
export interface SecretMember {
  readonly name: string;
  readonly placeholder: string;
  /** Lower case; the only header it is put in. Without one, `query` and `body` it is any header. */
  readonly header: string | undefined;
  /** The parameter of the URL it is put in. */
  readonly query: string | undefined;
  /** The field of a body it is put in; `*`: any, and plain text. */
  readonly body: string | undefined;
  /** The value, or why there is none to send. */
  readonly value: { readonly text: string } | { readonly problem: string };
  /** How values of it look in an answer, those it had before as well. */
  readonly spellings: readonly string[];
}

/** Parts of a body could be asked for so that none of them holds a whole value. */
const IN_PARTS = new Set(["range", "if-range"]);
/** Bytes of a body that secrets are put in: messages have less, and each connection of a sandbox may hold one. */
export const MAX_BODY_BYTES = 262_144;
/** Places of one secret in one body or header: a value may be a thousand times as long as its placeholder. */
const MAX_PLACES = 16;
/** What a header or a URL can carry. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const UNSENDABLE = /[^\x20-\x7e]/;
const BASIC = /^(basic[ \t]+)([A-Za-z0-9+/]+={0,2})[ \t]*$/i;

export class SecretExchange {
  readonly #members: readonly SecretMember[];
  /** Spellings that this very request gave rise to. */
  readonly #made: (readonly [spelling: string, placeholder: string])[] = [];

  readonly #filters: FilterCache;

  constructor(members: readonly SecretMember[], filters: FilterCache = new FilterCache()) {
    this.#members = members;
    this.#filters = filters;
  }

  /** Header names in any case. What comes back is not compressed. @throws FetchError `denied` */
  headers<T extends string | string[]>(given: Readonly<Record<string, T>>): Record<string, string | string[]> {
    const filled: Record<string, string | string[]> = {};
    for (const [name, value] of Object.entries(given)) {
      if (IN_PARTS.has(name.toLowerCase()) || name.toLowerCase() === "accept-encoding") continue;
      filled[name] = Array.isArray(value)
        ? value.map((each: string) => this.#header(name.toLowerCase(), each))
        : this.#header(name.toLowerCase(), value);
    }
    return { ...filled, "accept-encoding": "identity" };
  }

  /** @param given Path and query of a URL. @throws FetchError `denied` */
  path(given: string): string {
    const mark = given.indexOf("?");
    if (mark < 0) return given;
    const pairs = given.slice(mark + 1).split("&");
    return `${given.slice(0, mark)}?${pairs.map((pair) => this.#pair(pair)).join("&")}`;
  }

  /** Whether a body with these headers is one that secrets are put in. */
  fills(headers: Readonly<Record<string, string | readonly string[] | undefined>>): boolean {
    return this.#members.some(({ body }) => body !== undefined) && bodyKind(headers) !== undefined;
  }

  /**
   * @param given The body, or more than `MAX_BODY_BYTES` of it: then it stays as it is.
   * @throws FetchError `denied`, also for a placeholder in a body that is too large, and in JSON that is none
   */
  body(given: Buffer, headers: Readonly<Record<string, string | readonly string[] | undefined>>): Buffer {
    const kind = bodyKind(headers);
    if (kind === undefined) return given;
    // One character a byte, so that nothing but placeholders changes; placeholders and values are ASCII.
    const text = given.toString("latin1");
    const [first] = this.#members.filter(({ body, placeholder }) => body !== undefined && text.includes(placeholder));
    if (first === undefined) return given;
    for (const { name, placeholder } of this.#members) countPlaces(text, name, placeholder);
    if (given.length > MAX_BODY_BYTES) throw unsent(first.name, `the body is larger than ${MAX_BODY_BYTES} bytes`);
    const filled = this.#filledBody(kind, text);
    if (filled === undefined) throw unsent(first.name, "the body is no JSON, although its content type says so");
    return filled === text ? given : Buffer.from(filled, "latin1");
  }

  #filledBody(kind: BodyKind, text: string): string | undefined {
    return filledBody(kind, text, (part, field, write) => {
      const members = this.#members.filter(({ body }) => body === "*" || (body !== undefined && body === field));
      return fill(part, members, write);
    });
  }

  /** To be asked for when the request is made. */
  filter(): SecretFilter {
    return this.#made.length > 0 ? filterOf(this.#members, this.#made) : this.#filters.of(this.#members);
  }

  #header(name: string, value: string): string {
    const members = this.#members.filter(({ header, query, body }) =>
      header === undefined ? query === undefined && body === undefined : header === name,
    );
    const [, scheme = "", credentials] = BASIC.exec(value) ?? [];
    if (credentials === undefined) return fill(value, members);
    const plain = Buffer.from(credentials, "base64").toString("utf8");
    const filled = fill(plain, members);
    if (filled === plain) return fill(value, members);
    const made = Buffer.from(filled).toString("base64");
    this.#made.push([made.replaceAll("=", ""), credentials.replaceAll("=", "")]);
    return scheme + made;
  }

  #pair(pair: string): string {
    const equals = pair.indexOf("=");
    const name = decoded(pair.slice(0, Math.max(equals, 0)));
    const members = this.#members.filter(({ query }) => query !== undefined && query === name);
    return fill(pair, members, encodeURIComponent);
  }
}

/** Filters of earlier requests: making one for many secrets takes longer than most answers. */
export class FilterCache {
  readonly #filters = new Map<string, SecretFilter>();

  of(members: readonly SecretMember[]): SecretFilter {
    const key = JSON.stringify(
      members.map(({ placeholder, spellings, value }) => [placeholder, spellings.length, value]),
    );
    const known = this.#filters.get(key) ?? filterOf(members, []);
    if (this.#filters.size >= MAX_FILTERS) this.#filters.clear();
    this.#filters.set(key, known);
    return known;
  }
}

/** Endpoints with secrets of their own; nobody's plugin has more. */
const MAX_FILTERS = 16;

function filterOf(members: readonly SecretMember[], made: readonly (readonly [string, string])[]): SecretFilter {
  const known = members.flatMap(({ placeholder, spellings }) =>
    spellings.map((spelling) => [spelling, placeholder] as const),
  );
  const values = members.flatMap(({ placeholder, spellings, value }) =>
    spellings.length > 0 && "text" in value ? [[value.text, placeholder] as const] : [],
  );
  return new SecretFilter([...known, ...made], values);
}

function fill(text: string, members: readonly SecretMember[], write = inHeader): string {
  let filled = text;
  for (const { name, placeholder, value } of members) {
    if (!filled.includes(placeholder)) continue;
    countPlaces(filled, name, placeholder);
    if ("problem" in value) throw unsent(name, value.problem);
    if (write === inHeader && UNSENDABLE.test(value.text))
      throw unsent(name, "its value has characters that no header can carry");
    filled = filled.replaceAll(placeholder, () => write(value.text));
  }
  return filled;
}

function countPlaces(text: string, name: string, placeholder: string): void {
  if (text.split(placeholder, MAX_PLACES + 2).length > MAX_PLACES + 1)
    throw unsent(name, `it is asked for in more than ${MAX_PLACES} places`);
}

function inHeader(value: string): string {
  return value;
}

function unsent(name: string, why: string): FetchError {
  return new FetchError("denied", `The secret "${name}" is not sent: ${why}.`, `secrets.${name}`);
}
