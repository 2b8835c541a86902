// Asks a token endpoint for tokens (RFC 6749 §5), and proves that the sender of one holds its key (RFC 9449 §4).
import { LocalError } from "../../jsonrpc/errors.js";
import { normalizeHttpUri } from "../fetch-json.js";
import { toBase64url } from "../jws.js";
import { parseScopes } from "../scopes.js";
import { type AuthHttp, type AuthReply, shown } from "./auth-http.js";
import {
  type ClientIdentity,
  importSigningKey,
  newEs256Key,
  proveClient,
  type SigningKey,
  signJwt,
} from "./client-identity.js";
import type { Credentials, StoredClient, StoredTokens } from "./credential-store.js";
import type { AuthorizationPlace } from "./discovery.js";

interface TokenRequest {
  readonly endpoint: string;
  readonly issuer: string;
  readonly client: ClientIdentity;
  readonly form: Readonly<Record<string, string>>;
  readonly dpop?: DpopProver | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The token endpoint said no. `reason` is its error code. */
export class TokenRefusal extends LocalError {
  override readonly name: string = "TokenRefusal";
  readonly reason: string;
  /** Whether the same request would be refused again. */
  readonly isFinal: boolean;

  constructor(reason: string, message: string, isFinal: boolean) {
    super("AUTH_TOKEN", message);
    this.reason = reason;
    this.isFinal = isFinal;
  }
}

/** Longest token taken: a header of more is refused by most servers. */
const TOKEN_LENGTH = 16_384;
const TOKEN = /^[\x21-\x7e]+$/;
/** Longest life believed, in seconds: ten years. */
const LIFE_SECONDS = 315_360_000;
/** Codes of RFC 6749, 7591, 8693, 8707 and 9449 have no more characters, and no others. */
const ERROR_CODE = /^[a-z_]{1,40}$/;
const DESCRIPTION_LENGTH = 200;

/** Rejects with `TokenRefusal`, or `AUTH_TOKEN` for an answer that is no token we may use. */
export async function requestTokens(http: AuthHttp, request: TokenRequest): Promise<StoredTokens> {
  const json = await requestGrant(http, request);
  const type = String(json["token_type"]).toLowerCase();
  const wanted = request.dpop === undefined ? "bearer" : "dpop";
  if (type !== wanted) {
    throw unusable(request, `a token of type ${shown(json["token_type"])} where ${wanted} was asked for`);
  }
  return {
    accessToken: readToken(request, json, "access_token"),
    type: request.dpop === undefined ? "Bearer" : "DPoP",
    expiresAt: readExpiry(json["expires_in"], request.now),
    refreshToken: json["refresh_token"] === undefined ? undefined : readToken(request, json, "refresh_token"),
    scopes: typeof json["scope"] === "string" ? parseScopes(json["scope"]) : undefined,
  };
}

/** The JSON object a grant is answered with, whatever kind of token it has. */
export async function requestGrant(http: AuthHttp, request: TokenRequest): Promise<Readonly<Record<string, unknown>>> {
  const proof = await proveClient(request.client, request.issuer, request.now);
  const form = { ...request.form, ...proof.form };
  const secrets = [...Object.values(form), ...Object.values(proof.headers), request.client.clientSecret ?? ""];
  let reply = await post(http, request, { headers: proof.headers, form });
  // RFC 9449 §8: the server wants its nonce in the proof. Once: who does not take it then never will.
  if (reply.json?.["error"] === "use_dpop_nonce" && request.dpop !== undefined) {
    const again = await proveClient(request.client, request.issuer, request.now);
    reply = await post(http, request, { headers: again.headers, form: { ...request.form, ...again.form } });
  }
  if (reply.status !== 200) throw refusal(request, reply, secrets);
  if (reply.json === undefined) throw unusable(request, "something that is no JSON object");
  return reply.json;
}

async function post(
  http: AuthHttp,
  { endpoint, dpop }: TokenRequest,
  { headers, form }: { readonly headers: Readonly<Record<string, string>>; readonly form: Record<string, string> },
): Promise<AuthReply> {
  const proof = dpop === undefined ? {} : { dpop: await dpop.prove({ method: "POST", url: endpoint }) };
  const reply = await http.post(endpoint, {
    what: "The token endpoint",
    headers: { ...headers, ...proof },
    body: new URLSearchParams(form).toString(),
    type: "form",
  });
  dpop?.learn(endpoint, reply.header("dpop-nonce"));
  return reply;
}

export function readToken(
  request: TokenRequest,
  json: Readonly<Record<string, unknown>>,
  name: "access_token" | "refresh_token",
): string {
  const token = json[name];
  if (typeof token === "string" && token.length <= TOKEN_LENGTH && TOKEN.test(token)) return token;
  throw unusable(request, `no ${name} that can be sent`);
}

function readExpiry(value: unknown, now: number): number | undefined {
  const seconds = typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== "number" || !(seconds >= 0)) return undefined;
  return now + Math.min(seconds, LIFE_SECONDS) * 1000;
}

function refusal(request: TokenRequest, { status, json }: AuthReply, secrets: readonly string[]): TokenRefusal {
  const reason = errorCode(json?.["error"]);
  const description = errorDescription(json?.["error_description"], secrets);
  return new TokenRefusal(
    reason,
    `The token endpoint ${shown(request.endpoint)} refused ${shown(request.form["grant_type"])} with status ${status}, ${reason}${description}`,
    status >= 400 && status < 500 && status !== 429 && reason !== "temporarily_unavailable",
  );
}

/** What a server gives as its error code, if it can be one. */
export function errorCode(value: unknown): string {
  return typeof value === "string" && ERROR_CODE.test(value) ? value : "unknown_error";
}

/** A server's own words after a colon, unless they have one of `secrets` in them: a log must not get what we sent. */
export function errorDescription(value: unknown, secrets: readonly string[]): string {
  if (typeof value !== "string" || !/^[\x20-\x7e]+$/.test(value)) return "";
  if (secrets.some((secret) => secret.length >= 6 && value.includes(secret))) return "";
  return `: ${value.slice(0, DESCRIPTION_LENGTH)}`;
}

function unusable({ endpoint }: TokenRequest, what: string): LocalError {
  return new LocalError("AUTH_TOKEN", `The token endpoint ${shown(endpoint)} answered with ${what}; it was not used`);
}

// The ways to get a token, as the authorizer that keeps it sees them.

export interface GrantTask {
  readonly http: AuthHttp;
  readonly place: AuthorizationPlace;
  /** Empty: ask for none. */
  readonly scopes: readonly string[];
  /** What this very issuer gave us before. */
  readonly kept: Credentials | undefined;
  readonly dpop: DpopProver | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Obtained {
  readonly tokens: StoredTokens;
  /** To be kept for the next time. */
  readonly client?: StoredClient | undefined;
}

export interface Grant {
  /** Whether somebody is asked, who must not be asked again and again. */
  readonly asksUser: boolean;
  /** Issuers to prefer where a server names several. */
  readonly issuers: readonly string[];
  /** Who refreshes what was kept; undefined: nobody may. */
  refresher(kept: Credentials): ClientIdentity | undefined;
  /** Rejects with a LocalError. */
  obtain(task: GrantTask): Promise<Obtained>;
}

// Proves that the sender of a token holds the key it is bound to (RFC 9449 §4): one proof a request, each with a new id.

export interface ProvenRequest {
  readonly method: string;
  readonly url: string;
  /** The token the request carries; none at the token endpoint. */
  readonly accessToken?: string | undefined;
}

/** Servers whose nonce is remembered: the resource, its authorization server and an identity provider, with room to move. */
const NONCES = 8;
/** Longest nonce taken: those in use stay under 200 characters. */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;

export class DpopProver {
  /** The private key, to be kept beside the tokens bound to it. */
  readonly jwk: Readonly<Record<string, string>>;
  readonly #key: SigningKey;
  readonly #now: () => number;
  readonly #nonces = new Map<string, string>();

  private constructor(jwk: Readonly<Record<string, string>>, key: SigningKey, now: () => number) {
    this.jwk = jwk;
    this.#key = key;
    this.#now = now;
  }

  /** With the key given, or a new one. `now` gives milliseconds since the epoch. */
  static async create(jwk?: Readonly<Record<string, string>>, now: () => number = Date.now): Promise<DpopProver> {
    const used = jwk ?? (await newEs256Key());
    return new DpopProver(used, await importSigningKey(used, "ES256"), now);
  }

  /** Remembers the nonce that the server of `url` wants next. Whether it is another one than before. */
  learn(url: string, nonce: string | undefined): boolean {
    const { origin } = new URL(url);
    if (nonce === undefined || !NONCE.test(nonce) || this.#nonces.get(origin) === nonce) return false;
    this.#nonces.delete(origin);
    const oldest = this.#nonces.keys().next();
    if (this.#nonces.size >= NONCES && oldest.done !== true) this.#nonces.delete(oldest.value);
    this.#nonces.set(origin, nonce);
    return true;
  }

  /** The value of the header `DPoP`. */
  async prove({ method, url, accessToken }: ProvenRequest): Promise<string> {
    const { kty, crv, x, y } = this.jwk;
    const claims: Record<string, unknown> = {
      jti: crypto.randomUUID(),
      htm: method,
      htu: normalizeHttpUri(url),
      iat: Math.floor(this.#now() / 1000),
    };
    const nonce = this.#nonces.get(new URL(url).origin);
    if (nonce !== undefined) claims["nonce"] = nonce;
    if (accessToken !== undefined) claims["ath"] = await sha256(accessToken);
    return signJwt({ alg: "ES256", typ: "dpop+jwt", jwk: { kty, crv, x, y } }, claims, this.#key);
  }
}

/** SHA-256 of a text, in base64url. */
export async function sha256(text: string): Promise<string> {
  return toBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
