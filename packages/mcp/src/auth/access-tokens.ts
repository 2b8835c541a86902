// Reads access tokens: those that are JWTs by their signer's keys (RFC 9068), others by asking their server (RFC 7662).
import type { Identity } from "../jsonrpc/transport.js";
import type { MembersOf } from "../schema/schema.js";
import { type Authenticator, checkMembers } from "./authenticator.js";
import { checkServerUrl, fetchJson, type FetchOptions, isPlainObject, Refreshed } from "./fetch-json.js";
import {
  type CompactJws,
  DEFAULT_ALGORITHMS,
  fits,
  importPublicKey,
  isSignedBy,
  pinAlgorithms,
  publicPart,
  readCompactJws,
  type VerifyKey,
} from "./jws.js";
import { parseScopes } from "./scopes.js";
import {
  TOKEN_MEMBERS,
  verifying,
  type TokenOptions,
  type TokenVerdict,
  type TokenVerifier,
} from "./token-authenticator.js";

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

/** What both ways to a verdict take. */
const JUDGING_MEMBERS = {
  ...TOKEN_MEMBERS,
  fetch: "function",
  allowLoopbackHttp: "flag",
  issuer: "text",
  audience: ["text", "texts"],
  clockSkewSeconds: 0,
  principal: "function",
  now: "function",
} as const;
const JWT_MEMBERS: MembersOf<JwtOptions> = {
  ...JUDGING_MEMBERS,
  jwksUri: "text",
  jwks: "object",
  algorithms: "texts",
  typ: "text",
};

/** Longest token: those with dozens of groups in them stay under 8 KiB. */
const TOKEN_LENGTH = 12 * 1024;
/** Verified tokens remembered: 12 MB at worst, and a signature a minute for each of a thousand users. */
const REMEMBERED = 1_000;
/** How long a verified token is taken without verifying its signature again, so that a withdrawn key ends soon. */
const REMEMBER_MS = 60_000;

const REFUSED = "The access token could not be verified: ask the authorization server for a new one";

/** Throws RangeError for options that would accept too much, a TypeError for missing ones, BAD_OPTIONS for those that do not exist. */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  checkMembers("jwtAuthenticator(options)", options, JWT_MEMBERS);
  return verifying(jwtVerifier(options), options);
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

// Judges what a token says about itself: who issued it, for whom, and from when to when it is good.

/** What a token or an authorization server said, as it stands there. Only what a verifier read may be trusted. */
export type Claims = Readonly<Record<string, unknown>>;

interface ClaimRules {
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
function claimFault(claims: Claims, rules: ClaimRules, now: number): string | undefined {
  if (rules.issuer !== undefined && own(claims, "iss") !== rules.issuer)
    return "The access token is from another issuer";
  if (!isFor(own(claims, "aud"), rules.audiences)) {
    return "The access token is for another audience: ask for one with this server as its resource";
  }
  return timeFault(claims, rules, now);
}

/** Milliseconds since the epoch at which the claims end, if they say so. */
function expiryOf(claims: Claims): number | undefined {
  const exp = own(claims, "exp");
  return typeof exp === "number" ? exp * 1000 : undefined;
}

/** Thumbprint of the key the token is bound to; "unbound", or "other" for a binding that cannot be checked here. */
function bindingOf(claims: Claims): { readonly thumbprint: string } | "unbound" | "other" {
  const cnf = own(claims, "cnf");
  if (cnf === undefined) return "unbound";
  if (typeof cnf !== "object" || cnf === null || Array.isArray(cnf)) return "other";
  const members = Object.entries(cnf);
  const [first] = members;
  if (members.length !== 1 || first === undefined) return "other";
  return first[0] === "jkt" && typeof first[1] === "string" ? { thumbprint: first[1] } : "other";
}

/** The identity the claims describe, or a sentence saying what they lack. */
function identityFromClaims(claims: Claims, principal: (claims: Claims) => string | undefined): Identity | string {
  const owner = principal(claims);
  // A program in JavaScript may give a number, which every part that asks whose something is would take for nobody.
  if (typeof owner !== "string" || owner === "") return "The access token does not say whose it is";
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
function subjectOf(issuer: string): (claims: Claims) => string | undefined {
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
function readIssuer(issuer: string): string {
  if (typeof issuer === "string" && issuer !== "" && !issuer.includes("#")) return issuer;
  throw new RangeError("issuer must be the exact URL of the authorization server, without fragment");
}

/** The audiences tokens may be for. Throws TypeError when there is none: a token for anybody is not one for us. */
function readAudiences(options: {
  readonly audience?: string | readonly string[];
  readonly resource?: { readonly resource: string };
}): readonly string[] {
  const given = options.audience ?? options.resource?.resource;
  const audiences = typeof given === "string" ? [given] : (given ?? []);
  if (audiences.length === 0 || audiences.includes("")) throw new TypeError("Give the audience tokens must be for");
  return audiences;
}

/** Milliseconds of a clock skew. Throws RangeError outside 0 to 300 seconds. */
function readSkew(seconds = 30): number {
  if (typeof seconds === "number" && seconds >= 0 && seconds <= MAX_SKEW_SECONDS) return seconds * 1000;
  throw new RangeError(`clockSkewSeconds must be between 0 and ${MAX_SKEW_SECONDS}, not ${String(seconds)}`);
}

// Authenticates by opaque tokens: the authorization server is asked what they are (RFC 7662), and rarely twice a minute.

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
/** Questions asked at once: more would turn a flood of made-up tokens into a flood of the authorization server. */
const MAX_QUESTIONS = 32;

const UNAVAILABLE: TokenVerdict = {
  ok: false,
  status: 503,
  message: "The authorization server cannot be asked about the token: try again later",
};

const INTROSPECTION_MEMBERS: MembersOf<IntrospectionOptions> = {
  ...JUDGING_MEMBERS,
  endpoint: "text",
  clientId: "text",
  clientSecret: "text",
  clientAuth: ["=basic", "=post"],
  cacheSeconds: 0,
};

/** Throws RangeError for options that would accept too much, a TypeError for missing ones, BAD_OPTIONS for those that do not exist. */
export function introspectionAuthenticator(options: IntrospectionOptions): Authenticator {
  checkMembers("introspectionAuthenticator(options)", options, INTROSPECTION_MEMBERS);
  return verifying(new Introspection(options), options);
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
    if (!(typeof cacheSeconds === "number" && cacheSeconds >= 0 && cacheSeconds <= MAX_CACHE_SECONDS)) {
      throw new RangeError(`cacheSeconds must be between 0 and ${MAX_CACHE_SECONDS}, not ${String(cacheSeconds)}`);
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

// Remembers values for a while and never more than a fixed number of them.

/** Over its bound the entry added first goes. Times are milliseconds of whatever clock the caller uses. */
export class ExpiringMap<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly expiresAt: number }>();
  readonly #bound: number;

  constructor(bound: number) {
    this.#bound = bound;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, now: number): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAt > now) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: T, expiresAt: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#bound) {
      const first = this.#entries.keys().next();
      if (first.done !== true) this.#entries.delete(first.value);
    }
    this.#entries.set(key, { value, expiresAt });
  }
}
