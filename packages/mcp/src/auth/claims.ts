// Judges what a token says about itself: who issued it, for whom, and from when to when it is good.
import type { Identity } from "../jsonrpc/transport.js";
import { parseScopes } from "./scopes.js";

/** What a token or an authorization server said, as it stands there. Only what a verifier read may be trusted. */
export type Claims = Readonly<Record<string, unknown>>;

export interface ClaimRules {
  /** Exactly this issuer; undefined where somebody else has vouched for it. */
  readonly issuer: string | undefined;
  /** The token must be for one of these, spelled exactly so. */
  readonly audiences: readonly string[];
  readonly skewMs: number;
  readonly expiryRequired: boolean;
}

/** Longest subject or client id: it becomes part of keys and log records. */
const NAME_LENGTH = 512;

/** A sentence saying which rule the claims break, or undefined. `now` is in milliseconds. */
export function claimFault(claims: Claims, rules: ClaimRules, now: number): string | undefined {
  if (rules.issuer !== undefined && own(claims, "iss") !== rules.issuer)
    return "The access token is from another issuer";
  if (!isFor(own(claims, "aud"), rules.audiences)) {
    return "The access token is for another audience: ask for one with this server as its resource";
  }
  return timeFault(claims, rules, now);
}

/** Milliseconds since the epoch at which the claims end, if they say so. */
export function expiryOf(claims: Claims): number | undefined {
  const exp = own(claims, "exp");
  return typeof exp === "number" ? exp * 1000 : undefined;
}

/** Thumbprint of the key the token is bound to; "unbound", or "other" for a binding that cannot be checked here. */
export function bindingOf(claims: Claims): { readonly thumbprint: string } | "unbound" | "other" {
  const cnf = own(claims, "cnf");
  if (cnf === undefined) return "unbound";
  if (typeof cnf !== "object" || cnf === null || Array.isArray(cnf)) return "other";
  const members = Object.entries(cnf);
  const [first] = members;
  if (members.length !== 1 || first === undefined) return "other";
  return first[0] === "jkt" && typeof first[1] === "string" ? { thumbprint: first[1] } : "other";
}

/** The identity the claims describe, or a sentence saying what they lack. */
export function identityFromClaims(
  claims: Claims,
  principal: (claims: Claims) => string | undefined,
): Identity | string {
  const owner = principal(claims);
  if (owner === undefined || owner === "") return "The access token does not say whose it is";
  const scopes = scopesOf(claims);
  if (scopes === undefined) return "The scopes of the access token are malformed";
  const client = own(claims, "client_id") ?? own(claims, "azp");
  const clientId = isName(client) ? client : undefined;
  const expiresAt = expiryOf(claims);
  return {
    principal: owner,
    scopes,
    claims,
    ...(clientId !== undefined && { clientId }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** Subject and issuer in one: "https://issuer#subject". An issuer has no fragment, so that no two pairs look alike. */
export function subjectOf(issuer: string): (claims: Claims) => string | undefined {
  return (claims) => {
    const subject = own(claims, "sub");
    return isName(subject) ? `${issuer}#${subject}` : undefined;
  };
}

function isFor(audience: unknown, wanted: readonly string[]): boolean {
  if (typeof audience === "string") return wanted.includes(audience);
  if (!Array.isArray(audience) || !audience.every((one) => typeof one === "string")) return false;
  return audience.some((one: string) => wanted.includes(one));
}

function timeFault(claims: Claims, { skewMs, expiryRequired }: ClaimRules, now: number): string | undefined {
  for (const name of ["exp", "nbf", "iat"]) {
    const value = own(claims, name);
    if (value === undefined ? name === "exp" && expiryRequired : !Number.isFinite(value)) {
      return `The access token has no usable "${name}"`;
    }
  }
  const exp = own(claims, "exp") as number | undefined;
  const nbf = own(claims, "nbf") as number | undefined;
  const iat = own(claims, "iat") as number | undefined;
  if (exp !== undefined && exp * 1000 <= now - skewMs) return "The access token has expired: ask for a new one";
  if (nbf !== undefined && nbf * 1000 > now + skewMs) return "The access token is not valid yet";
  if (iat !== undefined && iat * 1000 > now + skewMs) return "The access token was issued in the future";
  return undefined;
}

/** `scope` as RFC 9068 §2.2.3 has it, or the `scp` list of some issuers. */
function scopesOf(claims: Claims): readonly string[] | undefined {
  const value = own(claims, "scope") ?? own(claims, "scp");
  if (value === undefined) return [];
  if (typeof value === "string") return parseScopes(value);
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string" && one !== "")) return undefined;
  const scopes = parseScopes(value.join(" "));
  return scopes?.length === value.length ? scopes : undefined;
}

function isName(value: unknown): value is string {
  // Control characters would let a subject write lines of its own into logs.
  return typeof value === "string" && value !== "" && value.length <= NAME_LENGTH && !/\p{Cc}/u.test(value);
}

function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

// Reads the options every token check shares, and refuses those that would accept too much.

/** Largest difference of clocks that is a difference and not a fault. */
const MAX_SKEW_SECONDS = 300;

/** The issuer as given. Throws RangeError when it cannot be one: principals are built from it. */
export function readIssuer(issuer: string): string {
  if (typeof issuer === "string" && issuer !== "" && !issuer.includes("#")) return issuer;
  throw new RangeError("issuer must be the exact URL of the authorization server, without fragment");
}

/** The audiences tokens may be for. Throws TypeError when there is none: a token for anybody is not one for us. */
export function readAudiences(options: {
  readonly audience?: string | readonly string[];
  readonly resource?: { readonly resource: string };
}): readonly string[] {
  const given = options.audience ?? options.resource?.resource;
  const audiences = typeof given === "string" ? [given] : (given ?? []);
  if (audiences.length === 0 || audiences.includes("")) throw new TypeError("Give the audience tokens must be for");
  return audiences;
}

/** Milliseconds of a clock skew. Throws RangeError outside 0 to 300 seconds. */
export function readSkew(seconds = 30): number {
  if (seconds >= 0 && seconds <= MAX_SKEW_SECONDS) return seconds * 1000;
  throw new RangeError(`clockSkewSeconds must be between 0 and ${MAX_SKEW_SECONDS}, not ${seconds}`);
}
