// Plays a client that holds the key its tokens are bound to.
import { createHash } from "node:crypto";
import { calculateJwkThumbprint, type JWK, SignJWT } from "jose";
import type { AuthOutcome, Authenticator } from "../../../src/auth/authenticator.js";
import { newSigner, NOW_SECONDS, request, RESOURCE, type Signer } from "./issuer.js";

export interface DpopClient extends Signer {
  readonly jkt: string;
  /** The public key without the members that belong to key sets. */
  readonly jwk: JWK;
}

export async function newDpopClient(alg = "ES256"): Promise<DpopClient> {
  const signer = await newSigner(alg);
  const { kid: _kid, alg: _alg, use: _use, ...jwk } = signer.publicJwk;
  return { ...signer, jwk, jkt: await calculateJwkThumbprint(jwk) };
}

let serial = 0;

export interface ProofChanges {
  readonly header?: Record<string, unknown>;
  readonly payload?: Record<string, unknown>;
  readonly signer?: Signer;
}

/** A good proof for `token`, then changed. */
export function prove(client: DpopClient, token: string, changes: ProofChanges = {}): Promise<string> {
  const payload = {
    jti: `proof-${serial++}`,
    htm: "POST",
    htu: RESOURCE,
    iat: NOW_SECONDS,
    ath: createHash("sha256").update(token).digest("base64url"),
    ...changes.payload,
  };
  const header = { alg: client.alg, typ: "dpop+jwt", jwk: client.jwk, ...changes.header };
  return new SignJWT(payload).setProtectedHeader(header).sign((changes.signer ?? client).privateKey);
}

export async function presentWithProof(
  authenticator: Authenticator,
  sent: {
    readonly token: string;
    readonly proof?: string;
    readonly scheme?: string;
    readonly url?: string;
    readonly method?: string;
  },
): Promise<AuthOutcome> {
  const headers: Record<string, string> = { authorization: `${sent.scheme ?? "DPoP"} ${sent.token}` };
  if (sent.proof !== undefined) headers["dpop"] = sent.proof;
  return authenticator.authenticate(request(headers, sent.url ?? "/mcp", sent.method));
}
