// Proves that the sender of a token holds the key it is bound to (RFC 9449 §4): one proof a request, each with a new id.
import { toBase64url } from "../jws.js";
import { normalizeHttpUri } from "../fetch-json.js";
import { importSigningKey, newEs256Key, type SigningKey, signJwt } from "./client-identity.js";

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
