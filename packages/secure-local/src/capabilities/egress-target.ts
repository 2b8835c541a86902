// Turns the text of a URL into a checked target, or says why it is none.
import { FetchError } from "./fetch-error.js";
import { parseIp } from "./ip-address.js";

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
