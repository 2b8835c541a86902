// Turns the text of a URL into a checked target, or says why it is none, and that of an IP address into its bytes.
import { FetchError } from "./refusals.js";

/** What the policy is asked about. */
export interface EgressEndpoint {
  readonly scheme: "http" | "https";
  /** Lower case; an IPv6 literal without its brackets. */
  readonly host: string;
  readonly port: number;
}

/** Where a request goes. */
export interface EgressTarget extends EgressEndpoint {
  readonly url: URL;
  /** Whether `host` is an IP address. */
  readonly literal: boolean;
}

/** Long enough for every honest query, short enough to be shown. */
const MAX_URL_LENGTH = 8_192;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const NAME = /^(?!-)[a-z0-9-]+(?:\.(?!-)[a-z0-9-]+)*$/;

/**
 * Parses `text` as the platform does and accepts http(s) with a plain host name or an IP address, without user name or password. The
 * dot of the root that may end a name is taken off: the same host is judged, asked for and told its name in one way. @throws FetchError
 * `bad-url`
 */
export function parseTarget(text: string, base?: URL): EgressTarget {
  if (text.length > MAX_URL_LENGTH) throw badUrl("is too long");
  const url = parseUrl(text, base);
  if (url === null) throw badUrl(SCHEME.test(text) ? "cannot be parsed" : "has no scheme; begin it with https://");
  if (url.protocol !== "http:" && url.protocol !== "https:") throw badUrl("must begin with https:// or http://");
  if (url.username !== "" || url.password !== "") throw badUrl("must not contain a user name or password");
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const literal = parseIp(host) !== undefined;
  if (!literal && !NAME.test(host)) throw badUrl("has a host that is neither a plain name nor an IP address");
  const scheme = url.protocol === "http:" ? "http" : "https";
  return { url, scheme, host, port: url.port === "" ? (scheme === "http" ? 80 : 443) : Number(url.port), literal };
}

function parseUrl(text: string, base: URL | undefined): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

function badUrl(fault: string): FetchError {
  return new FetchError("bad-url", `The URL ${fault}.`);
}

// What a policy is asked, and answers, before a request leaves this machine.

export interface EgressDecision {
  readonly allowed: boolean;
  /** What to do about a refusal by no rule, in place of naming the host: a clause with its full stop. */
  readonly advice?: string;
  /** The rule that decided, as people read it in the policy. It is shown in errors. */
  readonly rule: string;
  /** Where the rule stands in the policy file. */
  readonly line?: number | undefined;
  /** True only when the policy names this very endpoint or address: then the address need not be public. */
  readonly allowPrivate?: boolean;
}

/**
 * Pure. Asked for each hop: once before the name is looked up, then with each address it has (a literal's is itself). Plain
 * `http` is allowed only where the policy says so.
 */
export type DecideEgress = (endpoint: EgressEndpoint, address?: string) => EgressDecision;

// Parses the text of an IP address into its bytes: 4 for IPv4, 16 for IPv6.

const DECIMAL = /^(?:0|[1-9][0-9]{0,2})$/;
const GROUP = /^[0-9a-f]{1,4}$/i;

/**
 * Returns the bytes of `text`, or undefined when it is not an address in its usual form. Strict on purpose: octal, hexadecimal
 * and short IPv4 forms, brackets and zone names are not addresses here (the URL parser has normalised what people may write).
 */
export function parseIp(text: string): readonly number[] | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): readonly number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => DECIMAL.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseIpv6(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => parseGroups(half, index === halves.length - 1));
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail];
}

/** The bytes of colon-separated groups; the last may be a dotted IPv4 address when it ends the whole text. */
function parseGroups(text: string, ends: boolean): readonly number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (ends && index === groups.length - 1 && group.includes(".")) {
      const dotted = parseIpv4(group);
      if (dotted === undefined) return undefined;
      bytes.push(...dotted);
    } else {
      if (!GROUP.test(group)) return undefined;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}
