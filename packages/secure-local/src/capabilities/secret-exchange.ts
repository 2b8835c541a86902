// One request to an endpoint that secrets belong to, and its answer: placeholders become values on the way out, values
// placeholders on the way back.
import { Buffer } from "node:buffer";
import { FetchError } from "./fetch-error.js";
import { type BodyKind, bodyKind, decoded, filledBody } from "./secret-body.js";
import { SecretFilter } from "./secret-filter.js";

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
