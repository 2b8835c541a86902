// Authenticates by JWT access tokens (RFC 9068): verified here, with pinned algorithms and the issuer's keys, given
// in place or fetched.

import {
  type CompactJws,
  DEFAULT_ALGORITHMS,
  type VerifyKey,
  fits,
  importPublicKey,
  isSignedBy,
  pinAlgorithms,
  publicPart,
  readCompactJws,
} from "./jws.js";
import type { Authenticator } from "./authenticator.js";
import {
  type ClaimRules,
  type Claims,
  bindingOf,
  claimFault,
  identityFromClaims,
  readAudiences,
  readIssuer,
  readSkew,
  subjectOf,
} from "./claims.js";
import { ExpiringMap, type FetchOptions, Refreshed, checkServerUrl, fetchJson, isPlainObject } from "./fetch-json.js";
import { type TokenOptions, type TokenVerdict, type TokenVerifier, tokenAuthenticator } from "./token-authenticator.js";

/** A JSON Web Key Set (RFC 7517 §5). Private members are ignored. */
export interface JsonWebKeySet {
  readonly keys: readonly object[];
}

/** "unknown": no usable key has that id. "unavailable": the issuer cannot be asked and nothing young enough is held. */
export type KeyLookup = VerifyKey | "unknown" | "unavailable";

export interface KeySource {
  find(alg: string, kid: string | undefined): Promise<KeyLookup>;
}

/** Most keys in a set: issuers publish two to ten. */
const MAX_KEYS = 100;

/** Keys of one set, each imported once for each algorithm it is used with. */
class KeySet {
  readonly #keys: readonly Readonly<Record<string, unknown>>[];
  /** By algorithm and place in the set. */
  readonly #imported = new Map<string, Promise<VerifyKey | undefined>>();

  /** Throws an Error for what is no key set. */
  constructor(document: unknown) {
    const keys = isPlainObject(document) ? document["keys"] : undefined;
    if (!Array.isArray(keys) || keys.length > MAX_KEYS) throw new Error("This is no JSON Web Key Set");
    this.#keys = keys.filter(isPlainObject);
  }

  /** The one key it can be. Several candidates are none: which of them signed must not be tried out. */
  async find(alg: string, kid: string | undefined): Promise<VerifyKey | undefined> {
    let place = -1;
    for (const [at, jwk] of this.#keys.entries()) {
      if ((kid !== undefined && jwk["kid"] !== kid) || !fits(jwk, alg)) continue;
      if (place !== -1) return undefined;
      place = at;
    }
    const jwk = this.#keys[place];
    return jwk === undefined ? undefined : this.#import(jwk, alg, place);
  }

  #import(jwk: Readonly<Record<string, unknown>>, alg: string, place: number): Promise<VerifyKey | undefined> {
    const name = `${alg} ${place}`;
    let key = this.#imported.get(name);
    if (key === undefined) {
      const part = publicPart(jwk);
      key = part === undefined ? Promise.resolve(undefined) : importPublicKey(part, alg);
      this.#imported.set(name, key);
    }
    return key;
  }
}

/** Keys given in place. Throws an Error for what is no key set. */
export function localKeys(document: JsonWebKeySet): KeySource {
  const set = new KeySet(document);
  return { find: async (alg, kid) => (await set.find(alg, kid)) ?? "unknown" };
}

/** Keys of an issuer, fetched at first use. `now` gives milliseconds. Throws RangeError for a URL that must not be fetched. */
export function remoteKeys(url: string, options: FetchOptions, now: () => number): KeySource {
  const init: RequestInit = { headers: { accept: "application/jwk-set+json, application/json" } };
  const document = new Refreshed(async () => new KeySet(await fetchJson(url, init, options)), now);
  return {
    async find(alg, kid) {
      const held = await (await document.current())?.find(alg, kid);
      if (held !== undefined) return held;
      // Perhaps the issuer has rotated its keys: ask again, as often as the spacing allows.
      await document.renew();
      const set = await document.current();
      const found = await set?.find(alg, kid);
      if (found !== undefined) return found;
      return set === undefined || document.failed ? "unavailable" : "unknown";
    },
  };
}

/** How tokens that are JWTs are verified (RFC 9068): issuer, audience, and where the keys are. */
export interface JwtOptions extends TokenOptions, FetchOptions {
  /** Exactly the `iss` of the tokens. */
  readonly issuer: string;
  /** Exactly the `aud`, or one of it: the canonical URL of this server. Default: the URL of `resource`. */
  readonly audience?: string | readonly string[];
  /** Where the issuer publishes its keys, or the keys themselves: give one of the two. */
  readonly jwksUri?: string;
  readonly jwks?: JsonWebKeySet;
  /** Asymmetric JWS algorithms. Default: RS256, PS256, ES256, EdDSA, Ed25519. */
  readonly algorithms?: readonly string[];
  /** Demanded `typ`, such as "at+jwt". Default: none, "JWT" or "at+jwt", so that no other kind of JWT passes for a token. */
  readonly typ?: string;
  /** How far clocks may differ, in seconds. Default: 30. */
  readonly clockSkewSeconds?: number;
  /** Names the owner; undefined refuses the token. Default: "issuer#subject". */
  readonly principal?: (claims: Claims) => string | undefined;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Longest token: those with dozens of groups in them stay under 8 KiB. */
const TOKEN_LENGTH = 12 * 1024;
/** Verified tokens remembered: 12 MB at worst, and a signature a minute for each of a thousand users. */
const REMEMBERED = 1_000;
/** How long a verified token is taken without verifying its signature again, so that a withdrawn key ends soon. */
const REMEMBER_MS = 60_000;

const REFUSED = "The access token could not be verified: ask the authorization server for a new one";

/** Throws RangeError for options that would accept too much, a TypeError for missing ones. */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  return tokenAuthenticator(jwtVerifier(options), options);
}

interface Settings {
  readonly keys: KeySource;
  readonly algorithms: ReadonlySet<string>;
  readonly types: ReadonlySet<string | undefined>;
  readonly rules: ClaimRules;
  readonly principal: (claims: Claims) => string | undefined;
  readonly now: () => number;
}

function jwtVerifier(options: JwtOptions): TokenVerifier {
  const settings = readSettings(options);
  const remembered = new ExpiringMap<TokenVerdict & { ok: true }>(REMEMBERED);
  return {
    async verify(token) {
      const now = settings.now();
      const known = remembered.get(token, now);
      if (known !== undefined) return known;
      const verdict = await verifyToken(token, settings, now);
      if (verdict.ok) {
        const end = (verdict.identity.expiresAt ?? now) + settings.rules.skewMs;
        remembered.set(token, verdict, Math.min(now + REMEMBER_MS, end));
      }
      return verdict;
    },
  };
}

async function verifyToken(token: string, settings: Settings, now: number): Promise<TokenVerdict> {
  const jws = readCompactJws(token, settings.algorithms, TOKEN_LENGTH);
  if (jws === undefined || !settings.types.has(jws.typ)) return refused(REFUSED);
  const key = await settings.keys.find(jws.alg, jws.kid);
  if (key === "unavailable") {
    return { ok: false, status: 503, message: "The authorization server does not give its keys: try again later" };
  }
  if (key === "unknown" || !(await isSignedBy(token, key, jws.alg))) return refused(REFUSED);
  return judge(jws, settings, now);
}

/** Claims are judged after the signature, so that nobody learns our rules by trying. */
function judge({ payload }: CompactJws, { rules, principal }: Settings, now: number): TokenVerdict {
  const fault = claimFault(payload, rules, now);
  if (fault !== undefined) return refused(fault);
  const binding = bindingOf(payload);
  if (binding === "other") return refused("The access token is bound to its sender in a way not supported here");
  const identity = identityFromClaims(payload, principal);
  if (typeof identity === "string") return refused(identity);
  return { ok: true, identity, boundTo: binding === "unbound" ? undefined : binding.thumbprint };
}

function refused(message: string): TokenVerdict {
  return { ok: false, status: 401, message };
}

function readSettings(options: JwtOptions): Settings {
  const { typ } = options;
  const issuer = readIssuer(options.issuer);
  return {
    keys: readKeys(options),
    algorithms: pinAlgorithms(options.algorithms ?? DEFAULT_ALGORITHMS),
    types: new Set(
      typ === undefined ? [undefined, "jwt", "at+jwt"] : [typ.toLowerCase().replace(/^application\//, "")],
    ),
    rules: {
      issuer,
      audiences: readAudiences(options),
      skewMs: readSkew(options.clockSkewSeconds),
      expiryRequired: true,
    },
    principal: options.principal ?? subjectOf(issuer),
    now: options.now ?? Date.now,
  };
}

function readKeys(options: JwtOptions): KeySource {
  const { jwks, jwksUri } = options;
  if (jwks !== undefined && jwksUri === undefined) return localKeys(jwks);
  if (jwks !== undefined || jwksUri === undefined) throw new TypeError("Give either jwksUri or jwks");
  // Ages are measured by a clock that nobody sets back, or withdrawn keys would live on.
  return remoteKeys(checkServerUrl(jwksUri, options), options, options.now ?? (() => performance.now()));
}
