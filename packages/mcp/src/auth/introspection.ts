// Authenticates by opaque tokens: the authorization server is asked what they are (RFC 7662), and rarely twice a minute.
import type { Authenticator } from "./authenticator.js";
import {
  bindingOf,
  claimFault,
  type ClaimRules,
  type Claims,
  expiryOf,
  identityFromClaims,
  readAudiences,
  readIssuer,
  readSkew,
  subjectOf,
} from "./claims.js";
import { ExpiringMap, type FetchOptions, checkServerUrl, fetchJson } from "./fetch-json.js";
import { tokenAuthenticator, type TokenOptions, type TokenVerdict, type TokenVerifier } from "./token-authenticator.js";

/** How tokens are looked up at the authorization server (RFC 7662). */
export interface IntrospectionOptions extends TokenOptions, FetchOptions {
  /** The introspection endpoint. */
  readonly endpoint: string;
  /** Exactly the `iss` of answers that have one, and part of the principal. */
  readonly issuer: string;
  /** Exactly the `aud`, or one of it, which every answer must have. Default: the URL of `resource`. */
  readonly audience?: string | readonly string[];
  readonly clientId: string;
  readonly clientSecret: string;
  /** How we authenticate: the header (RFC 6749 §2.3.1) or the form. Default: "basic". */
  readonly clientAuth?: "basic" | "post";
  /** How long an answer is taken for true, in seconds, up to 60. Default: 30. */
  readonly cacheSeconds?: number;
  /** How far clocks may differ, in seconds. Default: 30. */
  readonly clockSkewSeconds?: number;
  /** Names the owner; undefined refuses the token. Default: "issuer#subject". */
  readonly principal?: (claims: Claims) => string | undefined;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Longest answer kept: a withdrawn token must end within a minute. */
const MAX_CACHE_SECONDS = 60;
/** Verdicts remembered, for good tokens and for bad ones apart, so that made-up tokens drive out no good one. */
const REMEMBERED = 1_000;
/** Questions asked at once: more would turn a flood of made-up tokens into a flood of the authorization server. */
const MAX_QUESTIONS = 32;

const UNAVAILABLE: TokenVerdict = {
  ok: false,
  status: 503,
  message: "The authorization server cannot be asked about the token: try again later",
};

/** Throws RangeError for options that would accept too much, a TypeError for missing ones. */
export function introspectionAuthenticator(options: IntrospectionOptions): Authenticator {
  return tokenAuthenticator(new Introspection(options), options);
}

class Introspection implements TokenVerifier {
  readonly #options: IntrospectionOptions;
  readonly #rules: ClaimRules;
  readonly #principal: (claims: Claims) => string | undefined;
  readonly #cacheMs: number;
  readonly #now: () => number;
  readonly #good = new ExpiringMap<TokenVerdict>(REMEMBERED);
  readonly #bad = new ExpiringMap<TokenVerdict>(REMEMBERED);
  readonly #asked = new Map<string, Promise<TokenVerdict>>();

  constructor(options: IntrospectionOptions) {
    const { cacheSeconds = 30 } = options;
    checkServerUrl(options.endpoint, options);
    if (!(cacheSeconds >= 0 && cacheSeconds <= MAX_CACHE_SECONDS)) {
      throw new RangeError(`cacheSeconds must be between 0 and ${MAX_CACHE_SECONDS}, not ${cacheSeconds}`);
    }
    const skewMs = readSkew(options.clockSkewSeconds);
    this.#options = options;
    this.#rules = { issuer: undefined, audiences: readAudiences(options), skewMs, expiryRequired: false };
    this.#principal = options.principal ?? subjectOf(readIssuer(options.issuer));
    this.#cacheMs = cacheSeconds * 1000;
    this.#now = options.now ?? Date.now;
  }

  verify(token: string): Promise<TokenVerdict> {
    const now = this.#now();
    const known = this.#good.get(token, now) ?? this.#bad.get(token, now);
    if (known !== undefined) return Promise.resolve(known);
    const asked = this.#asked.get(token);
    if (asked !== undefined) return asked;
    if (this.#asked.size >= MAX_QUESTIONS) return Promise.resolve(UNAVAILABLE);
    const question = this.#ask(token).finally(() => this.#asked.delete(token));
    this.#asked.set(token, question);
    return question;
  }

  async #ask(token: string): Promise<TokenVerdict> {
    let claims: Claims;
    try {
      claims = await fetchJson(this.#options.endpoint, question(token, this.#options), this.#options);
    } catch {
      return UNAVAILABLE;
    }
    const now = this.#now();
    const verdict = this.#judge(claims, now);
    const end = verdict.ok ? (expiryOf(claims) ?? Infinity) + this.#rules.skewMs : Infinity;
    (verdict.ok ? this.#good : this.#bad).set(token, verdict, Math.min(now + this.#cacheMs, end));
    return verdict;
  }

  #judge(claims: Claims, now: number): TokenVerdict {
    if (claims["active"] !== true) return refused("The access token is not active: ask for a new one");
    if (Object.hasOwn(claims, "iss") && claims["iss"] !== this.#options.issuer) {
      return refused("The access token is from another issuer");
    }
    const fault = claimFault(claims, this.#rules, now);
    if (fault !== undefined) return refused(fault);
    const binding = bindingOf(claims);
    if (binding === "other") return refused("The access token is bound to its sender in a way not supported here");
    const identity = identityFromClaims(claims, this.#principal);
    if (typeof identity === "string") return refused(identity);
    return { ok: true, identity, boundTo: binding === "unbound" ? undefined : binding.thumbprint };
  }
}

function refused(message: string): TokenVerdict {
  return { ok: false, status: 401, message };
}

function question(token: string, { clientId, clientSecret, clientAuth }: IntrospectionOptions): RequestInit {
  const body = new URLSearchParams({ token, token_type_hint: "access_token" });
  const headers: Record<string, string> = {
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
  };
  if (clientAuth === "post") {
    body.set("client_id", clientId);
    body.set("client_secret", clientSecret);
  } else headers["authorization"] = `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)}`;
  return { method: "POST", headers, body: body.toString() };
}

/** Both parts of the header are form-encoded first, which also leaves nothing but ASCII. */
function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
