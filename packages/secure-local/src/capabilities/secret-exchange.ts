// One request to an endpoint that secrets belong to, and its answer: placeholders become values on the way out, values
// placeholders on the way back.
import { Buffer } from "node:buffer";
import { FetchError } from "./fetch-error.js";
import { SecretFilter } from "./secret-filter.js";

/** A secret of this endpoint. */
export interface SecretMember {
  readonly name: string;
  readonly placeholder: string;
  /** Lower case; the only header it is put in. Without one and without `query` it is any header. */
  readonly header: string | undefined;
  /** The parameter of the URL it is put in. */
  readonly query: string | undefined;
  /** The value, or why there is none to send. */
  readonly value: { readonly text: string } | { readonly problem: string };
  /** How values of it look in an answer, those it had before as well. */
  readonly spellings: readonly string[];
}

/** Parts of a body could be asked for so that none of them holds a whole value. */
const IN_PARTS = new Set(["range", "if-range"]);
const BASIC = /^(basic[ \t]+)([A-Za-z0-9+/]+={0,2})[ \t]*$/i;

export class SecretExchange {
  readonly #members: readonly SecretMember[];
  /** Spellings that this very request gave rise to. */
  readonly #made: (readonly [spelling: string, placeholder: string])[] = [];

  constructor(members: readonly SecretMember[]) {
    this.#members = members;
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

  /** To be asked for when the request is made. */
  filter(): SecretFilter {
    const known = this.#members.flatMap(({ placeholder, spellings }) =>
      spellings.map((spelling) => [spelling, placeholder] as const),
    );
    return new SecretFilter([...known, ...this.#made]);
  }

  #header(name: string, value: string): string {
    const members = this.#members.filter(({ header, query }) =>
      header === undefined ? query === undefined : header === name,
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

function fill(text: string, members: readonly SecretMember[], write = (value: string): string => value): string {
  let filled = text;
  for (const { name, placeholder, value } of members) {
    if (!filled.includes(placeholder)) continue;
    if ("problem" in value) {
      throw new FetchError("denied", `The secret "${name}" is not sent: ${value.problem}.`, `secrets.${name}`);
    }
    filled = filled.replaceAll(placeholder, () => write(value.text));
  }
  return filled;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
