// Turns whatever can verify a token, a fixed list of them included, into an authenticator: credentials, proof of
// possession, scopes, challenges; and several authenticators into one.
import { LocalError } from "../jsonrpc/errors.js";
import { type MembersOf, shownValue, valueFault } from "../schema/schema.js";
import type { Identity } from "../jsonrpc/transport.js";
import {
  checkMembers,
  checkVerdict,
  type Authenticator,
  type AuthOutcome,
  type AuthRequest,
  type ChallengeTerms,
  missingToken,
  type Refusal,
  refusalOf,
  type Scheme,
} from "./authenticator.js";
import type { DpopVerifier, ProofOutcome } from "./dpop.js";
import type { ProtectedResource } from "./resource-metadata.js";
import { checkScopeNames, hasScopes, type ScopeHierarchy } from "./scopes.js";

/** What a verifier found out about a token. */
export type TokenVerdict =
  | {
      readonly ok: true;
      readonly identity: Identity;
      /** Thumbprint (RFC 7638, SHA-256) of the key the sender must prove to hold; undefined for a bearer token. */
      readonly boundTo?: string | undefined;
    }
  | {
      readonly ok: false;
      /** 401: the token is no good. 503: nobody can tell now. */
      readonly status: 401 | 503;
      /** A sentence for the peer. */
      readonly message: string;
    };

/** Judges a token by itself. */
export interface TokenVerifier {
  verify(token: string): Promise<TokenVerdict>;
}

/**
 * What every authenticator by token has in common: the resource it guards, scopes everybody needs, proofs of
 * possession.
 */
export interface TokenOptions {
  /** The resource this server is: its metadata URL goes into every challenge. */
  readonly resource?: ProtectedResource;
  /** Scopes every request needs. Default: none. */
  readonly scopes?: readonly string[];
  readonly hierarchy?: ScopeHierarchy;
  /** Accepts DPoP-bound tokens. Without it such a token is refused. */
  readonly dpop?: DpopVerifier;
}

/** The members of `TokenOptions`. */
export const TOKEN_MEMBERS: MembersOf<TokenOptions> = {
  resource: "object",
  scopes: "texts",
  hierarchy: "lists by name",
  dpop: "verify()",
};

/** An authenticator for tokens of one's own kind. Throws RangeError for a scope that is none. */
export function tokenAuthenticator(verifier: TokenVerifier, options: TokenOptions = {}): Authenticator {
  checkMembers("tokenAuthenticator(verifier, options)", options, TOKEN_MEMBERS);
  checkVerifier(verifier);
  return verifying(verifier, options);
}

/** The same with options that were looked at. */
export function verifying(verifier: TokenVerifier, options: TokenOptions): Authenticator {
  checkScopeNames(options.scopes ?? []);
  const terms = challengeTerms(options);
  return {
    async authenticate(request) {
      const credentials = readCredentials(request);
      if (credentials === "none") return missingToken(terms);
      if ("malformed" in credentials) {
        return refusalOf(terms, { status: 400, error: "invalid_request", message: credentials.malformed });
      }
      const verdict = await verifier.verify(credentials.token);
      checkVerdict("verify", verdict);
      if (!verdict.ok) {
        const error = verdict.status === 503 ? "temporarily_unavailable" : "invalid_token";
        return refusalOf(terms, { status: verdict.status, error, message: verdict.message });
      }
      return admit(request, credentials, { verdict, terms, options });
    },
  };
}

function checkVerifier(verifier: unknown): void {
  if (typeof (verifier as Partial<TokenVerifier> | undefined | null)?.verify === "function") return;
  const what = `takes an object with verify(token), not ${shownValue(verifier)}`;
  throw new LocalError(
    "BAD_OPTIONS",
    `tokenAuthenticator(verifier, options): ${what}: write { verify: async (token) => ... }`,
  );
}

interface Judged {
  readonly verdict: TokenVerdict & { readonly ok: true };
  readonly terms: ChallengeTerms;
  readonly options: TokenOptions;
}

async function admit(request: AuthRequest, credentials: Credentials, judged: Judged): Promise<AuthOutcome> {
  const { verdict, terms, options } = judged;
  const { identity, boundTo } = verdict;
  const fault = schemeFault(credentials.scheme, boundTo, options.dpop);
  if (fault !== undefined) return refusalOf(terms, { status: 401, error: "invalid_token", message: fault });
  let headers: Readonly<Record<string, string>> | undefined;
  if (boundTo !== undefined && options.dpop !== undefined) {
    const proof = await options.dpop.verify(request, credentials.token, boundTo);
    const sound: unknown = proof.ok;
    if (sound !== true)
      return refusalOf({ ...terms, schemes: ["DPoP"] }, proof as ProofOutcome & { readonly ok: false });
    headers = proof.headers;
  }
  const needed = options.scopes ?? [];
  if (!hasScopes(identity.scopes, needed, options.hierarchy)) {
    const message = `Every request needs the scopes ${needed.join(" ")}: ask for a token that has them`;
    return refusalOf(terms, { status: 403, error: "insufficient_scope", message });
  }
  return headers === undefined ? { ok: true, identity } : { ok: true, identity, headers };
}

/** A bound token without its proof is a stolen one; a proof for an unbound token proves nothing. */
function schemeFault(scheme: Scheme, boundTo: string | undefined, dpop: DpopVerifier | undefined): string | undefined {
  if (boundTo !== undefined && dpop === undefined)
    return "The access token is bound to a key, which is not supported here";
  if (boundTo !== undefined && scheme === "Bearer")
    return "The access token is bound to a key: send it with the scheme DPoP";
  if (boundTo === undefined && scheme === "DPoP")
    return "The access token is bound to no key: it cannot be sent with DPoP";
  if (boundTo === undefined && dpop?.required === true) return "Only access tokens bound to a key are accepted (DPoP)";
  return undefined;
}

function challengeTerms({ resource, scopes, dpop }: TokenOptions): ChallengeTerms {
  const schemes: readonly Scheme[] = dpop === undefined ? ["Bearer"] : dpop.required ? ["DPoP"] : ["Bearer", "DPoP"];
  return { schemes, metadataUrl: resource?.metadataUrl, scopes, proofAlgorithms: dpop?.algorithms };
}

// Finds the access token of a request: in the Authorization header, once, and nowhere else.

interface Credentials {
  readonly scheme: Scheme;
  readonly token: string;
}

/** Longest Authorization header: twice the largest tokens seen, far under what HTTP servers take. */
const HEADER_LENGTH = 16 * 1024;

/** One scheme, one space or more, one token (RFC 9110 §11.4, RFC 6750 §2.1). */
const CREDENTIALS = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i;

/** The token, "none" when the request has no credentials of a scheme known here, or a sentence saying what is malformed. */
function readCredentials(request: AuthRequest): Credentials | "none" | { readonly malformed: string } {
  if (queryHasToken(request.url)) {
    return { malformed: "An access token in the URL is not accepted: send it in the Authorization header" };
  }
  const header = request.header("authorization");
  if (header === undefined || header === "") return "none";
  if (header.length > HEADER_LENGTH) {
    return { malformed: `The Authorization header is longer than ${HEADER_LENGTH} characters` };
  }
  const match = CREDENTIALS.exec(header);
  if (match !== null) {
    return { scheme: match[1]?.toLowerCase() === "dpop" ? "DPoP" : "Bearer", token: match[2] as string };
  }
  if (header.includes(",")) return { malformed: "Send exactly one Authorization header with one token" };
  if (/^(?:bearer|dpop)(?: |$)/i.test(header)) {
    return { malformed: "The Authorization header has a scheme but not exactly one token after it" };
  }
  return "none";
}

function queryHasToken(url: string): boolean {
  const start = url.indexOf("?");
  if (start === -1) return false;
  const end = url.indexOf("#", start);
  const query = new URLSearchParams(url.slice(start + 1, end === -1 ? undefined : end));
  for (const name of query.keys()) if (name.toLowerCase() === "access_token") return true;
  return false;
}

// Authenticates by a fixed list of tokens, for a server of one's own without an authorization server.

/** One token and who has it. Give the token, or the SHA-256 of it in hexadecimal to keep it out of configuration. */
export interface StaticToken {
  readonly token?: string;
  readonly sha256?: string;
  readonly principal: string;
  readonly scopes?: readonly string[];
  readonly clientId?: string;
}

const STATIC_MEMBERS: MembersOf<StaticToken> = {
  token: "text",
  sha256: "text",
  principal: "any",
  scopes: "texts",
  clientId: "text",
};

/** Shortest token: 128 random bits are 22 characters of base64url. */
const MIN_LENGTH = 22;
/** Most tokens: every request is compared with each of them. */
const MAX_TOKENS = 1_000;

/** How nearly every client sends a token: exactly one spelling of each. */
const USUAL_FORM = /^Bearer [^ ]/;

const UNKNOWN: TokenVerdict = { ok: false, status: 401, message: "The access token is not known here" };

interface Known {
  readonly hash: Uint8Array;
  readonly verdict: TokenVerdict;
}

/**
 * Tokens are kept as hashes and compared in constant time, each with every known one; a token that was good is known by
 * its text from then on, so that only its first request pays for that. Throws RangeError for a list that
 * is empty or too long, for a token that is too short or cannot be sent in a header, and for one that is there twice; no message
 * repeats a token.
 */
export function staticTokenAuthenticator(
  tokens: readonly StaticToken[],
  options: Omit<TokenOptions, "dpop"> = {},
): Authenticator {
  checkMembers("staticTokenAuthenticator(tokens, options)", options, TOKEN_MEMBERS);
  const fault = valueFault("tokens", tokens, "list");
  if (fault !== undefined) throw new LocalError("BAD_OPTIONS", `staticTokenAuthenticator(tokens, options): ${fault}`);
  if (tokens.length === 0 || tokens.length > MAX_TOKENS) throw new RangeError(`Give 1 to ${MAX_TOKENS} tokens`);
  for (const one of tokens) checkToken(one);
  const texts = tokens.map(({ token, sha256: hash }) => token ?? hash?.toLowerCase());
  const twice = texts.findIndex((text, at) => texts.indexOf(text) < at);
  if (twice >= 0) {
    const at = texts.indexOf(texts[twice]);
    throw new RangeError(`The tokens at ${at} and ${twice} of the list are the same: give each to one principal`);
  }
  const known = Promise.all(tokens.map(remember));
  const verify = async (token: string): Promise<TokenVerdict> => {
    const hash = await sha256(token);
    let found = UNKNOWN;
    for (const one of await known) if (equalInConstantTime(hash, one.hash)) found = one.verdict;
    return found;
  };
  return remembering(tokenAuthenticator({ verify }, options));
}

/** Good credentials are kept in the one usual form of each, so there are never more of them than tokens. They are judged at once. */
function remembering(authenticator: Authenticator): Authenticator {
  const admitted = new Map<string, AuthOutcome>();
  const judge = async (request: AuthRequest, header: string): Promise<AuthOutcome> => {
    const outcome = await authenticator.authenticate(request);
    if (outcome.ok && USUAL_FORM.test(header)) admitted.set(header, outcome);
    return outcome;
  };
  return {
    authenticate(request) {
      // A query may hold a token as well, which is to be refused.
      const header = request.url.includes("?") ? undefined : request.header("authorization");
      if (header === undefined) return authenticator.authenticate(request);
      return admitted.get(header) ?? judge(request, header);
    },
  };
}

/** Whether two byte strings of equal length are the same; takes equally long wherever they differ. */
export function equalInConstantTime(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let at = 0; at < left.length; at++) difference |= (left[at] as number) ^ (right[at] as number);
  return difference === 0;
}

function checkToken(given: StaticToken): void {
  checkMembers("staticTokenAuthenticator([token])", given, STATIC_MEMBERS);
  const { token, sha256, principal } = given;
  if (typeof principal !== "string" || principal === "") {
    throw new RangeError("A token needs a principal, a text: the name of whoever has it");
  }
  if ((token === undefined) === (sha256 === undefined)) {
    throw new RangeError(`Give the token of ${principal} or its sha256, one of the two`);
  }
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new RangeError(`The sha256 of the token of ${principal} must be 64 hexadecimal digits`);
  }
  if (token !== undefined && (token.length < MIN_LENGTH || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token))) {
    throw new RangeError(
      `The token of ${principal} must have at least ${MIN_LENGTH} characters, all of them letters, digits or -._~+/`,
    );
  }
}

async function remember({ token, sha256: hex, principal, scopes, clientId }: StaticToken): Promise<Known> {
  const identity: Identity = { principal, scopes: scopes ?? [], ...(clientId !== undefined && { clientId }) };
  const hash = token === undefined ? fromHex(hex ?? "") : await sha256(token);
  return { hash, verdict: { ok: true, identity } };
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

// Accepts what any of several authenticators accepts, and otherwise refuses for all of them at once.

/** Which refusal speaks for all: the one that came closest to accepting, or could not tell. */
const PRECEDENCE: readonly Refusal["status"][] = [403, 503, 400, 401];

/**
 * Asks in order and takes the first that admits. When none does, the refusal is the most telling one, with the challenges
 * of all that have the same status. Throws RangeError for an empty list.
 */
export function anyOf(...authenticators: readonly Authenticator[]): Authenticator {
  const odd = authenticators.find((one) => typeof (Object(one) as Partial<Authenticator>).authenticate !== "function");
  if (odd !== undefined || authenticators.includes(undefined as never)) {
    const what = "anyOf(a, b) takes authenticators one by one";
    const gave = Array.isArray(odd)
      ? "and was given a list: write anyOf(...list)"
      : "each with authenticate(), as jwtAuthenticator makes one";
    throw new LocalError("BAD_OPTIONS", `${what}, ${gave}`);
  }
  if (authenticators.length === 0) throw new RangeError("Give at least one authenticator");
  return {
    async authenticate(request) {
      const refusals: Refusal[] = [];
      for (const one of authenticators) {
        const outcome = await one.authenticate(request);
        checkVerdict("authenticate", outcome);
        if (outcome.ok) return outcome;
        refusals.push(outcome);
      }
      return merge(refusals);
    },
  };
}

function merge(refusals: readonly Refusal[]): Refusal {
  const status = PRECEDENCE.find((one) => refusals.some((refusal) => refusal.status === one));
  const same = refusals.filter((refusal) => refusal.status === status);
  const headers: Record<string, string> = {};
  for (const refusal of same) Object.assign(headers, refusal.headers);
  const challenges = new Set(same.map((refusal) => refusal.challenge).filter((text) => text !== ""));
  return { ...(same[0] as Refusal), challenge: [...challenges].join(", "), headers };
}
