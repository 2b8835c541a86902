// Plays an authorization server: keys, signed tokens, a clock that only moves when told to.
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import type { AuthOutcome, Authenticator, AuthRequest } from "../../../src/auth/authenticator.js";

export const ISSUER = "https://issuer.example.com";
export const RESOURCE = "https://mcp.example.com/mcp";
/** Any moment: 2027-01-15T08:00:00Z. */
export const START = 1_800_000_000_000;
export const NOW_SECONDS: number = START / 1000;

export interface Signer {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export async function newSigner(alg: string, kid: string = alg): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** The claims of a token that is good for a minute. */
export function goodClaims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    iss: ISSUER,
    aud: RESOURCE,
    sub: "ada",
    iat: NOW_SECONDS - 10,
    exp: NOW_SECONDS + 60,
    scope: "files:read files:write",
    client_id: "editor",
    ...changes,
  };
}

export function sign(
  signer: Signer,
  claims: Record<string, unknown> = goodClaims(),
  header: Record<string, unknown> = {},
): Promise<string> {
  const whole = { alg: signer.alg, kid: signer.kid, typ: "at+jwt", ...header };
  return new SignJWT(claims).setProtectedHeader(whole).sign(signer.privateKey);
}

export class Clock {
  ms: number = START;
  readonly now: () => number = () => this.ms;
  advance(seconds: number): void {
    this.ms += seconds * 1000;
  }
}

export function request(headers: Record<string, string> = {}, url: string = RESOURCE, method = "POST"): AuthRequest {
  return { method, url, header: (name) => headers[name] };
}

export async function present(authenticator: Authenticator, token: string, scheme = "Bearer"): Promise<AuthOutcome> {
  return authenticator.authenticate(request({ authorization: `${scheme} ${token}` }));
}

/** "ok", or the status and error of the refusal. */
export function brief(outcome: AuthOutcome): string {
  return outcome.ok ? "ok" : `${outcome.status} ${outcome.error}`;
}

export const encode = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** A `fetch` that answers from a function and counts how often it was asked, and how often at once. */
export class FakeFetch {
  calls: { readonly url: string; readonly init: RequestInit }[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  answer: (url: string, init: RequestInit) => Response | Promise<Response>;

  constructor(answer: (url: string, init: RequestInit) => Response | Promise<Response>) {
    this.answer = answer;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    this.calls.push({ url, init });
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    try {
      return await this.answer(url, init);
    } finally {
      this.atOnce--;
    }
  };
}

export const jsonResponse = (value: unknown): Response => new Response(JSON.stringify(value));
